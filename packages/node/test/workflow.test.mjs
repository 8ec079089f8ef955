// Runs of Conductor workflows.
import assert from "node:assert/strict";
import test from "node:test";
import { InvalidError, Paddlegate } from "../index.mjs";
import { required, unique } from "./support.mjs";

const patient = { timeoutMs: 10_000 };
const stores = {
  memory: new Paddlegate("memory://"),
  redis: new Paddlegate(required("PADDLEGATE_TEST_URL"), patient),
};
// biome-ignore lint/suspicious/noTemplateCurlyInString: a template of Conductor
const rateLimitKey = "${workflow.correlationId}";
const definition = (config) => ({
  name: "order",
  rateLimitConfig: { rateLimitKey, concurrentExecLimit: 3, ...config },
});

for (const [store, pg] of Object.entries(stores)) {
  test(`${store}: of five starts three run`, async () => {
    const run = { correlationId: unique() };
    const jobs = ["a", "b", "c", "d", "e"];
    const held = [];
    for (const job of jobs) held.push(await pg.conductorLimiter(definition(), run).admit(job));
    const actions = held.map(({ action }) => action);
    assert.deepEqual(actions, ["run", "run", "run", "wait", "wait"]);
    await held[0].permit.release();
    const limiter = pg.conductorLimiter(definition(), run);
    assert.equal((await limiter.admit("d")).action, "run");
    assert.equal((await limiter.admit("e")).action, "wait");
  });

  test(`${store}: each key has its limit, and none is none`, async () => {
    for (const key of [unique(), unique()]) {
      const run = JSON.stringify({ correlationId: key });
      const limiter = pg.conductorLimiter(JSON.stringify(definition()), run);
      assert.equal(limiter.name, `conductor/workflow/${key}`);
      const jobs = ["1", "2", "3", "4", "5", "6"];
      const asked = await Promise.all(jobs.map((job) => limiter.admit(job)));
      assert.equal(asked.filter(({ action }) => action === "run").length, 3);
    }
    for (const run of [{}, { correlationId: null }, { correlationId: "" }]) {
      const limiter = pg.conductorLimiter(definition({ concurrentExecLimit: 1 }), run);
      assert.equal(limiter.name, "conductor/unlimited/order");
      assert.deepEqual([await limiter.allow(), await limiter.allow()], [true, true]);
    }
  });

  test(`${store}: a start over the limit is refused; how long leases last`, async () => {
    const run = { correlationId: unique() };
    const rejecting = definition({ policy: "REJECT", concurrentExecLimit: 1 });
    const limiter = pg.conductorLimiter(rejecting, run, { lockTimeoutMs: 90_000 });
    assert.equal(limiter.onLimit, "raise");
    const first = await limiter.admit("a");
    assert.deepEqual([first.action, first.decision.leaseMs], ["run", 90_000]);
    assert.equal((await limiter.admit("b")).action, "refuse");
    assert.equal((await limiter.stats()).tickets, 0);
  });
}

test("what is wrong with a workflow is named", () => {
  const good = definition();
  for (const [argument, ...given] of [
    ["definition", "{", {}],
    ["definition", { name: "w", rateLimitConfig: { limit: 5 } }, {}],
    ["definition", 5, {}],
    ["run", good, "[]"],
    ["run", good, "{"],
    ["run", good, null],
    ["run", good, { correlationId: {} }],
    ["run", good, { correlationId: "x".repeat(513) }],
    ["lockTimeoutMs", good, { correlationId: "x" }, { lockTimeoutMs: 0 }],
    ["lockTimeoutMs", good, { correlationId: "x" }, { lockTimeoutMs: "soon" }],
    ["ttl", good, {}, { ttl: 5 }],
    ["onUnavailable", good, {}, { onUnavailable: "Open" }],
    ["localSharePercent", good, {}, { onUnavailable: "local", localSharePercent: 0 }],
  ]) {
    assert.throws(
      () => stores.memory.conductorLimiter(...given),
      (error) => error instanceof InvalidError && error.argument === argument,
    );
  }
});
