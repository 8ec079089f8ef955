// What the vectors cannot say: the clock of the host, frozen answers, JavaScript's own mistakes.
import assert from "node:assert/strict";
import test from "node:test";
import * as paddlegate from "paddlegate-wasm";

const { InvalidError, Paddlegate, PaddlegateError } = paddlegate;
const invalid = (argument) => ({ name: "InvalidError", code: "INVALID", argument });

test("without atUs the clock of the host counts", () => {
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
  const limiter = new Paddlegate().leaky("promise", 1, 0.001);
  assert.equal(limiter.allow({ atUs: 1_000_000 }), true);
  assert.equal(limiter.allow({ atUs: 1_000_999 }), false);
  const { retryAfterMs, retryAfterUs } = limiter.tryAcquire({ atUs: 1_000_400 });
  assert.deepEqual([retryAfterMs, retryAfterUs], [1, 600]);
  assert.equal(limiter.allow({ atUs: 1_001_000 }), true);
});

test("a decision is plain, frozen and complete", () => {
  const decision = new Paddlegate().window("frozen", 3, "second").tryAcquire({ cost: 2, atUs: 5 });
  assert.deepEqual(decision, {
    status: "granted",
    allowed: true,
    limit: 3,
    remaining: 1,
    retryAfterMs: 0,
    resetAfterMs: 1000,
    reason: null,
    index: 0,
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
    degraded: false,
  });
  assert.ok(Object.isFrozen(decision));
});

test("limiters of one name share their state, stores do not", () => {
  const [one, other] = [new Paddlegate(), new Paddlegate("memory://")];
  assert.equal(one.throttle("shared", 1).allow({ atUs: 1 }), true);
  assert.equal(one.throttle("shared", 1).allow({ atUs: 1 }), false);
  assert.equal(other.throttle("shared", 1).allow({ atUs: 1 }), true);
});

test("reset forgets, also before the first call and by another limiter of the name", () => {
  const pg = new Paddlegate();
  const limiter = pg.bucket("reset", 1, "day", { offset: "PT2H" });
  limiter.reset();
  assert.equal(limiter.allow({ atUs: 1 }), true);
  pg.bucket("reset", 1, "day").reset();
  assert.equal(limiter.allow({ atUs: 1 }), true);
});

test("limits by name and as a list are the same policy, in the order written", () => {
  const pg = new Paddlegate();
  const limits = { window: [100, "PT1M"], throttle: 0.1, unlimited: true };
  assert.equal(pg.limiter("both", limits).allow({ atUs: 1 }), true);
  const list = [["window", 100, 60], ["throttle", 0.1], ["unlimited"]];
  const { allowed, reason, index } = pg.limiter("both", list).tryAcquire({ atUs: 1 });
  assert.deepEqual({ allowed, reason, index }, { allowed: false, reason: "throttle", index: 1 });
  assert.equal(pg.limiter("both", { paused: true }).peek().reason, "paused");
});

test("twenty thousand names, of which the idle ones are forgotten", () => {
  const pg = new Paddlegate();
  for (let i = 0; i < 20_000; i++) {
    assert.ok(pg.leaky(`visitor-${i}`, 1, 1).allow({ atUs: 1_000_000 + i * 1000 }));
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
      () => limiter.correct("id", 1, 5),
      () => pg.bucket("mistakes", 1, 1, 2),
    ],
    limits: [
      () => pg.limiter("mistakes"),
      () => pg.limiter("mistakes", "window"),
      () => pg.limiter("mistakes", ["window", 100, 60]),
      () => pg.limiter("mistakes", [["window", 100, 60, 1]]),
      () => pg.limiter("mistakes", { throttle: [1, 2] }),
      () => pg.limiter("mistakes", { paused: 1 }),
    ],
    name: [
      () => pg.leaky(undefined, 1, 1),
      () => pg.leaky(Symbol("name"), 1, 1),
      () => pg.leaky("lone \ud800 surrogate", 1, 1),
    ],
    cost: [() => limiter.allow({ cost: 1n }), () => limiter.allow({ cost: new Number(1) })],
    atUs: [() => limiter.allow({ atUs: -1 }), () => limiter.allow({ atUs: "1" })],
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
  for (const [name, Kind] of kinds) {
    const error = new Kind("message");
    assert.ok(error instanceof PaddlegateError && error instanceof Error);
    assert.equal(error.name, name);
  }
  assert.equal(new InvalidError("message").message, "message");
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
  ]) {
    assert.throws(call, { name: "InvalidError", message }, `${call}`);
  }
});

test("times to come back are whole milliseconds, and then the call passes", () => {
  const atUs = 1_700_000_000_000_000;
  for (let i = 0; i < 100; i += 1) {
    const limiter = new Paddlegate().leaky("whole", 1 + (i % 6), 1 / 7);
    while (limiter.allow({ atUs }));
    const { retryAfterMs, retryAfterUs } = limiter.tryAcquire({ atUs: atUs + i });
    assert.equal(retryAfterMs, Math.ceil(retryAfterUs / 1000));
    assert.equal(limiter.allow({ atUs: atUs + i + retryAfterMs * 1000 }), true);
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
