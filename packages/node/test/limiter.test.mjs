import assert from "node:assert/strict";
import test from "node:test";
import { InvalidError, OverLimitError, Paddlegate, PaddlegateError, TestClock } from "../index.mjs";
import { required, unique, withClock } from "./support.mjs";

const start = 1_700_000_000_000_000;
const stores = {
  memory: new Paddlegate("memory://"),
  redis: new Paddlegate(required("PADDLEGATE_TEST_URL"), { timeoutMs: 10_000 }),
};

for (const [store, pg] of Object.entries(stores)) {
  test(`${store}: every verb of every factory`, async () => {
    const pg = withClock(store, new TestClock(start));
    const makers = [
      pg.bucket(unique(), 10, "day", { offset: "PT2H" }),
      pg.window(unique(), 10, 60),
      pg.leaky(unique(), 10, "minute"),
      pg.points(unique(), 10, "PT1M"),
      pg.throttle(unique(), 0.1),
      pg.unlimited(),
      pg.limiter(unique(), { window: [10, 60], throttle: 0.1, unlimited: true }),
    ];
    for (const limiter of makers) {
      const decision = await limiter.tryAcquire({ cost: 1 });
      assert.equal(decision.allowed, true);
      assert.ok(Object.isFrozen(decision));
      assert.equal(decision.permit, null);
      assert.equal((await limiter.peek({ cost: 0 })).remaining, decision.remaining);
      assert.equal(await limiter.allow({ cost: 0 }), true);
      assert.equal(await limiter.reset(), undefined);
      const { remaining, limit } = await limiter.peek({ cost: 0 });
      assert.equal(remaining, limit);
    }
    const paused = await pg.paused(unique()).tryAcquire();
    assert.deepEqual(
      { ...paused },
      {
        status: "refused",
        allowed: false,
        limit: 0,
        remaining: 0,
        retryAfterMs: null,
        resetAfterMs: null,
        reason: "paused",
        wouldRefuse: null,
        label: "paused",
        limiter: null,
        limits: [],
        atUs: 0,
        permit: null,
        leaseMs: null,
        fencingToken: null,
        ticket: null,
        position: null,
        readyAfterMs: null,
        retryAfterUs: null,
        resetAfterUs: null,
        readyAfterUs: null,
        degraded: false,
        isLowered: false,
      },
    );
  });

  test(`${store}: withinLimit passes the permit in and the value out`, async () => {
    const shop = pg.points(unique(), 1000, 1000);
    const value = await shop.withinLimit({ estimate: 200 }, async (permit) => {
      assert.match(permit.id, /^[-.0-9A-Za-z]{32}:\d+:200$/);
      assert.equal(permit.decision.remaining, 800);
      assert.equal(await permit.pointsUsed(50), "settled");
      assert.equal(await permit.pointsUsed(50), "already");
      return 7;
    });
    assert.equal(value, 7);
    assert.ok((await shop.peek({ cost: 0 })).remaining >= 950);

    const plain = pg.window(unique(), 1, 60);
    assert.equal(await plain.withinLimit((permit) => permit.id), null);
  });

  test(`${store}: a body that throws leaves the estimate charged`, async () => {
    const shop = pg.points(unique(), 1000, "day");
    const failing = shop.withinLimit({ estimate: 200 }, () => {
      throw new RangeError("mine");
    });
    await assert.rejects(failing, RangeError);
    assert.equal((await shop.peek({ cost: 0 })).remaining, 800);
  });

  test(`${store}: a permit is settled by its id, by whoever has it`, async () => {
    const name = unique();
    const permit = await pg.points(name, 1000, "day").acquire({ estimate: 200 });
    const other =
      store === "redis"
        ? new Paddlegate(required("PADDLEGATE_TEST_URL"), { timeoutMs: 10_000 })
        : pg;
    const same = other.points(name, 1000, "day");
    assert.equal(await same.correct(permit.id, 1100), "settled");
    assert.equal(await permit.pointsUsed(1), "already");
    // A debt: 100 more than there is.
    const { remaining, retryAfterMs } = await same.peek({ cost: 1 });
    assert.equal(remaining, 0);
    assert.ok(retryAfterMs > 86_400 * 100 * 0.99, `retryAfterMs=${retryAfterMs}`);
    assert.equal(await same.correct("a".repeat(32), 1), "unknown");
  });

  test(`${store}: 64 calls at once take exactly what is there`, async () => {
    const limiter = pg.window(unique(), 50, "day");
    const answers = await Promise.all(Array.from({ length: 64 }, () => limiter.allow()));
    assert.equal(answers.filter(Boolean).length, 50);
    const mixed = pg.points(unique(), 1000, "day");
    const decisions = await Promise.all(
      Array.from({ length: 64 }, (_, i) => mixed.tryAcquire({ estimate: i + 1 })),
    );
    const granted = decisions.filter(({ allowed }) => allowed);
    assert.equal(new Set(granted.map(({ permit }) => permit)).size, granted.length);
    const settled = await Promise.all(granted.map(({ permit }) => mixed.correct(permit, 1)));
    assert.ok(settled.every((settlement) => settlement === "settled"));
    const left = (await mixed.peek({ cost: 0 })).remaining;
    assert.ok(
      Math.abs(left - (1000 - granted.length)) <= 1,
      `left=${left} granted=${granted.length}`,
    );
  });
}

