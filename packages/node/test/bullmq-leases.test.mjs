// How the lease of a job of BullMQ is renewed, with permits of this test, and what happens when Redis goes during a job.
import assert from "node:assert/strict";
import test from "node:test";
import { limited } from "../bullmq.mjs";
import { OverLimitError, Paddlegate, UnavailableError } from "../index.mjs";
import waiter from "../lib/waiter.js";
import { redisServer, until } from "./support.mjs";

const { ACQUIRE_JOB } = waiter;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

test("a lease is renewed while its job runs, and then released", async () => {
  const calls = { renew: 0, release: 0 };
  const permit = {
    expiresInMs: 20,
    async renew() {
      calls.renew += 1;
      if (calls.renew === 2) throw new UnavailableError("away");
      return true;
    },
    async release() {
      calls.release += 1;
      return "released";
    },
  };
  const limiter = { name: "x", [ACQUIRE_JOB]: async () => permit };
  const run = limited(() => until(() => calls.renew >= 4), { limiter });
  await run({ queueQualifiedName: "bull:queue", id: "1" });
  const { renew } = calls;
  await sleep(300);
  assert.deepEqual(calls, { renew, release: 1 });
});

/** Runs a job whose permit has that lease and renews as given; returns the calls of `renew` while `work` runs. */
async function renewals(expiresInMs, renew, work) {
  let calls = 0;
  const permit = {
    expiresInMs,
    async renew() {
      calls += 1;
      return renew(permit);
    },
    release: async () => "released",
  };
  const run = limited(work, { limiter: { name: "x", [ACQUIRE_JOB]: async () => permit } });
  await run({ queueQualifiedName: "bull:queue", id: "1" });
  return calls;
}

test("a renewal that fails is tried again before the lease ends", async () => {
  const events = [];
  const renew = async (permit) => {
    events.push("renewal");
    if (events.length > 1) return true;
    // Of 800 ms half are over. Timers end in the order of their times, also on a machine that stalls.
    permit.expiresInMs = 400;
    setTimeout(() => events.push("end"), 400);
    throw new UnavailableError("away");
  };
  await renewals(800, renew, () => until(() => events.includes("end")));
  assert.deepEqual(events.slice(0, 2), ["renewal", "renewal"]);
});

test("a lease that was lost is not renewed again", async () => {
  const lost = await renewals(
    20,
    async () => false,
    () => sleep(500),
  );
  assert.equal(lost, 1);
  const ended = async (permit) => {
    permit.expiresInMs = 0;
    throw new UnavailableError("away");
  };
  assert.equal(await renewals(20, ended, () => sleep(500)), 1);
});

test("a lease of months is not renewed at once", async () => {
  const calls = await renewals(
    60 * 86_400_000,
    async () => true,
    () => sleep(50),
  );
  assert.equal(calls, 0);
});

test("a job whose work has begun is never put away, whatever happens to Redis", async (t) => {
  const elsewhere = new Paddlegate("memory://").window("x", 1, 60);
  await elsewhere.allow();
  for (const [work, error] of [
    [async () => "done", null],
    [async (permit) => permit.correct(1), UnavailableError],
    [async (permit) => permit.renew(), UnavailableError],
    [() => elsewhere.acquire({ waitTimeoutMs: 0 }), OverLimitError],
    [
      async () => {
        throw new RangeError("its own");
      },
      RangeError,
    ],
  ]) {
    const own = await redisServer(t);
    const pg = new Paddlegate(own.url, { timeoutMs: 10_000 });
    const limiter = pg.limiter("erp", { concurrency: 1, points: [10, 60] });
    let begun = 0;
    const processor = async (_job, _token, _signal, permit) => {
      begun += 1;
      await own.stop();
      return work(permit);
    };
    const job = { queueQualifiedName: "bull:queue", id: "1", moveToDelayed: assert.fail };
    const ended = limited(processor, { limiter, estimate: 2 })(job, "token");
    if (error === null) assert.equal(await ended, "done");
    else await assert.rejects(ended, error);
    assert.equal(begun, 1);
  }
});
