// What the vectors cannot say: clocks, frozen answers, JavaScript's own mistakes.
import assert from "node:assert/strict";
import test from "node:test";
import * as paddlegate from "paddlegate-wasm";

const { concurrency, Paddlegate, PaddlegateError, TestClock, window } = paddlegate;
const invalid = (argument) => ({ name: "InvalidError", code: "INVALID", argument });

test("without a test's clock that of the host counts", () => {
  const limiter = new Paddlegate().points("clock", 1000, 20);
  const before = Date.now() * 1000;
  const granted = limiter.tryAcquire({ estimate: 200 });
  const after = Date.now() * 1000;
  for (const { atUs } of [granted, limiter.peek({ cost: 0 })]) {
    assert.ok(before <= atUs && atUs <= after + 1_000_000, `${before} <= ${atUs}`);
  }
  assert.equal(limiter.correct(granted.permit, 50), "settled");
  assert.equal(limiter.correct(granted.permit, 50), "already");
});

test("a grant, a refusal and a grant exactly when it was promised", () => {
  const clock = new TestClock(1_000_000);
  const limiter = new Paddlegate("memory://", { clock }).leaky("promise", 1, 0.001);
  assert.equal(limiter.allow(), true);
  clock.nowUs = 1_000_400;
  const { retryAfterMs, retryAfterUs } = limiter.tryAcquire();
  assert.deepEqual([retryAfterMs, retryAfterUs], [1, 600]);
  clock.nowUs = 1_000_999;
  assert.equal(limiter.allow(), false);
  clock.nowUs = 1_001_000;
  assert.equal(limiter.allow(), true);
});

test("a clock moves only when it is moved, for several stores, also backwards", () => {
  const clock = new TestClock();
  assert.equal(clock.nowUs, 0);
  clock.advance(58.5);
  clock.advance("second");
  clock.advance("PT0.500001S");
  assert.equal(clock.nowUs, 60_000_001);
  const stores = [1, 2].map(() => new Paddlegate("memory://", { clock }));
  const limiters = stores.map((pg) => pg.window("clock", 1, 60));
  for (const limiter of limiters) assert.equal(limiter.tryAcquire().atUs, 60_000_001);
  clock.nowUs = 5;
  for (const limiter of limiters) assert.equal(limiter.allow(), false);
  clock.nowUs = 120_000_001;
  for (const limiter of limiters) assert.equal(limiter.allow(), true);
  clock.nowUs = 2 ** 52;
  assert.throws(() => clock.advance(0.000001), invalid("nowUs"));
  assert.equal(clock.nowUs, 2 ** 52);
});

test("who waits is woken when the clock is moved", async () => {
  // By real time it would wait for an hour.
  const clock = new TestClock(1_700_000_000_000_000);
  const pg = new Paddlegate("memory://", { clock });
  const limiter = pg.throttle("hourly", 3600, { waitTimeoutMs: 7_200_000 });
  await limiter.acquire();
  const waiting = limiter.acquire();
  while (limiter.stats().tickets < 1) await new Promise(setImmediate);
  clock.advance("hour");
  assert.equal((await waiting).decision.atUs, clock.nowUs);
});

test("a decision is frozen and complete", () => {
  const pg = new Paddlegate("memory://", { clock: new TestClock(5) });
  const decision = pg.window("frozen", 3, "second").tryAcquire({ cost: 2 });
  assert.deepEqual(
    { ...decision },
    {
      status: "granted",
      allowed: true,
      limit: 3,
      remaining: 1,
      retryAfterMs: 0,
      resetAfterMs: 1000,
      reason: null,
      wouldRefuse: null,
      label: "window",
      limiter: null,
      atUs: 5,
      permit: null,
      leaseMs: null,
      fencingToken: null,
      ticket: null,
      position: null,
      readyAfterMs: null,
      retryAfterUs: 0,
      resetAfterUs: 1_000_000,
      readyAfterUs: null,
      limits: [],
      degraded: false,
      isLowered: false,
    },
  );
  assert.ok(Object.isFrozen(decision));
});

