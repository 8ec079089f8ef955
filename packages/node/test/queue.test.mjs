// Fair waiting: who waits gets in by turn, is told at once, and leaves nothing behind.
import assert from "node:assert/strict";
import net from "node:net";
import test from "node:test";
import { Worker } from "node:worker_threads";
import { OverLimitError, Paddlegate, TestClock } from "../index.mjs";
import {
  entry,
  isSoak,
  redis,
  redisServer,
  required,
  run,
  server,
  soak,
  unique,
  until,
} from "./support.mjs";

const url = required("PADDLEGATE_TEST_URL");
const patient = { timeoutMs: 10_000 };
const stores = { memory: new Paddlegate("memory://"), redis: new Paddlegate(url, patient) };
const tickets = async (limiter) => (await limiter.stats()).tickets;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

for (const [store, pg] of Object.entries(stores)) {
  test(`${store}: of 50 waiters one release lets exactly one in, in the order they came`, async () => {
    const limiter = pg.concurrent(unique(), 1, { waitTimeoutMs: 60_000, lockTimeoutMs: 60_000 });
    const first = await limiter.acquire();
    const entered = [];
    const waiting = [];
    for (let i = 0; i < 50; i += 1) {
      waiting.push(limiter.acquire().then((permit) => entered.push([i, permit])));
      await until(async () => (await tickets(limiter)) === i + 1);
    }
    await first.release();
    await until(() => entered.length > 0);
    await pause(100);
    assert.equal(entered.length, 1);
    assert.equal((await limiter.stats()).leases, 1);
    while (entered.length < 50) {
      const [, permit] = entered.at(-1);
      const before = entered.length;
      await permit.release();
      await until(() => entered.length > before);
    }
    assert.deepEqual(
      entered.map(([i]) => i),
      Array.from({ length: 50 }, (_, i) => i),
    );
    await entered.at(-1)[1].release();
    await Promise.all(waiting);
    const { waited, leases, lapsed } = await limiter.stats();
    assert.deepEqual([waited, leases, lapsed], [50, 0, 0]);
  });

  test(`${store}: as many get in as slots come free`, async () => {
    const limiter = pg.concurrent(unique(), 3, { waitTimeoutMs: 60_000 });
    let running = 0;
    let most = 0;
    const work = async () => {
      running += 1;
      most = Math.max(most, running);
      await pause(1);
      running -= 1;
    };
    await Promise.all(Array.from({ length: 40 }, () => limiter.withinLimit(work)));
    assert.equal(most, 3);
    assert.equal(await tickets(limiter), 0);
  });

  test(`${store}: a wait that takes too long is over the limit, and leaves no ticket`, async () => {
    const limiter = pg.concurrent(unique(), 1, { waitTimeoutMs: 50 });
    const permit = await limiter.acquire();
    const began = performance.now();
    await assert.rejects(limiter.acquire(), (error) => {
      assert.ok(error instanceof OverLimitError);
      assert.equal(error.decision.status, "refused");
      assert.ok(error.retryAfterMs > 0);
      return true;
    });
    const took = performance.now() - began;
    assert.ok(took >= 50 && took < 3_000, `took=${took}`);
    const { tickets, refused, leases } = await limiter.stats();
    assert.deepEqual([tickets, refused, leases], [0, 1, 1]);
    await permit.release();
  });

  test(`${store}: a lease that ends by itself makes room`, async () => {
    const limiter = pg.concurrent(unique(), 1, { waitTimeoutMs: 10_000, lockTimeoutMs: 200 });
    const first = await limiter.acquire();
    const second = await limiter.acquire();
    const apart = second.decision.atUs - first.decision.atUs;
    assert.ok(apart >= 200_000 && apart < 4_000_000, `apart=${apart}`);
  });

  test(`${store}: an abort returns at once and leaves neither lease nor ticket`, async () => {
    const limiter = pg.concurrent(unique(), 1, { waitTimeoutMs: 60_000 });
    const permit = await limiter.acquire();
    const controllers = Array.from({ length: 5 }, () => new AbortController());
    const waiting = controllers.map(({ signal }) => limiter.acquire({ signal }));
    await until(async () => (await tickets(limiter)) === 5);
    controllers[0].abort();
    controllers[2].abort(null);
    const began = performance.now();
    await assert.rejects(waiting[0], { name: "AbortError" });
    await assert.rejects(waiting[2], (reason) => reason === null);
    const took = performance.now() - began;
    // Sooner than they would look by themselves, which is after five seconds.
    assert.ok(took < 3_000, `took=${took}`);
    await until(async () => (await tickets(limiter)) === 3);
    // Aborted while the turn comes: whoever is next gets it.
    permit.release();
    controllers[1].abort();
    await assert.rejects(waiting[1], { name: "AbortError" });
    await (await waiting[3]).release();
    await (await waiting[4]).release();
    await until(async () => {
      const { leases, tickets } = await limiter.stats();
      return leases === 0 && tickets === 0;
    });
  });

  test(`${store}: waiters of a rate all get in within its time`, async () => {
    const limiter = pg.throttle(unique(), 0.02, { waitTimeoutMs: 60_000 });
    const order = [];
    await Promise.all(
      Array.from({ length: 30 }, async (_, i) => {
        const { decision } = await limiter.acquire();
        order.push([decision.atUs, i]);
      }),
    );
    const times = order.map(([atUs]) => atUs).sort((a, b) => a - b);
    assert.ok(times.every((at, i) => i === 0 || at - times[i - 1] >= 20_000));
    const { granted, waited, refused } = await limiter.stats();
    assert.deepEqual([granted, refused], [30, 0]);
    // One that came late, when nobody waited, had no need to.
    assert.ok(waited >= 25, `waited=${waited}`);
  });

  test(`${store}: two limiters may wait with the same id`, async () => {
    const limiters = [pg.concurrent(unique(), 1), pg.concurrent(unique(), 1)];
    const held = await Promise.all(limiters.map((limiter) => limiter.acquire()));
    const waiting = limiters.map((limiter) => limiter.acquire({ id: "same" }));
    for (const limiter of limiters) await until(async () => (await tickets(limiter)) === 1);
    await held[1].release();
    await waiting[1];
    await held[0].release();
    await waiting[0];
  });
}

