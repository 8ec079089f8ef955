// The adapter for Hono, and for functions of a Request to a Response, in processes with real requests.
import test from "node:test";
import { adapterKit } from "../testing.js";
import { required } from "./support.mjs";

const redis = required("PADDLEGATE_TEST_URL");
for (const [host, url] of Object.entries({ hono: redis, handler: undefined })) {
  const module = new URL(`web/${host}.mjs`, import.meta.url);
  for (const { name, run } of adapterKit(module, { url })) test(`${host}: ${name}`, run);
}
