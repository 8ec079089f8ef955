// What changes a limiter while it runs: pauses, overrides, and what upstream says. The numbers are in the vectors.
import assert from "node:assert/strict";
import test from "node:test";
import { OverLimitError, Paddlegate, TestClock } from "paddlegate-wasm";

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const start = 1_700_000_000_000;
/** A store with a clock, and the function that sets it, in milliseconds after `start`. */
function clocked() {
  const clock = new TestClock(start * 1000);
  const at = (ms) => {
    clock.nowUs = (start + ms) * 1000;
  };
  return { pg: new Paddlegate("memory://", { clock }), at };
}
const nothing = {
  version: 0,
  inUse: true,
  pausedForMs: null,
  blockedForMs: null,
  mode: null,
  overrides: {},
  expiresInMs: null,
  learned: {},
};

test("a pause refuses everything until it ends, of this name only", () => {
  const { pg, at } = clocked();
  const limiter = pg.window("a", 10, 60);
  const ordered = limiter.pause({ forMs: 30_000 });
  assert.deepEqual(ordered, {
    ...nothing,
    version: start * 1000,
    inUse: false,
    pausedForMs: 30_000,
  });
  assert.ok(Object.isFrozen(ordered) && Object.isFrozen(ordered.overrides));
  at(10);
  const { status, reason, retryAfterMs } = limiter.tryAcquire();
  assert.deepEqual([status, reason, retryAfterMs], ["refused", "paused", 29_990]);
  assert.equal(pg.window("b", 10, 60).allow(), true);
  at(5000);
  assert.equal(limiter.pause({ forMs: 10_000 }).pausedForMs, 25_000);
  at(29_999);
  assert.equal(limiter.allow(), false);
  at(30_000);
  assert.equal(limiter.allow(), true);
  const until = new Date(start + 60_000);
  at(31_000);
  assert.equal(limiter.pause({ until }).pausedForMs, 29_000);
  at(31_001);
  assert.deepEqual(limiter.resume(), nothing);
  at(31_002);
  assert.equal(limiter.allow(), true);
});

test("a pause of a name that nobody has used says so", () => {
  const pg = new Paddlegate();
  const limiter = pg.window("a", 10, 60);
  assert.equal(limiter.runtimeState().inUse, false);
  limiter.allow();
  assert.equal(limiter.pause({ forMs: 1 }).inUse, true);
  assert.equal(pg.bucket("a", 10, 60).pause({ forMs: 1 }).inUse, true);
  assert.equal(pg.bucket("b", 10, 60).pause({ forMs: 1 }).inUse, false);
});

test("an override rules until it is restored or expires", () => {
  const { pg, at } = clocked();
  const limiter = pg.concurrent("erp", 0);
  assert.equal(limiter.tryAcquire().retryAfterMs, null);
  at(1);
  const { overrides, expiresInMs } = limiter.override({ limit: 1 });
  assert.deepEqual(overrides, {
    concurrency: { kind: "concurrency", limit: 1, intervalMs: 30_000 },
  });
  assert.ok(Object.isFrozen(overrides.concurrency));
  assert.equal(expiresInMs, null);
  at(2);
  const { permit } = limiter.tryAcquire();
  at(3);
  assert.equal(limiter.tryAcquire().allowed, false);
  at(4);
  assert.equal(limiter.release(permit), "released");
  at(5);
  assert.deepEqual(limiter.restore({ label: "concurrency" }), nothing);
  at(6);
  assert.equal(limiter.tryAcquire().allowed, false);
  const expiresAt = new Date(start + 1007);
  at(7);
  assert.equal(limiter.override({ limit: 1, expiresAt }).expiresInMs, 1000);
  at(1006);
  assert.equal(limiter.tryAcquire().allowed, true);
  at(1007);
  assert.deepEqual(limiter.runtimeState(), nothing);
});

test("who waits enters at once when a pause is ended or a limit raised", async () => {
  const limiter = new Paddlegate().concurrent("erp", 1, { waitTimeoutMs: 60_000 });
  limiter.pause({ forMs: 50_000 });
  const entered = limiter.acquire();
  await pause(20);
  assert.equal(limiter.stats().tickets, 1);
  // Who is not called looks by itself, after five seconds.
  let began = performance.now();
  limiter.resume();
  const permit = await entered;
  assert.ok(performance.now() - began < 3000);

  const waiting = limiter.acquire();
  await pause(20);
  began = performance.now();
  limiter.override({ limit: 2 });
  await waiting;
  assert.ok(performance.now() - began < 3000);
  limiter.override({ limit: 1 });
  assert.equal(permit.renew(), true);
  assert.equal(limiter.stats().leases, 2);
});