test("limiters of one name share their state, stores do not", () => {
  const clock = new TestClock();
  const [one, other] = [1, 2].map(() => new Paddlegate("memory://", { clock }));
  assert.equal(one.throttle("shared", 1).allow(), true);
  assert.equal(one.throttle("shared", 1).allow(), false);
  assert.equal(other.throttle("shared", 1).allow(), true);
});

test("reset forgets, also before the first call and by another limiter of the name", () => {
  const pg = new Paddlegate();
  const limiter = pg.bucket("reset", 1, "day", { offset: "PT2H" });
  limiter.reset();
  assert.equal(limiter.allow(), true);
  pg.bucket("reset", 1, "day").reset();
  assert.equal(limiter.allow(), true);
});

test("limits by name and as a list are the same policy, in the order written", () => {
  const pg = new Paddlegate("memory://", { clock: new TestClock() });
  const limits = { window: [100, "PT1M"], throttle: 0.1, unlimited: true };
  assert.equal(pg.limiter("both", limits).allow(), true);
  const list = [["window", 100, 60], ["throttle", 0.1], ["unlimited"]];
  const { allowed, reason, label } = pg.limiter("both", list).tryAcquire();
  assert.deepEqual([allowed, reason, label], [false, "throttle", "throttle"]);
  assert.equal(pg.limiter("both", { paused: true }).peek().reason, "paused");
});

test("three starts a second, evenly spaced and for ever", () => {
  const clock = new TestClock();
  const pg = new Paddlegate("memory://", { clock });
  const limiters = [pg.throttle("rate", 1, { limit: 3 }), pg.limiter("rate", { throttle: [3, 1] })];
  for (const [i, start] of [0, 333_334, 666_667, 1_000_000, 1_333_334].entries()) {
    clock.nowUs = Math.max(start - 1, 0);
    if (i > 0) assert.equal(limiters[i % 2].allow(), false);
    clock.nowUs = start;
    assert.equal(limiters[i % 2].allow(), true);
  }
  for (const limit of [0, 1.5, 1_000_001, null]) {
    assert.throws(() => pg.throttle("rate", 1, { limit }), invalid("limit"));
  }
});

test("twenty thousand names, of which the idle ones are forgotten", () => {
  const clock = new TestClock(1_000_000);
  const pg = new Paddlegate("memory://", { clock });
  for (let i = 0; i < 20_000; i++) {
    assert.ok(pg.leaky(`visitor-${i}`, 1, 1).allow());
    clock.advance(0.001);
  }
});

test("mistakes of JavaScript are named", () => {
  const pg = new Paddlegate();
  const limiter = pg.leaky("mistakes", 10, 1);
  const cases = {
    url: [() => new Paddlegate("redis://localhost"), () => new Paddlegate(5)],
    options: [
      () => limiter.tryAcquire(5),
      () => limiter.allow("5"),
      () => limiter.peek(null),
      () => limiter.restore(5),
      () => new Paddlegate("memory://", 5),
      () => pg.bucket("mistakes", 1, 1, 2),
    ],
    limits: [
      () => pg.limiter("mistakes"),
      () => pg.limiter("mistakes", "window"),
      () => pg.limiter("mistakes", ["window", 100, 60]),
      () => pg.limiter("mistakes", [["window", 100, 60, 1]]),
      () => pg.limiter("mistakes", { throttle: [1, 2, 3] }),
      () => pg.limiter("mistakes", { paused: 1 }),
    ],
    name: [
      () => pg.leaky(undefined, 1, 1),
      () => pg.leaky(Symbol("name"), 1, 1),
      () => pg.leaky("lone \ud800 surrogate", 1, 1),
    ],
    cost: [() => limiter.allow({ cost: 1n }), () => limiter.allow({ cost: new Number(1) })],
    nowUs: [1.5, -1, "1", null, 2 ** 52 + 1].flatMap((nowUs) => [
      () => new TestClock(nowUs),
      () => Object.assign(new TestClock(), { nowUs }),
    ]),
    span: [-1, Number.NaN, "10s", null, undefined].map((by) => () => new TestClock().advance(by)),
    clock: [5, "now", {}, Date].map((clock) => () => new Paddlegate("memory://", { clock })),
    atUs: [() => limiter.allow({ atUs: 1 }), () => limiter.pause({ forMs: 1, atUs: 1 })],
    estimated: [() => limiter.allow({ estimated: 1 })],
    permit: [() => limiter.correct(limiter.peek().permit, 1)],
    drain: [() => pg.leaky("mistakes", 1, new Date())],
  };
  for (const [argument, calls] of Object.entries(cases)) {
    for (const call of calls) assert.throws(call, invalid(argument), String(call));
  }
  assert.equal(limiter.peek({ cost: 0 }).remaining, 10);
});

