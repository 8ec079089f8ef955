// The adapter for Fastify 5, in processes with real requests.
import test from "node:test";
import { adapterKit } from "../testing.js";
import { required } from "./support.mjs";

const url = required("PADDLEGATE_TEST_URL");
for (const host of ["fastify"]) {
  const module = new URL(`web/${host}.mjs`, import.meta.url);
  for (const { name, run } of adapterKit(module, { url })) test(`${host}: ${name}`, run);
}