test("without a url the environment names the store, else it is in memory", async (t) => {
  const before = process.env.PADDLEGATE_URL;
  t.after(() => {
    if (before === undefined) delete process.env.PADDLEGATE_URL;
    else process.env.PADDLEGATE_URL = before;
  });
  const name = unique();
  const patient = { timeoutMs: 10_000 };
  process.env.PADDLEGATE_URL = required("PADDLEGATE_TEST_URL");
  assert.equal(await new Paddlegate(undefined, patient).window(name, 1, 60).allow(), true);
  assert.equal(await new Paddlegate(null, patient).window(name, 1, 60).allow(), false);
  for (const empty of ["", undefined]) {
    if (empty === undefined) delete process.env.PADDLEGATE_URL;
    else process.env.PADDLEGATE_URL = empty;
    assert.equal(await new Paddlegate(undefined, patient).window(name, 1, 60).allow(), true);
  }
});

test("limiters of one store and name share what was taken, those of two memory stores do not", async () => {
  const pg = new Paddlegate("memory://");
  assert.equal(await pg.window("a", 1, 60).allow(), true);
  assert.equal(await pg.window("a", 1, 60).allow(), false);
  assert.equal(await new Paddlegate("memory://").window("a", 1, 60).allow(), true);
});

test("what is wrong is refused by the name of the argument", async () => {
  const pg = new Paddlegate("memory://");
  const limiter = pg.points("shop", 1000, 20);
  const cases = {
    url: [
      () => new Paddlegate(5),
      () => new Paddlegate("http://x"),
      () => new Paddlegate("redis://u:pw@:x"),
    ],
    timeoutMs: [0, -1, Number.NaN, "1", 60_001].map(
      (timeoutMs) => () => new Paddlegate("redis://h", { timeoutMs }),
    ),
    timeOut: [() => new Paddlegate("redis://h", { timeOut: 1 })],
    name: [undefined, null, 5, "", "\ud800", "a\udc00b", {}].map(
      (name) => () => pg.window(name, 1, 1),
    ),
    limit: [
      () => pg.window("x"),
      () => pg.window("x", "1", 1),
      ...[undefined, "1", -1, 1.5, 100_001].map((limit) => () => pg.concurrent("x", limit)),
    ],
    interval: [undefined, null, {}, true, [60], "1s"].map(
      (interval) => () => pg.window("x", 1, interval),
    ),
    drain: [() => pg.leaky("x", 1)],
    offset: [-1, "soon", {}].map((offset) => () => pg.bucket("x", 1, 60, { offset })),
    ttl: [0, 0.5, -1, Number.NaN, 320_000_000, "week", {}].map(
      (ttl) => () => pg.window("x", 1, 1, { ttl }),
    ),
    onUnavailable: ["Open", "", 1, {}].flatMap((onUnavailable) => [
      () => pg.window("x", 1, 1, { onUnavailable }),
      () => pg.limitersFromDocument({ limiters: {} }, { onUnavailable }),
    ]),
    localSharePercent: [0, 101, 1.5, "5", Number.NaN]
      .map((localSharePercent) => {
        return () => pg.points("x", 1, 1, { onUnavailable: "local", localSharePercent });
      })
      .concat([
        () => pg.unlimited("x", { localSharePercent: 5 }),
        () => pg.paused("x", { localSharePercent: 5, onUnavailable: "fail_open" }),
      ]),
    onLimit: ["", 5, {}].flatMap((onLimit) => [
      () => pg.window("x", 1, 1, { onLimit }),
      () => limiter.admit("x", { estimate: 1, onLimit }),
    ]),
    lockTimeout: [() => pg.limiter("x", { concurrency: [1, -1] })],
    lockTimeoutMs: [0, -1, Number.NaN, "30", 4e11]
      .map((lockTimeoutMs) => () => pg.concurrent("x", 1, { lockTimeoutMs }))
      .concat([
        () => pg.limiter("x", { window: [1, 1] }, { lockTimeoutMs: 1 }),
        () => pg.window("x", 1, 1, { lockTimeoutMs: 1 }),
      ]),
    claimTimeoutMs: [0, -1, Number.NaN, "1", 4e11]
      .flatMap((claimTimeoutMs) => [
        () => limiter.enqueue("x", { estimate: 1, claimTimeoutMs }),
        () => limiter.claim("x", { estimate: 1, claimTimeoutMs }),
      ])
      .concat(() => limiter.acquire({ estimate: 1, claimTimeoutMs: 1 })),
    id: [null, 5, "", "x".repeat(65), "\ud800", {}].flatMap((id) => [
      () => limiter.enqueue(id, { estimate: 1 }),
      () => limiter.claim(id, { estimate: 1 }),
      () => limiter.cancel(id),
      () => limiter.admit(id, { estimate: 1 }),
      ...(id === null ? [] : [() => limiter.acquire({ estimate: 1, id })]),
      ...(id === null ? [] : [() => limiter.tryAcquire({ estimate: 1, id })]),
      () => limiter.allow({ cost: 1, id: "x" }),
      () => limiter.enqueue("x", { estimate: 1, id: "y" }),
    ]),
    kind: [() => pg.limiter("x", { concurency: [1, 1] }), () => pg.limiter("x", [[Symbol("a")]])],
    limits: [
      () => pg.limiter("x", {}),
      () => pg.limiter("x"),
      () => pg.limiter("x", "window"),
      () => pg.limiter("x", ["window"]),
      () => pg.limiter("x", { window: [1, 2, 3] }),
      () => pg.limiter("x", { paused: false }),
      () => pg.limiter("x", { concurrency: [1, 2, 3] }),
      () =>
        pg.limiter("x", [
          ["concurrency", 1],
          ["concurrency", 2],
        ]),
    ],
    waitTimeoutMs: [-1, Number.NaN, "1", Number.POSITIVE_INFINITY].flatMap((waitTimeoutMs) => [
      () => pg.window("x", 1, 1, { waitTimeoutMs }),
      () => limiter.acquire({ estimate: 1, waitTimeoutMs }),
      () => limiter.enqueue("x", { estimate: 1, waitTimeoutMs }),
      // What never waits has no time to.
      () => limiter.tryAcquire({ estimate: 1, waitTimeoutMs: 5 }),
      () => limiter.tryAcquire({ estimate: 1, id: "x", waitTimeoutMs: 5 }),
      () => limiter.allow({ cost: 1, waitTimeoutMs: 5 }),
      () => limiter.peek({ cost: 1, waitTimeoutMs: 5 }),
      () => limiter.admit("x", { estimate: 1, waitTimeoutMs: 5 }),
    ]),
    allow: [() => pg.concurrent("x", 1).allow(), () => pg.concurrent("x", 1).allow({ cost: 0 })],
    waitTimeout: [() => pg.window("x", 1, 1, { waitTimeout: 1 })],
    options: [3, "x", null]
      .map((options) => () => limiter.tryAcquire(options))
      .concat(() => limiter.acquire(5)),
    costs: [() => limiter.allow({ costs: 1 })],
    signal: [() => limiter.allow({ cost: 1, signal: {} })],
    estimate: [
      () => limiter.allow(),
      () => limiter.acquire(),
      () => limiter.allow({ cost: 1, estimate: 1 }),
    ],
    permit: [null, 5, "", "x".repeat(581)].flatMap((permit) => [
      () => limiter.correct(permit, 1),
      () => limiter.release(permit),
      () => limiter.renew(permit),
    ]),
    actual: [undefined, null, "1", 1.5, -1].map((actual) => () => limiter.correct("x", actual)),
    nowUs: [1.5, -1, "1", null, 2 ** 52 + 1].flatMap((nowUs) => [
      () => new TestClock(nowUs),
      () => Object.assign(new TestClock(), { nowUs }),
    ]),
    span: [-1, Number.NaN, "10s", null, undefined].map((by) => () => new TestClock().advance(by)),
    clock: [5, "now", {}, Date].map((clock) => () => new Paddlegate("memory://", { clock })),
    atUs: [() => limiter.peek({ cost: 1, atUs: 1 }), () => limiter.release("x", { atUs: 1 })],
    fn: [
      () => pg.window("x", 1, 1, () => {}),
      () => pg.window("x", () => {}, 1),
      () => pg.limiter("x", () => {}),
      () => limiter.withinLimit({ estimate: 1 }),
      () => limiter.withinLimit(),
    ],
  };
  for (const [argument, calls] of Object.entries(cases)) {
    for (const call of calls) {
      await assert.rejects(
        async () => call(),
        (error) => {
          assert.ok(
            error instanceof InvalidError && error instanceof PaddlegateError,
            `${call}: ${error.stack}`,
          );
          assert.equal(error.name, "InvalidError");
          assert.equal(error.code, "INVALID");
          assert.equal(error.argument, argument, `${call}: ${error.message}`);
          assert.ok(!error.message.includes("pw"));
          return true;
        },
      );
    }
  }
  assert.equal((await limiter.peek({ cost: 0 })).remaining, 1000);
});

