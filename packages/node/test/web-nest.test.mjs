// The adapter for NestJS 11, in processes with real requests.
import test from "node:test";
import { adapterKit } from "../testing.js";
import { required } from "./support.mjs";

const module = new URL("web/nest.mjs", import.meta.url);
const url = required("PADDLEGATE_TEST_URL");
for (const { name, run } of adapterKit(module, { url })) test(`nest: ${name}`, run);
