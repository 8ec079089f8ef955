// The adapter for Express 4 and 5 and Polka, in processes with real requests.
import test from "node:test";
import { adapterKit } from "../testing.js";
import { required } from "./support.mjs";

const redis = required("PADDLEGATE_TEST_URL");
// Polka calls the adapter as Express does.
for (const [host, url] of Object.entries({ express: redis, express4: redis, polka: undefined })) {
  const module = new URL(`web/${host}.mjs`, import.meta.url);
  for (const { name, run } of adapterKit(module, { url })) test(`${host}: ${name}`, run);
}