test("what is null is the default", async () => {
  const pg = new Paddlegate("memory://");
  const options = { waitTimeoutMs: null, lockTimeoutMs: null, onLimit: null, ttl: null };
  Object.assign(options, { onUnavailable: null, localSharePercent: null });
  const limiter = pg.concurrent("x", 1, options);
  assert.equal((await limiter.acquire({ waitTimeoutMs: null, id: null })).decision.leaseMs, 30_000);
  const refused = limiter.withinLimit({ waitTimeoutMs: 1 }, assert.fail);
  await assert.rejects(refused, { name: "OverLimitError" });
  const { status } = await limiter.enqueue("a", { waitTimeoutMs: null, claimTimeoutMs: null });
  assert.equal(status, "queued");
  assert.equal(await pg.bucket("x", 5, 60, { offset: null }).allow(), true);
  for (const limits of [{ concurrency: [5, null] }, [["concurrency", 5, null]]]) {
    const lease = async (more) => (await pg.limiter("y", limits, more).tryAcquire()).leaseMs;
    assert.equal(await lease({}), 30_000);
    assert.equal(await lease({ lockTimeoutMs: 5000 }), 5000);
  }
});

test("an option that is none is told which there are", async () => {
  const limiter = new Paddlegate("memory://").window("x", 1, 1);
  const common = "cost, estimate, settleWithinMs, key, signal";
  const queues = `priority, share, weight, ${common}`;
  const waiting = `id, waitTimeoutMs, limits, ${queues}`;
  const ticket = `claimTimeoutMs, waitTimeoutMs, ${queues}`;
  for (const [call, options] of [
    [() => limiter.allow({ identity: "x" }), common],
    [() => limiter.tryAcquire({ identity: "x" }), `id, limits, ${queues}`],
    [() => limiter.tryAcquire({ id: "x", identity: "x" }), `id, limits, ${queues}`],
    [() => limiter.peek({ identity: "x" }), `limits, ${common}`],
    [() => limiter.acquire({ identity: "x" }), waiting],
    [() => limiter.withinLimit({ identity: "x", waitTimeoutMs: 0 }, assert.fail), waiting],
    [() => limiter.enqueue("x", { identity: "x" }), ticket],
    [() => limiter.admit("x", { identity: "x" }), `onLimit, claimTimeoutMs, ${queues}`],
    [() => limiter.claim("x", { identity: "x" }), ticket],
  ]) {
    const message = `is no option here: option=identity; there is ${options}`;
    await assert.rejects(call, { argument: "identity", message });
  }
  for (const call of [
    () => limiter.pause({ forMs: 1, identity: "x" }),
    () => limiter.reportBudget({ identity: "x" }),
    () => limiter.inspect({ identity: "x" }),
    () => new Paddlegate("memory://", { identity: "x" }),
    () => new Paddlegate("memory://").window("x", 1, 1, { identity: "x" }),
  ]) {
    await assert.rejects(async () => call(), { argument: "identity", message: /option=identity;/ });
  }
});

