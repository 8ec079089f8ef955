// Concurrency limits, tickets and waiting in memory.
import assert from "node:assert/strict";
import { once } from "node:events";
import test from "node:test";
import { OverLimitError, Paddlegate, SKIPPED, TestClock } from "paddlegate-wasm";

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const invalid = (argument) => ({ name: "InvalidError", code: "INVALID", argument });

test("a lease is held, renewed and released once", async () => {
  const limiter = new Paddlegate().concurrent("erp", 2, { lockTimeoutMs: 60_000 });
  const [first, second] = [await limiter.acquire(), await limiter.acquire()];
  assert.ok(second.fencingToken > first.fencingToken);
  assert.ok(first.expiresInMs > 50_000 && first.expiresInMs <= 60_000);
  assert.equal(first.renew(), true);
  const { status, reason } = limiter.tryAcquire();
  assert.deepEqual([status, reason], ["refused", "concurrency"]);
  assert.equal(first.release(), "released");
  assert.equal(first.release(), "released");
  assert.equal(first.renew(), false);
  assert.equal(first.lost, false);
  assert.equal(limiter.renew(second.id), 60_000);
  assert.equal(limiter.release(second.id), "released");
  assert.equal(limiter.renew(second.id), null);
  assert.equal(limiter.stats().leases, 0);
});

test("on a clock that is given a lease ends when it should", () => {
  const clock = new TestClock(1_000_000);
  const limiter = new Paddlegate("memory://", { clock }).concurrent("erp", 1);
  const held = limiter.tryAcquire();
  assert.deepEqual([held.leaseMs, held.fencingToken], [30_000, 1_000_000]);
  clock.nowUs = 30_999_999;
  assert.equal(limiter.tryAcquire().allowed, false);
  clock.nowUs = 31_000_000;
  assert.equal(limiter.tryAcquire().allowed, true);
  clock.nowUs = 31_000_001;
  assert.equal(limiter.release(held.permit), "late");
  assert.equal(limiter.stats().overages, 1);
});

test("a limiter without a state grants or refuses without a wait, also as the first of its store", async () => {
  const open = new Paddlegate().unlimited();
  assert.equal((await open.acquire()).lost, false);
  const closed = new Paddlegate().paused("never", { waitTimeoutMs: 60_000 });
  await assert.rejects(closed.acquire(), OverLimitError);
});

test("of 50 waiters each release lets exactly one in, in the order they came", async () => {
  const limiter = new Paddlegate().concurrent("erp", 1, { waitTimeoutMs: 60_000 });
  const first = await limiter.acquire();
  const entered = [];
  const waiting = Array.from({ length: 50 }, (_, i) =>
    limiter.acquire().then((permit) => entered.push([i, permit])),
  );
  await pause(10);
  assert.equal(limiter.stats().tickets, 50);
  first.release();
  for (let count = 1; count <= 50; count += 1) {
    await pause(0);
    assert.deepEqual([entered.length, limiter.stats().leases], [count, 1]);
    entered.at(-1)[1].release();
  }
  await Promise.all(waiting);
  assert.deepEqual(
    entered.map(([i]) => i),
    Array.from({ length: 50 }, (_, i) => i),
  );
  assert.equal(limiter.stats().waited, 50);
});

test("a wait that takes too long, and one that is aborted, leave nothing", async () => {
  const limiter = new Paddlegate().concurrent("erp", 1, { waitTimeoutMs: 50 });
  await limiter.acquire();
  await assert.rejects(limiter.acquire(), (error) => {
    assert.ok(error instanceof OverLimitError);
    assert.deepEqual([error.limiter, error.decision.status], ["erp", "refused"]);
    assert.equal(error.reason, "concurrency");
    assert.ok(error.retryAfterMs > 0);
    return true;
  });
  const controller = new AbortController();
  const aborted = limiter.acquire({ signal: controller.signal, waitTimeoutMs: 60_000 });
  await pause(10);
  controller.abort("enough");
  await assert.rejects(aborted, (reason) => reason === "enough");
  await assert.rejects(limiter.acquire({ signal: AbortSignal.abort() }), { name: "AbortError" });
  const { leases, tickets } = limiter.stats();
  assert.deepEqual([leases, tickets], [1, 0]);
});

test("waiters of a rate get in by turn", async () => {
  const limiter = new Paddlegate().throttle("slow", 0.02, { waitTimeoutMs: 60_000 });
  const permits = await Promise.all(Array.from({ length: 10 }, () => limiter.acquire()));
  const times = permits.map(({ decision }) => decision.atUs);
  assert.ok(times.every((at, i) => i === 0 || at - times[i - 1] >= 20_000));
});

test("withinLimit releases, warns of a lost lease, and skips", async () => {
  const pg = new Paddlegate();
  const limiter = pg.concurrent("erp", 1, { lockTimeoutMs: 20 });
  const warned = once(process, "warning");
  assert.equal(await limiter.withinLimit(() => pause(50).then(() => 7)), 7);
  assert.equal((await warned)[0].name, "LeaseLostWarning");
  const failing = limiter.withinLimit(() => {
    throw new RangeError("mine");
  });
  await assert.rejects(failing, RangeError);
  const ignoring = pg.paused("never", { onLimit: "ignore" });
  assert.equal(await ignoring.withinLimit(assert.fail), SKIPPED);
  await assert.rejects(ignoring.acquire(), OverLimitError);
  assert.equal(SKIPPED, Symbol.for("paddlegate.SKIPPED"));
});

