// Concurrency limits: permits that are released, renewed, lost or skipped.
import assert from "node:assert/strict";
import { once } from "node:events";
import test from "node:test";
import { OverLimitError, Paddlegate, SKIPPED } from "../index.mjs";
import { entry, proxy, redisServer, required, run, unique, until } from "./support.mjs";

const url = required("PADDLEGATE_TEST_URL");
const stores = {
  memory: new Paddlegate("memory://"),
  redis: new Paddlegate(url, { timeoutMs: 10_000 }),
};

for (const [store, pg] of Object.entries(stores)) {
  test(`${store}: a permit is held, renewed and released once`, async () => {
    const limiter = pg.concurrent(unique(), 2, { lockTimeoutMs: 60_000 });
    const first = await limiter.acquire();
    const second = await limiter.acquire({ waitTimeoutMs: 0 });
    assert.match(first.id, /^[-.0-9A-Za-z]{32}:\d+:1$/);
    assert.ok(second.fencingToken > first.fencingToken);
    assert.equal(first.decision.leaseMs, 60_000);
    assert.ok(first.expiresInMs > 50_000 && first.expiresInMs <= 60_000);
    assert.equal(first.lost, false);
    assert.equal(await first.renew(), true);
    assert.ok(first.expiresInMs > 50_000);
    const { status, reason, retryAfterMs } = await limiter.tryAcquire();
    assert.deepEqual({ status, reason }, { status: "refused", reason: "concurrency" });
    assert.ok(retryAfterMs > 50_000 && retryAfterMs <= 60_000);
    assert.equal(await first.release(), "released");
    assert.equal(await first.release(), "released");
    assert.equal(first.lost, false);
    assert.equal(await first.renew(), false);
    assert.equal(first.lost, false);
    assert.equal((await limiter.stats()).leases, 1);
    assert.equal(await limiter.release(first.id), "unknown");
    assert.equal(await limiter.release(second.id), "released");
    await assert.rejects(first.pointsUsed(1), { argument: "estimate" });
  });

  test(`${store}: whoever has the id renews and releases`, async () => {
    const name = unique();
    const { permit } = await pg.concurrent(name, 1).tryAcquire();
    const same = pg.concurrent(name, 1);
    assert.equal(await same.renew(permit), 30_000);
    assert.equal(await same.release(permit), "released");
    assert.equal(await same.renew(permit), null);
    assert.equal(await same.release("a:1:1"), "late");
    assert.equal(await same.release("strange"), "unknown");
    assert.equal(await pg.concurrent(unique(), 1).renew(permit), null);
  });

  test(`${store}: the same id takes no second lease`, async () => {
    const limiter = pg.concurrent(unique(), 1);
    const first = await limiter.acquire({ id: "job 7" });
    const again = await limiter.acquire({ id: "job 7" });
    assert.equal(again.fencingToken, first.fencingToken);
    assert.equal((await limiter.tryAcquire({ id: "job 7" })).allowed, true);
    assert.equal((await limiter.tryAcquire({ id: "job 8" })).allowed, false);
    assert.equal((await limiter.stats()).leases, 1);
  });

  test(`${store}: a late holder is told, and frees nobody else's slot`, async () => {
    const limiter = pg.concurrent(unique(), 1, { lockTimeoutMs: 100 });
    const late = await limiter.acquire();
    const next = await limiter.acquire({ waitTimeoutMs: 10_000 });
    assert.equal(late.lost, true);
    assert.equal(late.expiresInMs, 0);
    assert.equal(await late.renew(), false);
    await next.renew();
    assert.equal(await late.release(), "late");
    assert.equal(await late.release(), "late");
    assert.equal((await limiter.stats()).overages, 1);
    assert.ok(next.fencingToken > late.fencingToken);
  });

  test(`${store}: withinLimit holds the lease while its function runs`, async () => {
    const limiter = pg.concurrent(unique(), 1);
    const held = async () => (await limiter.stats()).leases;
    assert.equal(await limiter.withinLimit(held), 1);
    assert.equal(await held(), 0);
    const failing = limiter.withinLimit(() => {
      throw new RangeError("mine");
    });
    await assert.rejects(failing, RangeError);
    assert.equal(await held(), 0);
    assert.equal(await limiter.withinLimit((permit) => permit.release()), "released");
  });

  test(`${store}: a lease that ended before the function is a warning`, async () => {
    const limiter = pg.concurrent(unique(), 1, { lockTimeoutMs: 50 });
    const warned = once(process, "warning");
    const lost = await limiter.withinLimit(async (permit) => {
      await until(() => permit.lost);
      return permit;
    });
    const [warning] = await warned;
    assert.equal(warning.name, "LeaseLostWarning");
    assert.ok(warning.message.includes(limiter.name));
    assert.equal(lost.lost, true);
  });

  test(`${store}: with onLimit ignore a refused function is skipped`, async () => {
    for (const onLimit of ["ignore", "skip"]) {
      const limiter = pg.concurrent(unique(), 1, { onLimit, waitTimeoutMs: 0 });
      assert.equal(await limiter.withinLimit(() => 7), 7);
      const permit = await limiter.acquire();
      assert.equal(await limiter.withinLimit(assert.fail), SKIPPED);
      assert.equal(await limiter.withinLimit({ waitTimeoutMs: 20 }, assert.fail), SKIPPED);
      await assert.rejects(limiter.acquire(), OverLimitError);
      await permit.release();
      const failing = limiter.withinLimit(() => limiter.acquire());
      await assert.rejects(failing, OverLimitError);
    }
    assert.equal(
      await pg.paused(unique(), { onLimit: "ignore" }).withinLimit(assert.fail),
      SKIPPED,
    );
  });

  test(`${store}: concurrency goes with other limits, all charged or none`, async () => {
    const both = pg.limiter(unique(), { concurrency: 2, window: [3, "day"] });
    const permits = [await both.acquire(), await both.acquire()];
    assert.equal((await both.tryAcquire()).reason, "concurrency");
    await permits[0].release();
    await both.acquire();
    await permits[1].release();
    assert.equal((await both.tryAcquire()).reason, "window");
    assert.equal((await both.stats()).leases, 1);
    const short = pg.limiter(unique(), { concurrency: [1, "PT1M"] });
    assert.equal((await short.tryAcquire()).leaseMs, 60_000);
    const option = pg.limiter(unique(), { concurrency: 1 }, { lockTimeoutMs: 5000 });
    assert.equal((await option.tryAcquire()).leaseMs, 5000);
  });

  test(`${store}: a limit of 0 is a pause`, async () => {
    const limiter = pg.concurrent(unique(), 0);
    const { status, retryAfterMs, reason } = await limiter.tryAcquire();
    assert.deepEqual([status, retryAfterMs, reason], ["refused", null, "concurrency"]);
    await assert.rejects(limiter.acquire(), { name: "OverLimitError", retryAfterMs: null });
  });

  test(`${store}: without a concurrency limit there is nothing to lose or to release`, async () => {
    for (const limiter of [pg.window(unique(), 5, 60), pg.unlimited()]) {
      const permit = await limiter.acquire();
      const { fencingToken, expiresInMs, lost } = permit;
      assert.deepEqual(
        { fencingToken, expiresInMs, lost },
        { fencingToken: null, expiresInMs: null, lost: false },
      );
      assert.equal(await permit.release(), "unknown");
      assert.equal(await permit.renew(), false);
      await assert.rejects(permit.pointsUsed(1), { argument: "estimate" });
    }
  });
}