test("options that call another limiter while they are read do no harm", async () => {
  const pg = new Paddlegate("memory://");
  const other = pg.window("other", 9, 60);
  const limiter = pg.points("shop", 10, 60);
  const options = {
    estimate: 3,
    get signal() {
      other.allow({ cost: 5 });
      return undefined;
    },
  };
  assert.equal((await limiter.tryAcquire(options)).remaining, 7);
  assert.equal((await other.peek({ cost: 0 })).remaining, 4);
});

test("calls answer with a rejection, factories throw", async () => {
  const pg = new Paddlegate("memory://");
  assert.throws(() => pg.window("x", 0, 1), InvalidError);
  await assert.rejects(pg.window("x", 1, 1).allow({ cost: -1 }), InvalidError);
});

test("points without an estimate cannot be corrected", async () => {
  const permit = await new Paddlegate("memory://").window("x", 1, 1).acquire();
  assert.equal(permit.id, null);
  await assert.rejects(permit.pointsUsed(1), { name: "InvalidError", argument: "estimate" });
});

test("over the limit says by which limiter, why and until when", async () => {
  const clock = new TestClock(start);
  const pg = new Paddlegate("memory://", { clock });
  const limiter = pg.limiter("both", { window: [5, 60], throttle: 60 });
  await limiter.acquire();
  clock.advance(1e-6);
  await assert.rejects(limiter.acquire(), (error) => {
    assert.ok(error instanceof OverLimitError);
    assert.equal(error.code, "OVER_LIMIT");
    assert.equal(error.limiter, "both");
    assert.equal(error.retryAfterMs, 60_000);
    assert.equal(error.decision.retryAfterUs, 59_999_999);
    assert.equal(error.decision.reason, "throttle");
    assert.equal(error.reason, "throttle");
    assert.equal(error.decision.label, "throttle");
    return true;
  });
});