test("every error is a PaddlegateError", () => {
  const kinds = Object.entries(paddlegate).filter(([name]) => name.endsWith("Error"));
  assert.equal(kinds.length, 6);
  for (const [name, Kind] of kinds.filter(([name]) => name !== "PaddlegateError")) {
    const error = new Kind("cost", {});
    assert.ok(error instanceof PaddlegateError && error instanceof Error);
    assert.equal(error.name, name);
    assert.equal(Object.keys(error).includes("name"), false);
  }
});

test("messages name arguments and units as they were written", () => {
  const pg = new Paddlegate();
  const limiter = pg.window("x", 1, 1);
  const ms = "must be a number of milliseconds";
  for (const [call, message] of [
    [
      () => limiter.enqueue("a", { waitTimeoutMs: Number.POSITIVE_INFINITY }),
      `${ms} from 0 to ten years: waitTimeoutMs=Infinity`,
    ],
    [() => limiter.enqueue("a", { waitTimeoutMs: "5" }), `${ms}: waitTimeoutMs is of type string`],
    [() => limiter.override({ intervalMs: -5 }), `${ms} from 0 to ten years: intervalMs=-5`],
    [
      () => pg.concurrent("x", 1, { lockTimeoutMs: -5 }),
      `${ms} from 0 to ten years: lockTimeoutMs=-5`,
    ],
    [
      () => pg.limiter("x", { concurrency: [1, -5] }),
      "must be a number of seconds from 0 to ten years: lockTimeout=-5.0",
    ],
    [() => limiter.tryAcquire({ id: "x".repeat(65) }), "must have 1 to 64 bytes: bytes=65"],
    [
      () => new TestClock(2 ** 52 + 1),
      "must be at most 2^52 microseconds since 1970: nowUs=4503599627370497",
    ],
    [() => new TestClock("1"), "must be a whole number: nowUs is of type string"],
  ]) {
    assert.throws(call, { name: "InvalidError", message }, `${call}`);
  }
});

test("times to come back are whole milliseconds, and then the call passes", () => {
  const clock = new TestClock(1_700_000_000_000_000);
  for (let i = 0; i < 100; i += 1) {
    const limiter = new Paddlegate("memory://", { clock }).leaky("whole", 1 + (i % 6), 1 / 7);
    while (limiter.allow());
    clock.nowUs += i;
    const { retryAfterMs, retryAfterUs } = limiter.tryAcquire();
    assert.equal(retryAfterMs, Math.ceil(retryAfterUs / 1000));
    clock.advance(retryAfterMs / 1000);
    assert.equal(limiter.allow(), true);
  }
});

test("a permit may stand for its id", async () => {
  const pg = new Paddlegate();
  const limiter = pg.limiter("x", { concurrency: 1, points: [100, "day"] });
  const permit = await limiter.acquire({ estimate: 10 });
  assert.equal(limiter.renew(permit), 30_000);
  assert.equal(limiter.correct(permit, 4), "settled");
  assert.equal(limiter.release(permit), "released");
  const other = await pg.points("y", 100, "day").acquire({ estimate: 10 });
  const synced = pg.points("y", 100, "day").reportBudget({ remaining: 50, permit: other });
  assert.deepEqual(synced.learned, ["remaining"]);
  const without = await pg.window("z", 1, 1).acquire();
  assert.throws(() => limiter.release(without), { argument: "permit", message: /has no id/ });
});