test("a release that cannot reach redis does not fail withinLimit", async (t) => {
  const own = await redisServer(t);
  const limiter = new Paddlegate(own.url, { timeoutMs: 10_000 }).concurrent(unique(), 1);
  assert.equal(await limiter.withinLimit(() => own.stop().then(() => 7)), 7);
});

test("a call that is aborted while redis answers it leaves no lease", async () => {
  const limiter = stores.redis.concurrent(unique(), 3);
  const controller = new AbortController();
  const { signal } = controller;
  const calls = [
    limiter.tryAcquire({ signal }),
    limiter.acquire({ signal }),
    limiter.withinLimit({ signal }, assert.fail),
    limiter.acquire({ signal }),
  ];
  controller.abort();
  for (const call of calls) await assert.rejects(call, { name: "AbortError" });
  await until(async () => {
    const { leases, tickets } = await limiter.stats();
    return leases === 0 && tickets === 0;
  });
  assert.equal((await limiter.stats()).granted, 3);
});

test("a call under an id that is aborted while redis answers it leaves no lease", async () => {
  const limiter = stores.redis.concurrent(unique(), 4);
  for (const call of [
    (signal) => limiter.acquire({ signal, id: "a" }),
    (signal) => limiter.acquire({ signal, id: "b", waitTimeoutMs: 0 }),
    (signal) => limiter.tryAcquire({ signal, id: "c" }),
    (signal) => limiter.withinLimit({ signal, id: "d" }, assert.fail),
  ]) {
    const controller = new AbortController();
    const aborted = call(controller.signal);
    controller.abort();
    await assert.rejects(aborted, { name: "AbortError" }, `${call}`);
    assert.equal((await limiter.stats()).leases, 1, `${call}`);
    assert.equal((await limiter.stats()).leases, 0, `${call}`);
  }
});