test("what is null is the default", async () => {
  const options = { waitTimeoutMs: null, lockTimeoutMs: null, onLimit: null, ttl: null };
  const limiter = new Paddlegate().concurrent("erp", 1, options);
  const { decision } = await limiter.acquire({ id: null, waitTimeoutMs: null });
  assert.equal(decision.leaseMs, 30_000);
  const refused = limiter.withinLimit({ waitTimeoutMs: 1 }, assert.fail);
  await assert.rejects(refused, OverLimitError);
  const { status } = limiter.enqueue("a", { waitTimeoutMs: null, claimTimeoutMs: null });
  assert.equal(status, "queued");
  const pg = new Paddlegate();
  assert.equal(pg.bucket("x", 5, 60, { offset: null }).allow(), true);
  for (const limits of [{ concurrency: [5, null] }, [["concurrency", 5, null]]]) {
    const lease = (more) => pg.limiter("y", limits, more).tryAcquire().leaseMs;
    assert.deepEqual([lease({}), lease({ lockTimeoutMs: 5000 })], [30_000, 5000]);
  }
  const unestimated = await pg.points("z", 10, 60).acquire({ cost: 1, estimate: null });
  assert.throws(() => unestimated.pointsUsed(1), { argument: "estimate" });
});

test("a call that is aborted ends no lease that its id had before", async () => {
  const limiter = new Paddlegate().concurrent("erp", 1);
  const permit = await limiter.acquire({ id: "held" });
  const controller = new AbortController();
  const again = limiter.acquire({ id: "held", signal: controller.signal });
  controller.abort();
  // It was granted before; without waiting there was nothing to end.
  assert.equal((await again).fencingToken, permit.fencingToken);
  const { signal } = controller;
  await assert.rejects(limiter.acquire({ id: "held", signal }), { name: "AbortError" });
  assert.equal(permit.renew(), true);
});

test("jobs take tickets and come back", () => {
  const limiter = new Paddlegate().concurrent("erp", 1);
  const running = limiter.enqueue("a");
  assert.equal(running.status, "granted");
  assert.deepEqual(
    ["b", "c"].map((id) => limiter.enqueue(id).position),
    [0, 1],
  );
  assert.equal(limiter.cancel("b"), "cancelled");
  assert.equal(limiter.cancel("b"), "unknown");
  assert.equal(limiter.claim("b").status, "no_ticket");
  limiter.release(running.permit);
  assert.equal(limiter.tryAcquire({ id: "d" }).status, "refused");
  assert.equal(limiter.claim("c").status, "granted");
});

test("statistics, and the limiters of the store", () => {
  const pg = new Paddlegate("memory://", { clock: new TestClock() });
  const shop = pg.limiter("shop", { concurrency: [2, 10], throttle: 0.1 }, { ttl: "day" });
  shop.tryAcquire();
  shop.tryAcquire();
  const { granted, refused, immediate, leases } = shop.stats();
  assert.deepEqual([granted, refused, immediate, leases], [1, 1, 1, 1]);
  const [{ name, limits, lastUsed }] = pg.limiters();
  assert.deepEqual([name, lastUsed], ["shop", null]);
  assert.deepEqual(limits, [
    { label: "concurrency", kind: "concurrency", amount: 2, interval: 10, offset: 0 },
    { label: "throttle", kind: "throttle", amount: 1, interval: 0.1, offset: 0 },
  ]);
});

test("mistakes are named", async () => {
  const pg = new Paddlegate();
  const limiter = pg.concurrent("erp", 1);
  const cases = {
    limit: [-1, 1.5, "1", undefined, 100_001].map((limit) => () => pg.concurrent("x", limit)),
    lockTimeout: [() => pg.limiter("x", { concurrency: [1, -1] })],
    lockTimeoutMs: [0, -1, Number.NaN, "1"]
      .map((lockTimeoutMs) => () => pg.concurrent("x", 1, { lockTimeoutMs }))
      .concat([
        () => pg.limiter("x", { window: [1, 1] }, { lockTimeoutMs: 1 }),
        () => pg.window("x", 1, 1, { lockTimeoutMs: 1 }),
      ]),
    allow: [() => limiter.allow(), () => limiter.allow({ cost: 0 })],
    onLimit: ["wait", ""].map((onLimit) => () => pg.window("x", 1, 1, { onLimit })),
    ttl: [0, "week", -1].map((ttl) => () => pg.window("x", 1, 1, { ttl })),
    waitTimeoutMs: [-1, "1", Number.NaN].flatMap((waitTimeoutMs) => [
      () => pg.window("x", 1, 1, { waitTimeoutMs }),
      () => limiter.acquire({ waitTimeoutMs }),
      () => limiter.enqueue("x", { waitTimeoutMs }),
      () => limiter.tryAcquire({ waitTimeoutMs: 5 }),
    ]),
    claimTimeoutMs: [0, -1, "1"].map(
      (claimTimeoutMs) => () => limiter.enqueue("x", { claimTimeoutMs }),
    ),
    id: [5, "", "x".repeat(65), "\ud800"].flatMap((id) => [
      () => limiter.enqueue(id),
      () => limiter.claim(id),
      () => limiter.cancel(id),
      () => limiter.acquire({ id }),
      () => limiter.tryAcquire({ id }),
    ]),
    permit: [null, 5, "", "x".repeat(581)].flatMap((permit) => [
      () => limiter.release(permit),
      () => limiter.renew(permit),
    ]),
    signal: [() => limiter.acquire({ signal: {} })],
    fn: [() => limiter.withinLimit(), () => limiter.withinLimit({})],
  };
  for (const [argument, calls] of Object.entries(cases)) {
    for (const call of calls)
      await assert.rejects(async () => call(), invalid(argument), `${call}`);
  }
  const { leases, tickets } = limiter.stats();
  assert.deepEqual([leases, tickets], [0, 0]);
});
