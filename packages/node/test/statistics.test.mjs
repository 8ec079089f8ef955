// Statistics by label and by time, and that all is counted when a process ends.
import assert from "node:assert/strict";
import test from "node:test";
import { concurrency, Paddlegate, TestClock, window } from "../index.mjs";
import { entry, required, run, unique, withClock } from "./support.mjs";

const url = required("PADDLEGATE_TEST_URL");

const ends = {
  "the end of the program": "await burst();",
  exit: "await burst(); process.exit(0);",
  "a closed store": "await burst(); await pg.close(); process.exit(0);",
  "a thread": `
    const { Worker } = await import("node:worker_threads");
    const worker = new Worker(program + "; await burst();", { eval: true });
    await new Promise((resolve) => worker.on("exit", resolve));
  `,
};

for (const [what, end] of Object.entries(ends)) {
  test(`all is counted at ${what}`, async () => {
    const name = unique();
    const program = `
      const { Paddlegate } = await import(${JSON.stringify(entry)});
      const pg = new Paddlegate(${JSON.stringify(url)}, { timeoutMs: 20_000 });
      const api = pg.bucket(${JSON.stringify(name)}, 3, "day");
      const burst = async () => {
        for (let i = 0; i < 5; i++) await api.allow();
      };`;
    const thread = what === "a thread" ? `const program = ${JSON.stringify(program)};` : program;
    await run(`${thread}\n${end}`);
    const stats = await new Paddlegate(url, { timeoutMs: 20_000 }).bucket(name, 3, "day").stats();
    assert.deepEqual([stats.granted, stats.refused, stats.units], [3, 2, 3]);
  });
}

for (const store of ["memory", "redis", "cluster"]) {
  test(`refusals by label and the histograms of waits and leases, ${store}`, async () => {
    const zeros = Array(22).fill(0);
    const clock = new TestClock(1_700_000_000_000_000);
    const policy = { rpm: window(2, 60), workers: concurrency(1) };
    const limiter = withClock(store, clock).limiter(unique(), policy);
    const none = await limiter.stats();
    assert.deepEqual([none.refusedBy, none.waits, none.holds], [{}, zeros, zeros]);
    const first = await limiter.admit("first");
    assert.equal((await limiter.admit("second")).action, "wait");
    clock.advance(0.003);
    await first.permit.release();
    assert.equal((await limiter.admit("second")).action, "run");
    assert.equal((await limiter.tryAcquire()).label, "rpm");
    await limiter.pause({ forMs: 60_000 });
    assert.equal((await limiter.tryAcquire()).reason, "paused");
    const stats = await limiter.stats();
    assert.deepEqual([stats.refused, stats.refusedBy], [2, { rpm: 1 }]);
    assert.deepEqual([stats.waited, stats.immediate, stats.waitTimeMs], [1, 1, 3]);
    assert.deepEqual(stats.waits, [0, 0, 1, ...Array(19).fill(0)]);
    assert.deepEqual(stats.holds, stats.waits);
    assert.deepEqual([stats.nearLimit, stats.units, stats.estimatedUnits], [2, 2, 2]);
    for (const part of [stats, stats.refusedBy, stats.waits, stats.holds])
      assert.ok(Object.isFrozen(part));
    await limiter.reset();
  });
}