test("messages name arguments and units as they were written", async () => {
  const pg = new Paddlegate("memory://");
  const limiter = pg.window("x", 1, 1);
  const ms = "must be a number of milliseconds from 0 to ten years";
  for (const [call, message] of [
    [
      () => limiter.acquire({ waitTimeoutMs: Number.POSITIVE_INFINITY }),
      `${ms}: waitTimeoutMs=Infinity`,
    ],
    [() => limiter.acquire({ waitTimeoutMs: -5 }), `${ms}: waitTimeoutMs=-5`],
    [() => limiter.override({ intervalMs: -5 }), `${ms}: intervalMs=-5`],
    [() => pg.concurrent("x", 1, { lockTimeoutMs: -5 }), `${ms}: lockTimeoutMs=-5`],
    [
      () => pg.concurrent("x", 1, { lockTimeoutMs: 0 }),
      "must be from one microsecond to ten years: lockTimeoutMs=0",
    ],
    [
      () => pg.limiter("x", { concurrency: [1, -5] }),
      "must be a number of seconds from 0 to ten years: lockTimeout=-5.0",
    ],
    [() => pg.window("x", 1, 1, { ttl: 0.5 }), "must be from one second to ten years: ttl=0.5"],
    [
      () => new Paddlegate("redis://h", { timeoutMs: 61_000 }),
      "must be from one millisecond to one minute: timeoutMs=61000",
    ],
    [() => limiter.tryAcquire({ id: "x".repeat(65) }), "must have 1 to 64 bytes: bytes=65"],
    [
      () => new TestClock(2 ** 52 + 1),
      "must be at most 2^52 microseconds since 1970: nowUs=4503599627370497",
    ],
    [
      () => new TestClock().advance(-5),
      "must be a number of seconds from 0 to ten years: span=-5.0",
    ],
    [
      () =>
        pg.limitersFromDocument({
          limiters: { a: { window: { limit: 1, per: 1 }, wait_timeout: -5 } },
        }),
      "at $.limiters.a.wait_timeout: must be a number of seconds from 0 to ten years: value=-5",
    ],
  ]) {
    await assert.rejects(async () => call(), { name: "InvalidError", message }, `${call}`);
  }
});