test("an estimate is settled for as long as its call says", () => {
  const clock = new TestClock(1_000_000);
  const limiter = new Paddlegate("memory://", { clock }).points("hours", 1000, 86_400);
  const call = { estimate: 200, settleWithinMs: 7_200_000 };
  const permits = [
    limiter.tryAcquire(call).permit,
    limiter.tryAcquire({ ...call, id: "mine" }).permit,
  ];
  permits.push(limiter.tryAcquire({ estimate: 200 }).permit);
  clock.nowUs += 7_000_000_000;
  assert.deepEqual(
    permits.map((permit) => limiter.correct(permit, 50)),
    ["settled", "settled", "late"],
  );
  for (const settleWithinMs of [0, 299_999, 604_800_001, "1 h", Number.NaN]) {
    assert.throws(
      () => limiter.tryAcquire({ estimate: 1, settleWithinMs }),
      invalid("settleWithinMs"),
    );
  }
  assert.throws(
    () => limiter.allow({ cost: 1, settleWithinMs: 300_000 }),
    invalid("settleWithinMs"),
  );
});

test("the list of limiters has a prefix, and one page", () => {
  const pg = new Paddlegate();
  for (const name of ["shop-2", "mail", "shop-1"]) pg.window(name, 5, 60).allow();
  const names = (limiters) => limiters.map(({ name }) => name);
  assert.deepEqual(names(pg.limiters()), ["mail", "shop-1", "shop-2"]);
  assert.deepEqual(names(pg.limiters({ prefix: "shop-" })), ["shop-1", "shop-2"]);
  const { limiters, cursor } = pg.limiterPage({ prefix: "mail" });
  assert.deepEqual([names(limiters), cursor], [["mail"], null]);
  assert.throws(() => pg.limiterPage({ cursor: "1.0" }), invalid("cursor"));
  assert.throws(() => pg.limiters({ prefix: 5 }), invalid("prefix"));
});

test("statistics have refusals by label and histograms of waits and leases", async () => {
  const clock = new TestClock(1_700_000_000_000_000);
  const pg = new Paddlegate("memory://", { clock });
  const limiter = pg.limiter("counted", { rpm: window(2, 60), workers: concurrency(1) });
  assert.deepEqual([limiter.stats().refusedBy, limiter.stats().waits], [{}, Array(22).fill(0)]);
  const first = await limiter.acquire({ id: "first" });
  const second = limiter.acquire({ id: "second" });
  clock.advance(0.003);
  first.release();
  await second;
  assert.equal(limiter.tryAcquire().label, "rpm");
  limiter.pause({ forMs: 60_000 });
  assert.equal(limiter.tryAcquire().reason, "paused");
  const stats = limiter.stats();
  assert.deepEqual([stats.refused, stats.refusedBy], [2, { rpm: 1 }]);
  assert.deepEqual([stats.waited, stats.immediate, stats.waitTimeMs], [1, 1, 3]);
  assert.deepEqual(stats.waits, [0, 0, 1, ...Array(19).fill(0)]);
  assert.deepEqual(stats.holds, stats.waits);
  assert.deepEqual([stats.nearLimit, stats.units, stats.estimatedUnits], [2, 2, 2]);
  for (const part of [stats, stats.refusedBy, stats.waits, stats.holds])
    assert.ok(Object.isFrozen(part));
});

test("an option that is none is told by its name", async () => {
  const pg = new Paddlegate();
  const limiter = pg.window("x", 1, 1);
  for (const call of [
    () => limiter.allow({ identity: "x" }),
    () => limiter.acquire({ identity: "x" }),
    () => limiter.pause({ forMs: 1, identity: "x" }),
    () => pg.window("x", 1, 1, { identity: "x" }),
  ]) {
    await assert.rejects(async () => call(), { argument: "identity", message: /option=identity;/ });
  }
});
