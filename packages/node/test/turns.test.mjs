// Loops over the turns of queued jobs.
import assert from "node:assert/strict";
import test from "node:test";
import { InvalidError, Paddlegate } from "../index.mjs";
import { required, unique } from "./support.mjs";

const url = required("PADDLEGATE_TEST_URL");
const stores = {
  memory: new Paddlegate("memory://"),
  redis: new Paddlegate(url, { timeoutMs: 10_000 }),
};
const jobs = Array.from({ length: 30 }, (_, number) => `job ${number}`);

test.after(() => Promise.all(Object.values(stores).map((pg) => pg.close())));

/** Takes all `count` leases, queues the jobs behind them, and returns the permits. */
async function fill(limiter, count) {
  const permits = [];
  for (let number = 0; number < count; number += 1) {
    permits.push((await limiter.enqueue(`first ${number}`)).permit);
  }
  for (const job of jobs) assert.equal((await limiter.admit(job)).action, "wait");
  return permits;
}

for (const [store, pg] of Object.entries(stores)) {
  test(`${store}: jobs start in their order`, async () => {
    const limiter = pg.concurrent(unique(), 3, { lockTimeoutMs: 600_000 });
    const permits = await fill(limiter, 3);
    const started = [];
    const running = permits.map((permit) => limiter.release(permit));
    const run = async (job) => {
      const { permit } = await limiter.admit(job);
      await permit.release();
    };
    for await (const job of limiter.turns({ waitTimeoutMs: 60_000 })) {
      started.push(job);
      running.push(run(job));
      if (started.length === jobs.length) break;
    }
    await Promise.all(running);
    assert.deepEqual(started, jobs);
  });

  test(`${store}: several loops, each with other jobs`, async () => {
    const limiter = pg.concurrent(unique(), 2, { lockTimeoutMs: 600_000 });
    const permits = await fill(limiter, 2);
    const stop = new AbortController();
    const ran = [];
    const work = async () => {
      for await (const job of limiter.turns({ count: 1, signal: stop.signal })) {
        const { permit } = await limiter.admit(job);
        ran.push(job);
        await permit.release();
        if (ran.length === jobs.length) stop.abort(new Error("all ran"));
      }
    };
    const workers = [1, 2, 3].map(work);
    for (const permit of permits) await limiter.release(permit);
    for (const worker of workers) await assert.rejects(worker, /all ran/);
    assert.deepEqual(ran.toSorted(), jobs.toSorted());
  });

  test(`${store}: a loop that sleeps is told of a turn`, async () => {
    const limiter = pg.concurrent(unique(), 1, { lockTimeoutMs: 600_000 });
    const { permit } = await limiter.enqueue("first");
    const turns = limiter.turns({ waitTimeoutMs: 60_000 });
    const turn = turns.next();
    assert.equal((await limiter.admit("job")).action, "wait");
    await limiter.release(permit);
    assert.deepEqual(await turn, { done: false, value: "job" });
    await turns.return();
  });

  test(`${store}: loops of a key`, async () => {
    const limiter = pg.concurrent(unique(), 1, { keyed: true });
    const { permit } = await limiter.enqueue("first", { key: "a" });
    assert.equal((await limiter.admit("job", { key: "a" })).action, "wait");
    await limiter.release(permit, { key: "a" });
    assert.equal((await limiter.turns({ key: "a" }).next()).value, "job");
    await assert.rejects(limiter.turns().next(), { argument: "key" });
  });

  test(`${store}: a loop ends with its time`, async () => {
    const limiter = pg.concurrent(unique(), 1);
    for (const waitTimeoutMs of [0, 10]) {
      for await (const job of limiter.turns({ waitTimeoutMs })) assert.fail(job);
    }
  });

  test(`${store}: bad arguments name themselves`, async () => {
    const limiter = pg.concurrent(unique(), 1);
    for (const count of [0, 101, 1.5, "1"]) {
      await assert.rejects(async () => limiter.turns({ count }).next(), { argument: "count" });
    }
    for (const [options, argument] of [
      [{ waitTimeoutMs: -1 }, "waitTimeoutMs"],
      [{ signal: 1 }, "signal"],
      [{ key: 1 }, "key"],
      [{ cost: 1 }, "cost"],
    ]) {
      assert.throws(() => limiter.turns(options), { argument });
    }
  });
}

test("a closed store ends a loop with an error", async () => {
  const pg = new Paddlegate(url, { timeoutMs: 10_000 });
  const turn = pg.concurrent(unique(), 1).turns().next();
  const isClosed = (error) => error instanceof InvalidError && error.argument === "store";
  const ended = assert.rejects(turn, isClosed);
  await pg.concurrent(unique(), 1).stats();
  await pg.close();
  await ended;
});
