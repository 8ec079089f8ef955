// BullMQ's processors within limits, in real workers over a real Redis.
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import test from "node:test";
import { fileURLToPath } from "node:url";
import * as bullmq6 from "bullmq";
import * as bullmq5 from "bullmq5";
import { limited } from "../bullmq.mjs";
import { OverLimitError, Paddlegate } from "../index.mjs";
import waiter from "../lib/waiter.js";
import { isSoak, required, unique, until } from "./support.mjs";

const { ACQUIRE_JOB } = waiter;
const { Queue, QueueEvents, Worker } = bullmq6;
const url = required("PADDLEGATE_TEST_URL");
const { hostname, port } = new URL(url);
const connection = { host: hostname, port: Number(port), maxRetriesPerRequest: null };
const pg = new Paddlegate(url, { timeoutMs: 20_000 });
const JOBS = isSoak ? 1_000 : 60;
const LONG = isSoak ? 60_000 : 12_000;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** A queue with a worker of this process, which both end with the test. */
function queued(t, processor, options, given = {}, { Queue, QueueEvents, Worker } = bullmq6) {
  const name = unique("bullmq");
  const queue = new Queue(name, { connection });
  const events = new QueueEvents(name, { connection });
  const worker = new Worker(name, limited(processor, options), {
    connection,
    concurrency: 8,
    ...given,
  });
  worker.on("error", () => {});
  for (const it of [queue, events]) it.setMaxListeners(0);
  t.after(() => Promise.all([worker.close(), events.close(), queue.close()]));
  const finished = async (jobs) => {
    await events.waitUntilReady();
    return Promise.all(jobs.map((job) => job.waitUntilFinished(events, 60_000)));
  };
  const again = (job) => queue.getJob(job.id);
  return { queue, finished, again };
}

/** Checks what workers noted: how many jobs ran at once, and how many had begun at each time. */
function checkLimits(notes, killed, began) {
  const running = new Set();
  let begun = 0;
  const timed = notes.filter(({ at }) => at !== undefined).sort((a, b) => a.at - b.at);
  const last = timed.findLast(({ pid }) => pid === killed);
  for (const note of timed) {
    const { begin, end, at, pid } = note;
    if (begin !== undefined) {
      running.add(`${pid}:${begin}`);
      // A machine that stalls may note late, and never early; the clock has whole milliseconds.
      assert.ok(at - began >= Math.floor(begun / 50) * 1_000 - 2, "fifty a second");
      begun += 1;
    } else {
      running.delete(`${pid}:${end}`);
    }
    assert.ok(running.size <= 3, "three at once");
    if (note === last) {
      for (const it of running) if (it.startsWith(`${killed}:`)) running.delete(it);
    }
  }
}

test("many jobs on three workers, of which one is killed", { timeout: 10 * LONG }, async (t) => {
  const name = unique("bullmq-jobs");
  const queue = new Queue(name, { connection });
  const events = new QueueEvents(name, { connection });
  await events.waitUntilReady();
  for (const it of [queue, events]) it.setMaxListeners(0);
  const notes = [];
  const start = () => {
    const child = fork(fileURLToPath(new URL("./bullmq-worker.mjs", import.meta.url)), [url, name]);
    t.after(() => child.kill("SIGKILL"));
    child.on("message", (note) => notes.push(note));
    return child;
  };
  t.after(() => Promise.all([events.close(), queue.close()]));
  const [first] = [start(), start()];
  await until(() => notes.filter(({ ready }) => ready).length === 2);
  const began = Date.now();
  const jobs = await queue.addBulk(
    Array.from({ length: JOBS }, (_, data) => ({ name: "job", data })),
  );
  await until(() => notes.filter(({ end }) => end !== undefined).length > JOBS / 4);
  first.kill("SIGKILL");
  start();
  const results = await Promise.all(jobs.map((job) => job.waitUntilFinished(events, 9 * LONG)));
  assert.deepEqual(results, [...Array(JOBS).keys()]);
  const took = (Date.now() - began) / 1_000;
  const asks = notes.filter(({ ask }) => ask).length / JOBS;
  t.diagnostic(`${JOBS} jobs in ${took} s, ${asks} asks a job`);
  checkLimits(notes, first.pid, began);
  const { completed, failed, delayed, waiting } = await queue.getJobCounts();
  assert.deepEqual([completed, failed, delayed, waiting], [JOBS, 0, 0, 0]);
  const kept = await Promise.all(jobs.map(({ id }) => queue.getJob(id)));
  assert.ok(
    kept.every(({ attemptsMade }) => attemptsMade === 1),
    "a delay is no attempt",
  );
  // Those of the killed worker ran for a second time, at most its eight.
  const ended = notes.filter(({ end }) => end !== undefined).map(({ end }) => end);
  assert.equal(new Set(ended).size, JOBS);
  const stats = await pg.limiter(name, { concurrency: [3, 5], window: [50, 1] }).stats();
  assert.equal(stats.leases, 0);
});