test("a wait that is aborted, or too short, during a pause leaves nothing", async () => {
  const limiter = new Paddlegate().concurrent("erp", 1, { waitTimeoutMs: 60_000 });
  limiter.pause({ forMs: 50_000 });
  const controller = new AbortController();
  const waiting = limiter.acquire({ signal: controller.signal });
  await pause(20);
  controller.abort("enough");
  await assert.rejects(waiting, (reason) => reason === "enough");
  await assert.rejects(limiter.acquire({ waitTimeoutMs: 20 }), (error) => {
    assert.ok(error instanceof OverLimitError);
    assert.equal(error.decision.reason, "paused");
    return true;
  });
  const { leases, tickets } = limiter.stats();
  assert.deepEqual([leases, tickets], [0, 0]);
});

test("what upstream has left, its size and its reset", () => {
  const { pg } = clocked();
  const shop = pg.points("shop", 1000, 20);
  const { permit } = shop.tryAcquire({ estimate: 300 });
  shop.correct(permit, 300);
  assert.equal(shop.reportBudget({ remaining: 300 }).learned[0], "remaining");
  assert.equal(shop.peek({ cost: 0 }).remaining, 300);
  assert.equal(shop.reportBudget({ limit: 2000, restoreRate: 100, permit: null }).settlement, null);
  assert.deepEqual(pg.points("shop", 500, 20).runtimeState().learned, {
    points: { kind: "points", limit: 2000, intervalMs: 20_000 },
  });
  const hub = pg.bucket("hub", 5000, "hour");
  hub.reportBudget({ remaining: 0, resetInMs: 1_800_000 });
  assert.equal(hub.tryAcquire().retryAfterMs, 1_800_000);
  hub.reportBudget({ remaining: 0, resetAt: start + 600_000 });
  assert.equal(hub.tryAcquire().retryAfterMs, 600_000);
});

test("mistakes are named and change nothing", () => {
  const pg = new Paddlegate();
  const limiter = pg.leaky("x", 10, 10);
  const cases = {
    forMs: [
      () => limiter.pause(),
      () => limiter.pause({}),
      ...[0, -1, Number.NaN, "1", 1e15].map((forMs) => () => limiter.pause({ forMs })),
    ],
    until: [
      ...[Number.NaN, "x", new Date("x"), -1, 2 ** 53].map(
        (until) => () => limiter.pause({ until }),
      ),
      () => limiter.pause({ forMs: 1, until: new Date() }),
    ],
    options: [() => limiter.pause(30), () => limiter.restore(null)],
    forms: [() => limiter.pause({ forms: 5 })],
    limit: [-1, 0, 1.5, "5"]
      .flatMap((limit) => [
        () => limiter.override({ limit }),
        () => limiter.reportBudget({ limit }),
      ])
      .concat(() => limiter.override({ label: "leaky" })),
    intervalMs: [-1, 0, "1", 1e15].map((intervalMs) => () => limiter.override({ intervalMs })),
    label: [1, "", "Leaky"].flatMap((label) => [
      () => limiter.override({ label, limit: 1 }),
      () => limiter.restore({ label }),
      () => limiter.reportBudget({ label, restoreRate: 1 }),
    ]),
    expiresInMs: [0, -1, "1"].map(
      (expiresInMs) => () => limiter.override({ limit: 1, expiresInMs }),
    ),
    expiresAt: [() => limiter.override({ limit: 1, expiresInMs: 1, expiresAt: 1 })],
    remaining: [-1, 0.5, "5", 1e15].map((remaining) => () => limiter.reportBudget({ remaining })),
    restoreRate: [
      ...[0, -1, Number.NaN, "1"].map((restoreRate) => () => limiter.reportBudget({ restoreRate })),
      () => limiter.reportBudget({ restoreRate: 1, intervalMs: 10_000 }),
    ],
    resetInMs: [() => limiter.reportBudget({ resetInMs: -1 })],
    resetAt: [() => limiter.reportBudget({ resetAt: "x" })],
    permit: ["", 5, "x".repeat(581)].map(
      (permit) => () => limiter.reportBudget({ remaining: 1, permit }),
    ),
  };
  for (const [argument, calls] of Object.entries(cases)) {
    for (const call of calls) {
      assert.throws(call, { name: "InvalidError", argument }, `${argument}: ${call}`);
    }
  }
  assert.deepEqual(limiter.runtimeState(), { ...nothing, inUse: false });
  assert.equal(limiter.peek({ cost: 0 }).remaining, 10);
});
