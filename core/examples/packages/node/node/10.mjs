import { Paddlegate } from "paddlegate";

const definition = {
  name: "order",
  rateLimitConfig: { rateLimitKey: "${workflow.input.shop}", concurrentExecLimit: 3 },
};
const run = { input: { shop: "shop-7" } };
const runs = new Paddlegate().workflow(definition, run, { lockTimeoutMs: 60_000 });
const { action, permit } = await runs.admit("run-1");
console.log(runs.name, action); // shop-7 run
await permit.release();