test("no more at once than the limit, of each key", async (t) => {
  const limiter = pg.concurrent(unique(), 2, { keyed: true });
  const running = { a: 0, b: 0 };
  let most = 0;
  const work = async ({ data: { tenant } }) => {
    running[tenant] += 1;
    most = Math.max(most, running[tenant]);
    await sleep(10);
    running[tenant] -= 1;
  };
  const { queue, finished } = queued(t, work, { limiter, key: ({ data }) => data.tenant });
  const jobs = await queue.addBulk(
    Array.from({ length: 40 }, (_, i) => ({ name: "job", data: { tenant: "ab"[i % 2] } })),
  );
  await finished(jobs);
  assert.equal(most, 2);
});

for (const [version, bullmq] of Object.entries({ 5: bullmq5, 6: bullmq6 })) {
  test(`BullMQ ${version}: a job is delayed until its turn, and its attempts stay as they are`, async (t) => {
    const limiter = pg.window(unique(), 2, 1);
    const options = { limiter, patienceMs: 0 };
    const { queue, finished, again } = queued(t, async () => Date.now(), options, {}, bullmq);
    const began = Date.now();
    const jobs = await queue.addBulk(Array.from({ length: 6 }, () => ({ name: "job", data: {} })));
    const ends = await finished(jobs);
    assert.ok(Math.max(...ends) - began >= 2_000, "two a second");
    for (const job of jobs) assert.equal((await again(job)).attemptsMade, 1);
    assert.equal((await limiter.stats()).granted, 6);
  });
}

test("the processor gets its permit, and an estimate is corrected", async (t) => {
  const limiter = pg.points(unique(), 100, 1000);
  const work = async (_job, _token, _signal, permit) => permit.correct(7);
  const { queue, finished } = queued(t, work, { limiter, estimate: ({ data }) => data.units });
  assert.deepEqual(await finished([await queue.add("job", { units: 40 })]), ["settled"]);
  assert.equal((await limiter.stats()).units, 7);
});

test("a job that fails releases its lease", async (t) => {
  const limiter = pg.concurrent(unique(), 1);
  const work = async ({ attemptsMade }) => {
    if (attemptsMade === 0) throw new Error("once");
    return attemptsMade;
  };
  const { queue, finished } = queued(t, work, { limiter });
  assert.deepEqual(await finished([await queue.add("job", {}, { attempts: 2 })]), [1]);
  const { leases, granted } = await limiter.stats();
  assert.deepEqual([leases, granted], [0, 2]);
});

