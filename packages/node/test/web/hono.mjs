// Hono on @hono/node-server, as the adapter kit starts it.
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { rateLimit } from "../../hono.mjs";

export function serve({ limiter, options, stream }) {
  const app = new Hono();
  app.use(rateLimit(limiter, options));
  app.get("/", (c) => c.text("ok"));
  app.get("/missing", (c) => c.text("missing", 404));
  app.get("/fails", () => {
    throw new Error("as the kit asked");
  });
  app.get("/stream", (c) => c.body(Readable.toWeb(stream())));
  app.onError((_error, c) => c.text("failed", 500));
  return createServer(getRequestListener(app.fetch)).listen(0, "127.0.0.1");
}

export const header = (c, name) => c.req.header(name);