for (const [kind, options] of [
  ["a limiter", {}],
  ["a key", { key: "alice" }],
]) {
  test(`a call of ${kind} without an answer leaves no lease`, async (t) => {
    const way = await proxy(t, url);
    const [name, keyed] = [unique(), "key" in options];
    const pg = new Paddlegate(way.url, { timeoutMs: 20_000 });
    const limiter = pg.concurrent(name, 2, { keyed });
    const other = stores.redis.concurrent(name, 2, { keyed });
    const isFree = async () => (await other.peek(options)).remaining === 2;
    const withKey = keyed ? limiter.withKey(options.key) : limiter;
    for (const call of [
      () => limiter.tryAcquire(options),
      () => limiter.tryAcquire({ ...options, cost: 1, id: null }),
      () => withKey.tryAcquire(),
      () => limiter.acquire({ ...options, waitTimeoutMs: 0 }),
      () => limiter.acquire(options),
      () => limiter.withinLimit({ ...options, waitTimeoutMs: 0 }, assert.fail),
      () => limiter.withinLimit(options, assert.fail),
    ]) {
      way.isGranted = async () => !(await isFree());
      await assert.rejects(call(), { name: "UnavailableError", mayHaveCounted: true }, `${call}`);
      await until(isFree);
    }
    const controller = new AbortController();
    way.isGranted = async () => {
      if (await isFree()) return false;
      controller.abort();
      return true;
    };
    const aborted = limiter.tryAcquire({ ...options, signal: controller.signal });
    await assert.rejects(aborted, { name: "AbortError" });
    await until(isFree);
  });
}

test("a call without an answer under an id of the caller leaves its lease", async (t) => {
  const way = await proxy(t, url);
  const name = unique();
  const limiter = new Paddlegate(way.url, { timeoutMs: 20_000 }).concurrent(name, 1);
  const other = stores.redis.concurrent(name, 1);
  way.isGranted = async () => (await other.stats()).leases === 1;
  await assert.rejects(limiter.tryAcquire({ id: "job" }), { mayHaveCounted: true });
  const [lease] = (await other.inspect()).leases;
  assert.equal((await limiter.tryAcquire({ id: "job" })).fencingToken, lease.fencingToken);
});

test("a call without an answer that nobody awaits is an unhandled rejection", async () => {
  const code = `
    import { Paddlegate } from ${JSON.stringify(entry)};
    import { createServer } from "node:net";
    const server = createServer((socket) => socket.once("data", () => socket.destroy()));
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    process.once("unhandledRejection", (error) => {
      console.log(error.mayHaveCounted);
      process.exit();
    });
    new Paddlegate("redis://127.0.0.1:" + server.address().port).concurrent("x", 1).tryAcquire();`;
  assert.equal((await run(code)).output, "true");
});

test("a call that is aborted while redis answers it gives its estimate back", async () => {
  const limiter = stores.redis.limiter(unique(), { points: [1000, "day"], concurrency: 5 });
  for (const call of [
    (signal) => limiter.tryAcquire({ signal, estimate: 200 }),
    (signal) => limiter.acquire({ signal, estimate: 200 }),
    (signal) => limiter.withinLimit({ signal, estimate: 200, id: "x" }, assert.fail),
  ]) {
    const controller = new AbortController();
    const aborted = call(controller.signal);
    controller.abort();
    await assert.rejects(aborted, { name: "AbortError" }, `${call}`);
    await until(async () => {
      const { leases, units } = await limiter.stats();
      return leases === 0 && units === 0;
    });
  }
  const points = stores.redis.points(unique(), 1000, "day");
  const controller = new AbortController();
  const aborted = points.tryAcquire({ signal: controller.signal, estimate: 200 });
  controller.abort();
  await assert.rejects(aborted, { name: "AbortError" });
  await until(async () => (await points.peek({ cost: 0 })).remaining === 1000);
});

test("a call that is aborted ends no lease and no ticket that its id had before", async () => {
  const limiter = stores.redis.concurrent(unique(), 1);
  const permit = await limiter.acquire({ id: "held" });
  await limiter.enqueue("queued");
  for (const call of [
    (signal) => limiter.acquire({ signal, id: "held" }),
    (signal) => limiter.acquire({ signal, id: "held", waitTimeoutMs: 0 }),
    (signal) => limiter.tryAcquire({ signal, id: "held" }),
    (signal) => limiter.enqueue("held", { signal }),
    (signal) => limiter.claim("held", { signal }),
    (signal) => limiter.enqueue("queued", { signal }),
    (signal) => limiter.claim("queued", { signal }),
  ]) {
    const controller = new AbortController();
    const aborted = call(controller.signal);
    controller.abort();
    await assert.rejects(aborted, { name: "AbortError" }, `${call}`);
    // What it would send goes before a later call.
    await limiter.peek();
    const { leases, tickets } = await limiter.stats();
    assert.deepEqual([leases, tickets], [1, 1], `${call}`);
  }
  assert.equal(await permit.renew(), true);
});

test("SKIPPED is one, and shows itself", () => {
  assert.equal(String(SKIPPED), "Symbol(paddlegate.SKIPPED)");
  assert.equal(SKIPPED, Symbol.for("paddlegate.SKIPPED"));
});