test("a job that is taken for stalled runs never twice at once", async (t) => {
  const limiter = pg.concurrent(unique(), 2, { lockTimeoutMs: 3_000 });
  let running = 0;
  let most = 0;
  let begun = 0;
  const processor = async (job) => {
    begun += 1;
    running += 1;
    most = Math.max(most, running);
    // The first run goes on until another worker got the job and has put it off.
    if (begun === 1) await until(async () => (await job.getState()) === "delayed");
    running -= 1;
    return begun;
  };
  const stalls = {
    lockDuration: 500,
    skipLockRenewal: true,
    stalledInterval: 300,
    maxStalledCount: 50,
  };
  const { queue, finished } = queued(t, processor, { limiter }, stalls);
  const [run] = await finished([await queue.add("job")]);
  assert.ok(run >= 2, "it ran again when the first run had ended");
  assert.equal(most, 1);
  assert.equal((await limiter.stats()).leases, 0);
});

test("shares take turns", async (t) => {
  const limiter = pg.concurrent(unique(), 1);
  const order = [];
  const holder = await limiter.acquire();
  const { queue, finished } = queued(t, async ({ data }) => order.push(data.tenant), {
    limiter,
    share: ({ data }) => data.tenant,
    patienceMs: 60_000,
  });
  const tenants = [..."aaaa", ..."bbbb"];
  const jobs = await queue.addBulk(tenants.map((tenant) => ({ name: "job", data: { tenant } })));
  await until(async () => (await limiter.stats()).tickets === 8);
  await holder.release();
  await finished(jobs);
  assert.deepEqual(order.slice(0, 4).sort(), ["a", "a", "b", "b"]);
});

test("what cannot pass fails the job, and one without a server comes back", async (t) => {
  const small = pg.window(unique(), 5, 60);
  const away = new Paddlegate("redis://127.0.0.1:1", { timeoutMs: 100 }).window("x", 1, 1);
  let asked = 0;
  const { queue, finished } = queued(t, async () => "ran", {
    limiter: ({ data }) => {
      asked += 1;
      return data.away && asked === 1 ? away : small;
    },
    cost: ({ data }) => data.cost ?? 1,
  });
  const job = await queue.add("job", { away: true });
  await until(async () => (await job.getState()) === "delayed");
  // It may have come back by itself.
  await job.promote().catch(() => {});
  assert.deepEqual(await finished([job]), ["ran"]);
  await small.override({ limit: 3 });
  for (const [cost, error] of [
    [6, /can never be granted/],
    [4, /over the limit/],
    [-1, /cost/],
  ]) {
    await assert.rejects(finished([await queue.add("job", { cost })]), error);
  }
  await small.reset();
});

test("what is wrong fails its job alone, and a worker that is closed loses none", async (t) => {
  const keyed = pg.concurrent(unique(), 1, { keyed: true });
  const slow = pg.concurrent(unique(), 1);
  const wrong = {
    name: () => pg.window("", 1, 60),
    limiter: () => undefined,
    cost: () => keyed,
    key: () => keyed,
  };
  const ran = [];
  const options = {
    limiter: ({ data }) => wrong[data]?.() ?? (data in wrong ? undefined : slow),
    key: ({ data }) => ({ cost: "a", key: null })[data],
    cost: ({ data }) => {
      if (data === "cost") throw new RangeError("no cost");
      return 1;
    },
  };
  const work = async ({ data }) => {
    ran.push(data);
    await sleep(100);
    return data;
  };
  const { queue, finished } = queued(t, work, options);
  for (const [data, error] of [
    ["name", /must have 1 to 512 bytes/],
    ["limiter", /undefined/],
    ["cost", /no cost/],
    ["key", /key/],
  ]) {
    await assert.rejects(finished([await queue.add("job", data)]), error);
  }
  assert.deepEqual(ran, []);
  const { granted, leases, tickets } = await keyed.stats();
  assert.deepEqual([granted, leases, tickets], [0, 0, 0]);

  const name = unique("bullmq-closed");
  const closed = new Queue(name, { connection });
  t.after(() => closed.close());
  const worker = () =>
    new Worker(name, limited(work, { limiter: slow }), { connection, concurrency: 8 });
  const first = worker();
  await closed.addBulk([1, 2, 3, 4, 5, 6].map((data) => ({ name: "job", data })));
  await until(() => ran.length > 0);
  await first.close();
  const second = worker();
  t.after(() => second.close());
  await until(async () => (await closed.getJobCounts("completed")).completed === 6);
  assert.deepEqual([...ran].sort(), [1, 2, 3, 4, 5, 6], "each ran once");
  assert.equal((await slow.stats()).leases, 0);
});