test("times to come back are whole milliseconds, and then the call passes", async () => {
  const clock = new TestClock(start);
  const pg = new Paddlegate("memory://", { clock });
  // Seven units a second are never there at a whole millisecond.
  for (let i = 0; i < 100; i += 1) {
    const limiter = pg.leaky(`whole-${i}`, 1 + (i % 6), 1 / 7);
    const limits = pg.limiter(`both-${i}`, { leaky: [1, 1 / 7], window: [1, 1 / 3] });
    for (const asked of [limiter, limits]) {
      clock.nowUs = start;
      while (await asked.allow());
      clock.nowUs += i;
      const refused = await asked.tryAcquire();
      assert.ok(Number.isInteger(refused.retryAfterMs) && Number.isInteger(refused.resetAfterMs));
      assert.equal(refused.retryAfterMs, Math.ceil(refused.retryAfterUs / 1000));
      clock.advance(refused.retryAfterMs / 1000);
      assert.equal(await asked.allow(), true);
    }
    clock.nowUs = start;
    const queued = await pg.throttle(`queue-${i}`, 1 / 7).enqueue("a");
    assert.equal(queued.allowed, true);
    clock.nowUs += i;
    const second = await pg.throttle(`queue-${i}`, 1 / 7).enqueue("b");
    assert.equal(second.readyAfterMs, Math.ceil(second.readyAfterUs / 1000));
    const third = await pg.throttle(`queue-${i}`, 1 / 7).admit("c");
    assert.ok(Number.isInteger(third.afterMs) && third.afterMs > 0);
  }
});

test("a permit may stand for its id", async () => {
  const pg = new Paddlegate("memory://");
  const limiter = pg.limiter("x", { concurrency: 1, points: [100, "day"] });
  const permit = await limiter.acquire({ estimate: 10 });
  assert.equal(await limiter.renew(permit), 30_000);
  assert.equal(await limiter.correct(permit, 4), "settled");
  assert.equal(await limiter.release(permit), "released");
  const other = await pg.points("y", 100, "day").acquire({ estimate: 10 });
  const synced = await pg.points("y", 100, "day").reportBudget({ remaining: 50, permit: other });
  assert.deepEqual(synced.learned, ["remaining"]);
  const learned = pg.points("y", 100, "day").learnFromResponse({ status: 200 }, { permit: other });
  assert.deepEqual((await learned).ignored, ["not a rate limit answer"]);
  const without = await pg.window("z", 1, 1).acquire();
  const message = "has no id: it was granted without an estimate or a lease";
  await assert.rejects(limiter.release(without), { argument: "permit", message });
});

test("in memory a decision needs no promise", () => {
  const pg = new Paddlegate("memory://");
  const api = pg.window("api", 3, 60);
  assert.deepEqual(
    [api.allowSync(), api.allowSync({ cost: 3 }), api.allowSync({ cost: 2 })],
    [true, false, true],
  );
  assert.equal(api.allowSync(), false);
  const perUser = pg.window("users", 1, 60, { keyed: true });
  assert.deepEqual(
    [{ key: "ada" }, { key: "ada" }, { key: "bob" }, { key: "bob", cost: 0 }].map((it) =>
      perUser.allowSync(it),
    ),
    [true, false, true, true],
  );
  for (const [argument, call] of [
    ["key", () => perUser.allowSync()],
    ["key", () => api.allowSync({ key: "ada" })],
    ["key", () => perUser.allowSync({ key: "\ud800" })],
    ["cost", () => api.allowSync({ cost: -1 })],
    ["what", () => api.allowSync({ what: 1 })],
    ["options", () => api.allowSync(5)],
  ]) {
    assert.throws(call, { name: "InvalidError", argument });
  }
  assert.throws(() => pg.concurrent("jobs", 1).allowSync(), InvalidError);
  const remote = new Paddlegate("redis://localhost:1").window("api", 3, 60);
  assert.throws(() => remote.allowSync(), { name: "InvalidError", argument: "store" });
});
