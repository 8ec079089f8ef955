// Jobs of BullMQ that come back late, as they do when workers are busy: the limit is used up nevertheless. On a clock that
// runs as fast as the program does.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import test from "node:test";
import { after, passes, time } from "./virtual-time.mjs";

const isSoak = process.env.PADDLEGATE_SOAK === "1";
// Loaded when the timers are those of this clock.
const require = createRequire(import.meta.url);
const { OverLimitError, Paddlegate, TestClock, UnavailableError } = require("../index.js");
const { limited } = require("../bullmq.js");
const { ACQUIRE_JOB } = require("../lib/waiter.js");

/** Gives numbers below 1 that the seed decides. */
function random(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Runs jobs on the places of workers, to which a delayed job comes back up to `lateMs` late. Returns the seconds. */
async function seconds({ limits, jobs, takesMs = 30, shares = 1, ...given }) {
  const { places, patienceMs, lateMs, seed } = given;
  const clock = new TestClock(time() * 1000);
  const limiter = new Paddlegate("memory://", { clock }).limiter("x", limits);
  const next = random(seed);
  const began = time();
  let done = 0;
  const work = async () => {
    await new Promise((resolve) => after(takesMs, resolve));
    done += 1;
  };
  const run = limited(work, { limiter, share: ({ share }) => share, patienceMs });
  const waiting = [];
  let free = places;
  const start = () => {
    for (; free > 0 && waiting.length > 0; free -= 1) {
      const job = waiting.shift();
      job.attemptsStarted += 1;
      run(job, "token")
        .catch((error) => assert.equal(error.name, "DelayedError", error.stack))
        .finally(() => {
          free += 1;
          start();
        });
    }
  };
  for (let id = 0; id < jobs; id += 1) {
    const job = { queueQualifiedName: "bull:x", id: String(id), share: String(id % shares) };
    Object.assign(job, { attemptsStarted: 0, attemptsMade: 0 });
    job.moveToDelayed = async (at) => {
      after(at - time() + next() * lateMs, () => {
        waiting.push(job);
        start();
      });
    };
    waiting.push(job);
  }
  start();
  const moved = (ms) => {
    clock.nowUs = ms * 1000;
  };
  await passes(() => done === jobs, moved);
  return (time() - began) / 1000;
}

const cases = {
  window: { limits: { window: [50, 1] }, jobs: 350, ideal: 6 },
  "window, in shares": { limits: { window: [50, 1] }, jobs: 500, shares: 50, ideal: 9 },
  bucket: { limits: { bucket: [50, 1] }, jobs: 350, ideal: 6 },
  throttle: { limits: { throttle: 0.02 }, jobs: 350, ideal: 7 },
  concurrency: { limits: { concurrency: [3, 30] }, jobs: 300, takesMs: 70, ideal: 7 },
  "concurrency, in shares": {
    limits: { concurrency: [3, 30] },
    jobs: 300,
    takesMs: 100,
    shares: 50,
    ideal: 10,
  },
  both: {
    limits: { concurrency: [3, 30], window: [20, 1] },
    jobs: 140,
    takesMs: 100,
    ideal: 6,
  },
};
const workers = [
  { places: 100, patienceMs: undefined },
  { places: 24, patienceMs: 0 },
];
const seeds = isSoak ? [1, 2, 3, 4, 5, 6, 7, 8] : [1];
for (const [name, given] of Object.entries(cases)) {
  test(`${name}: jobs that come back up to half a second late use up the limit`, async () => {
    for (const how of workers) {
      for (const seed of seeds) {
        const took = await seconds({ ...given, ...how, lateMs: 500, seed });
        const found = `took=${took} ideal=${given.ideal} places=${how.places} seed=${seed}`;
        assert.ok(took <= given.ideal * 1.3, found);
      }
    }
  });
}

test("only a job with a ticket comes back before its turn", async () => {
  const over = (status, retryAfterMs) => new OverLimitError("x", { status, retryAfterMs });
  for (const [error, delay] of [
    [over("queued", 9_000), 8_500],
    [over("queued", 300), 0],
    [over("queued", null), 5_000],
    [over("refused", 9_000), 9_000],
    [over("refused", 300), 300],
    [new UnavailableError("away", false), 5_000],
  ]) {
    const limiter = { name: "x", [ACQUIRE_JOB]: () => Promise.reject(error) };
    const delays = [];
    const job = { queueQualifiedName: "bull:x", id: "1" };
    job.moveToDelayed = async (at) => delays.push(at - time());
    await assert.rejects(limited(assert.fail, { limiter })(job), { name: "DelayedError" });
    assert.deepEqual(delays, [delay], error.message);
  }
});
