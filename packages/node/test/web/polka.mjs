// Polka, as the adapter kit starts it.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import polka from "polka";
import { connect } from "./connect.mjs";

// The other entry.
const { rateLimit } = createRequire(import.meta.url)("../../express.js");
const made = () => {
  const app = polka();
  app.listen = (...where) => createServer(app.handler).listen(...where);
  return app;
};
export const { serve, header } = connect(made, rateLimit);
