// The adapter for Express 4 and 5 and Polka, in processes with real requests.
import test from "node:test";
import { adapterKit } from "../testing.js";
import { required } from "./support.mjs";

const url = required("PADDLEGATE_TEST_URL");
for (const host of ["express", "express4", "polka"]) {
  const module = new URL(`web/${host}.mjs`, import.meta.url);
  for (const { name, run } of adapterKit(module, { url })) test(`${host}: ${name}`, run);
}