test("a release in another store is told at once", async () => {
  const name = unique();
  const limiter = stores.redis.concurrent(name, 1, { waitTimeoutMs: 60_000 });
  const other = new Paddlegate(url, patient).concurrent(name, 1);
  const took = [];
  for (let i = 0; i < 20; i += 1) {
    const permit = await other.acquire();
    const waiting = limiter.withinLimit(() => performance.now());
    await until(async () => (await tickets(limiter)) === 1);
    await pause(5);
    const released = performance.now();
    await permit.release();
    took.push((await waiting) - released);
  }
  took.sort((a, b) => a - b);
  // Who is not told looks after five seconds.
  assert.ok(took[10] < (isSoak ? 250 : 3_000), `took=${took}`);
});

test("one connection listens for all, from the first wait on, and a waiter costs three calls", async (t) => {
  const own = await redisServer(t);
  const pg = new Paddlegate(own.url, patient);
  const limiter = pg.concurrent("x", 1, { waitTimeoutMs: 60_000 });
  const listeners = () =>
    redis(own.url, "client", "list", "type", "pubsub").split("\n").filter(Boolean).length;
  const calls = () => {
    const counts = redis(own.url, "info", "commandstats").matchAll(
      /^cmdstat_eval\w*:calls=(\d+)/gm,
    );
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  const crowd = (count) =>
    Promise.all(Array.from({ length: count }, () => limiter.withinLimit(() => {})));
  await crowd(1);
  assert.equal(listeners(), 0);
  await crowd(10);
  assert.equal(listeners(), 1);
  const before = calls();
  await crowd(30);
  assert.ok(calls() - before <= 3 * 30, `calls=${calls() - before}`);
  await Promise.all([crowd(20), pg.throttle("y", 0.001).acquire()]);
  assert.equal(listeners(), 1);
});

soak("the waiters of a process look together", async (t) => {
  const own = await redisServer(t);
  const pg = new Paddlegate(own.url, patient);
  const limiter = pg.concurrent("x", 1, { waitTimeoutMs: 600_000, lockTimeoutMs: 600_000 });
  const calls = () => {
    const counts = redis(own.url, "info", "commandstats").match(/^cmdstat_evalsha:calls=(\d+)/m);
    return Number(counts[1]);
  };
  const holder = await limiter.acquire();
  const waiting = Array.from({ length: 300 }, () => limiter.withinLimit(() => {}));
  await until(async () => (await tickets(limiter)) === 300);
  // Each looks once by itself. A process that stalls lets each look once more.
  let looked = 300;
  for (let window = 0; looked > 30; window += 1) {
    assert.ok(window < 8, `looks=${looked}`);
    const before = calls();
    await pause(5_100);
    looked = calls() - before;
  }
  assert.equal(await tickets(limiter), 300);
  await holder.release();
  await Promise.all(waiting);
  const { granted, waited, refused } = await limiter.stats();
  assert.deepEqual([granted, waited, refused], [301, 300, 0]);
});

test("waiters get in although the connection that tells them is killed again and again", async (t) => {
  const own = await redisServer(t);
  const limiter = new Paddlegate(own.url, patient).concurrent("x", 1, { waitTimeoutMs: 60_000 });
  let done = 0;
  const work = () => pause(5).then(() => (done += 1));
  const all = Promise.all(Array.from({ length: 60 }, () => limiter.withinLimit(work)));
  while (done < 60) {
    redis(own.url, "client", "kill", "type", "pubsub");
    await pause(100);
  }
  await all;
  const { granted, refused, leases, tickets } = await limiter.stats();
  assert.deepEqual([granted, refused, leases, tickets], [60, 0, 0, 0]);
});

test("what an aborted call left is cancelled again when the first cancel had no answer", async (t) => {
  // Swallows the next bytes and ends their connections, as often as it is told.
  let swallowed = 0;
  const { hostname, port } = new URL(url);
  const way = await server(t, (client) => {
    const upstream = net.connect(Number(port), hostname).on("error", () => {});
    t.after(() => upstream.destroy());
    upstream.pipe(client).on("close", () => upstream.destroy());
    client.on("data", (bytes) => {
      if (swallowed < 0) {
        swallowed += 1;
        client.destroy();
      } else upstream.write(bytes);
    });
  });
  // By this clock no ticket and no lease expires.
  const options = { ...patient, clock: new TestClock(1_700_000_000_000_000) };
  const name = unique();
  const limits = { lockTimeoutMs: 600_000, waitTimeoutMs: 600_000 };
  const direct = new Paddlegate(url, options).concurrent(name, 1, limits);
  const limiter = new Paddlegate(way, options).concurrent(name, 1, limits);
  const holder = await direct.acquire();
  const controller = new AbortController();
  const waiting = limiter.acquire({ signal: controller.signal });
  await until(async () => (await tickets(direct)) === 1);
  swallowed = -2;
  controller.abort();
  await assert.rejects(waiting, { name: "AbortError" });
  await until(async () => (await tickets(direct)) === 0);
  assert.equal(swallowed, 0);
  assert.equal(await holder.release(), "released");
});

test("who waits is told with a password, and over a unix socket", async (t) => {
  const locked = await redisServer(t, ["--requirepass", "s3cret/@"]);
  const withLogin = `${locked.url.replace("//", "//:s3cret%2F%40@")}/3`;
  const local = await redisServer(t, ["--unixsocket", "redis.sock"]);
  for (const [url, cli] of [
    [withLogin, withLogin],
    [`unix://${local.folder}/redis.sock`, local.url],
  ]) {
    const pg = new Paddlegate(url, patient);
    const limiter = pg.concurrent(unique(), 1, { waitTimeoutMs: 60_000, lockTimeoutMs: 60_000 });
    const permit = await limiter.acquire();
    const waiting = limiter.acquire();
    const listens = () => redis(cli, "client", "list", "type", "pubsub").includes("cmd=");
    await until(listens);
    await until(async () => (await tickets(limiter)) === 1);
    const began = performance.now();
    await permit.release();
    await (await waiting).release();
    assert.ok(performance.now() - began < 4_000);
  }
});

test("the connection on which nothing is sent is asked whether it is still there", async (t) => {
  const asked = t.mock.method(net.Socket.prototype, "setKeepAlive");
  const limiter = new Paddlegate(url, patient).throttle(unique(), 0.05);
  await limiter.acquire();
  assert.equal(asked.mock.callCount(), 0);
  await limiter.acquire();
  assert.deepEqual(
    asked.mock.calls.map((call) => call.arguments),
    [[true, 10_000]],
  );
});

test("a wait under an id of the caller that is aborted leaves no ticket", async () => {
  const limiter = stores.redis.concurrent(unique(), 1, { waitTimeoutMs: 60_000 });
  await limiter.acquire();
  const controller = new AbortController();
  const waiting = limiter.acquire({ id: "x", signal: controller.signal });
  await until(async () => (await tickets(limiter)) === 1);
  await pause(50);
  controller.abort();
  await assert.rejects(waiting, { name: "AbortError" });
  await until(async () => (await tickets(limiter)) === 0);
});

test("waits under ids of the caller that are aborted during their first look leave no ticket", async () => {
  const limiter = stores.redis.concurrent(unique(), 1, { waitTimeoutMs: 60_000 });
  const permit = await limiter.acquire({ id: "holder" });
  for (let i = 0; i < 20; i += 1) {
    const controller = new AbortController();
    const waiting = limiter.acquire({ id: `x${i}`, signal: controller.signal });
    controller.abort();
    await assert.rejects(waiting, { name: "AbortError" });
  }
  // All of them have asked before this does, and leave before anything else is asked.
  assert.equal(await tickets(limiter), 20);
  assert.equal(await tickets(limiter), 0);
  await permit.release();
  assert.equal((await limiter.tryAcquire()).allowed, true);
});

test("without a right to listen waiters look by themselves", async (t) => {
  const own = await redisServer(t);
  redis(own.url, "acl", "setuser", "default", "-subscribe");
  const limiter = new Paddlegate(own.url, patient).concurrent("x", 1, { lockTimeoutMs: 300 });
  await limiter.acquire();
  assert.equal((await limiter.acquire()).decision.allowed, true);
});

test("a store that cannot be reached any more fails who waits", async (t) => {
  const own = await redisServer(t);
  const limiter = new Paddlegate(own.url, patient).concurrent("x", 1);
  await limiter.acquire();
  const waiting = limiter.acquire({ waitTimeoutMs: 4000 });
  await until(async () => (await tickets(limiter)) === 1);
  await own.stop();
  await assert.rejects(waiting, { name: "UnavailableError" });
});

test("a process that has waited ends by itself, and one that waits goes on", async () => {
  for (const store of ["memory://", url]) {
    const { output, status, ms } = await run(`
      import { Paddlegate } from ${JSON.stringify(entry)};
      const pg = new Paddlegate(${JSON.stringify(store)}, { timeoutMs: 60000 });
      const limiter = pg.concurrent(${JSON.stringify(unique())}, 1, { lockTimeoutMs: 500 });
      await limiter.acquire();
      const { signal } = new AbortController();
      const { fencingToken } = await limiter.acquire({ signal, waitTimeoutMs: 60000 });
      console.log(fencingToken > 0);`);
    assert.equal(output, "true");
    assert.equal(status, 0);
    assert.ok(ms < 20_000, `ms=${ms}`);
  }
});

test("worker threads wait for each other", async () => {
  const work = `
    const { workerData } = require("node:worker_threads");
    const { Paddlegate } = require(workerData.main);
    const pg = new Paddlegate(workerData.url, { timeoutMs: 10000 });
    const limiter = pg.concurrent(workerData.name, 2, { waitTimeoutMs: 60000, lockTimeoutMs: 60000 });
    const counts = new Int32Array(workerData.shared);
    const work = async () => {
      const running = Atomics.add(counts, 0, 1) + 1;
      if (running > 2) Atomics.add(counts, 1, 1);
      await new Promise((resolve) => setTimeout(resolve, 1));
      Atomics.sub(counts, 0, 1);
      Atomics.add(counts, 2, 1);
    };
    Promise.all(Array.from({ length: 20 }, () => limiter.withinLimit(work)));`;
  const shared = new SharedArrayBuffer(12);
  const main = new URL("../index.js", import.meta.url).pathname;
  const workerData = { main, url, shared, name: unique() };
  const exits = Array.from({ length: 4 }, () => {
    const worker = new Worker(work, { eval: true, workerData });
    return new Promise((resolve, reject) => worker.on("exit", resolve).on("error", reject));
  });
  assert.deepEqual(await Promise.all(exits), [0, 0, 0, 0]);
  assert.deepEqual([...new Int32Array(shared)], [0, 0, 80]);
});