test("ids of queues differ, and a long one is shortened", async (t) => {
  const limiter = pg.window(unique(), 10, 60);
  const seen = [];
  const spy = {
    name: "spy",
    [ACQUIRE_JOB](id, ...others) {
      seen.push(id);
      return limiter[ACQUIRE_JOB](id, ...others);
    },
  };
  const { queue, finished } = queued(t, async () => null, { limiter: spy });
  const jobId = "x".repeat(100);
  await finished([await queue.add("job", {}), await queue.add("job", {}, { jobId })]);
  assert.equal(seen[0], `bull:${queue.name}:1`);
  assert.equal(seen[1].length, 64);
});

test("queues of one name under two prefixes have their own jobs", async (t) => {
  const limiter = pg.concurrent(unique(), 2, { lockTimeoutMs: 600_000 });
  const name = unique("bullmq");
  const running = new Set();
  const ended = [];
  for (const prefix of ["shop", "crm"]) {
    const given = { connection, prefix };
    const work = async () => {
      running.add(prefix);
      await until(() => running.size === 2);
    };
    const queue = new Queue(name, given);
    const worker = new Worker(name, limited(work, { limiter }), given);
    t.after(() => Promise.all([worker.close(), queue.close()]));
    worker.on("completed", () => ended.push(prefix));
    await queue.add("job", {});
  }
  await until(() => ended.length === 2);
});

test("a job keeps its ticket when its patience and its claim timeout are over", async (t) => {
  const limiter = pg.concurrent(unique(), 1, { lockTimeoutMs: 600_000 });
  const holder = await limiter.acquire();
  t.after(() => holder.release());
  for (const patienceMs of [0, 200]) {
    const how = { claimTimeoutMs: 1, patienceMs };
    await assert.rejects(limiter[ACQUIRE_JOB](`job-${patienceMs}`, {}, how), OverLimitError);
  }
  const forever = limiter[ACQUIRE_JOB]("job", {}, { patienceMs: Number.POSITIVE_INFINITY });
  await assert.rejects(forever, { argument: "patienceMs" });
  await sleep(500);
  // A ticket that does not stay is removed by the calls of others.
  await limiter.admit("another");
  const { refused } = await limiter.stats();
  assert.deepEqual(
    [refused, (await limiter.queue()).map(({ id }) => id)],
    [0, ["job-0", "job-200", "another"]],
  );
});

test("bad input is named", () => {
  const limiter = pg.window("bad", 1, 1);
  const work = async () => {};
  for (const [argument, ...given] of [
    ["processor", "./file.js", { limiter }],
    ["limiter", work, {}],
    ["limiter", work, { limiter: "erp" }],
    ["patienceMs", work, { limiter, patienceMs: -1 }],
    ["patienceMs", work, { limiter, patienceMs: "5" }],
    ["patienceMs", work, { limiter, patienceMs: Number.POSITIVE_INFINITY }],
    ["claimTimeoutMs", work, { limiter, claimTimeoutMs: "5" }],
    ["claimTimeoutMs", work, { limiter, claimTimeoutMs: -1 }],
    ["retries", work, { limiter, retries: 3 }],
  ]) {
    assert.throws(() => limited(...given), { name: "InvalidError", argument });
  }
});

test("null is as if an option was not given", async () => {
  const given = { limiter: pg.window(unique(), 1, 60), claimTimeoutMs: null, patienceMs: null };
  const run = limited(async () => "ran", given);
  assert.equal(await run({ queueQualifiedName: "bull:queue", id: "1" }), "ran");
});
