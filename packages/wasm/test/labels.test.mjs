// Limits with labels: several of one kind, overrides by label, and one state for each name.
import assert from "node:assert/strict";
import test from "node:test";
import {
  bucket,
  concurrency,
  leaky,
  Paddlegate,
  points,
  TestClock,
  throttle,
  window,
} from "paddlegate-wasm";

const frozen = () => new Paddlegate("memory://", { clock: new TestClock(60_000_000) });
const invalid = (argument) => ({ name: "InvalidError", argument });

test("two windows: the decision names the one that refuses", () => {
  const limits = { rps: window(2, "second"), "per-minute": window(3, "minute"), concurrency: 20 };
  const clock = new TestClock();
  const limiter = new Paddlegate("memory://", { clock }).limiter("api", limits);
  const labels = [1, 2, 3].map(() => limiter.tryAcquire().label);
  assert.deepEqual(labels, ["rps", "rps", "rps"]);
  clock.advance(1);
  assert.equal(limiter.tryAcquire().allowed, true);
  const { label, reason, limit } = limiter.tryAcquire();
  assert.deepEqual([label, reason, limit], ["per-minute", "window", 3]);
  limiter.pause({ forMs: 60_000 });
  assert.equal(limiter.tryAcquire().label, null, "a pause has no label");
});

test("values are the limits of the list form, and have the arguments of the limiters", () => {
  const values = {
    a: bucket(5, "day", { offset: "PT2H" }),
    b: window(5, 60),
    c: leaky(5, 60),
    d: points(5, 60),
    e: throttle(0.1),
    f: throttle(1, { limit: 3 }),
    g: concurrency(5, { lockTimeoutMs: 10_000 }),
  };
  assert.deepEqual(values, {
    a: ["bucket", 5, "day", "PT2H"],
    b: ["window", 5, 60],
    c: ["leaky", 5, 60],
    d: ["points", 5, 60],
    e: ["throttle", 1, 0.1],
    f: ["throttle", 3, 1],
    g: ["concurrency", 5, 10],
  });
  for (const value of Object.values(values)) assert.ok(Object.isFrozen(value));
  const pg = frozen();
  pg.limiter("all", values).tryAcquire({ estimate: 1 });
  const [{ limits }] = pg.limiters();
  assert.deepEqual(
    limits.map(({ label, kind }) => [label, kind]),
    Object.entries(values).map(([label, [kind]]) => [label, kind]),
  );
  assert.deepEqual(limits[0], {
    label: "a",
    kind: "bucket",
    amount: 5,
    interval: 86_400,
    offset: 7200,
  });
  assert.equal(pg.limiter("list", [window(1, 60), throttle(60)]).tryAcquire().label, "window");
});

test("an override is of a label, which is optional for the only limit", () => {
  const pg = frozen();
  const limiter = pg.limiter("api", { rpm: window(5, 60), rph: window(50, 3600) });
  assert.deepEqual(limiter.override({ label: "rph", limit: 1 }).overrides, {
    rph: { kind: "window", limit: 1, intervalMs: 3_600_000 },
  });
  assert.equal(limiter.peek().label, "rph");
  assert.deepEqual(limiter.restore({ label: "rpm" }).overrides.rph.limit, 1);
  assert.deepEqual(limiter.restore({ label: "rph" }).overrides, {});
  assert.deepEqual(limiter.reportBudget({ label: "rpm", remaining: 2 }).learned, [
    "remaining[rpm]",
  ]);
  for (const label of [undefined, null, "window", "day", "Rpm", 0]) {
    assert.throws(() => limiter.override({ label, limit: 1 }), invalid("label"));
    assert.throws(() => limiter.reportBudget({ label, remaining: 1 }), invalid("label"));
  }
  assert.equal(pg.window("one", 5, 60).override({ limit: 2 }).overrides.window.limit, 2);
});

test("an override may be of labels that the policy does not have", () => {
  const clock = new TestClock(60_000_000);
  const pg = new Paddlegate("memory://", { clock });
  const limiter = pg.limiter("api", { rpm: window(5, 60) });
  const limits = { rpm: window(4, 60), tpm: points(10, 60), concurrency: 3 };
  assert.deepEqual(limiter.override({ limits, expiresInMs: 5000 }), {
    version: limiter.runtimeState().version,
    inUse: false,
    pausedForMs: null,
    blockedForMs: null,
    mode: null,
    overrides: {
      concurrency: { kind: "concurrency", limit: 3, intervalMs: 30_000 },
      rpm: { kind: "window", limit: 4, intervalMs: 60_000 },
      tpm: { kind: "points", limit: 10, intervalMs: 60_000 },
    },
    expiresInMs: 5000,
    learned: {},
  });
  assert.equal(limiter.peek().limit, 4);
  const other = pg.limiter("api", { tpm: points(1000, 60) });
  assert.equal(other.peek({ estimate: 1 }).limit, 10);
  assert.deepEqual(Object.keys(limiter.restore({ label: "tpm" }).overrides), [
    "concurrency",
    "rpm",
  ]);
  clock.advance(5);
  assert.deepEqual(limiter.runtimeState().overrides, {});
  assert.deepEqual(limiter.override({ limits: [window(2, 60)] }).overrides.window.limit, 2);
});

test("all policies of a name share what they have in common", () => {
  const pg = frozen();
  const one = pg.limiter("jobs", { rpm: window(2, 60), concurrency: 1 });
  const other = pg.limiter("jobs", { concurrency: 1, throttle: 60 });
  assert.equal(one.tryAcquire().allowed, true);
  assert.equal(other.tryAcquire().label, "concurrency");
  assert.equal(pg.limiter("jobs", { rpm: window(2, 60) }).peek().remaining, 1);
  assert.equal(pg.limiter("jobs", { rph: window(2, 60) }).peek().remaining, 2);
  other.pause({ forMs: 60_000 });
  assert.equal(one.peek().reason, "paused");
  pg.unlimited("jobs").resume();
  assert.equal(one.peek().reason, "concurrency");
});

test("mistakes about labels are named", () => {
  const pg = frozen();
  const limiter = pg.limiter("x", { rpm: window(5, 60) });
  const cases = {
    label: ["Rpm", "per minute", "x".repeat(33), "", "ä"].map(
      (label) => () => pg.limiter("x", { [label]: window(5, 60) }),
    ),
    kind: [() => pg.limiter("x", { rpm: [5, 60] }), () => pg.limiter("x", { rpm: 5 })],
    limits: [
      () => pg.limiter("x", [window(5, 60), window(50, 3600)]),
      () => pg.limiter("x", { a: concurrency(1), b: concurrency(2) }),
      () => limiter.override({ limits: { rpm: window(4, 60) }, limit: 5 }),
      () => limiter.override({ limits: { rpm: window(4, 60) }, label: "rpm" }),
      () => limiter.override({ limits: 5 }),
      () => limiter.override({ limits: {} }),
      () => limiter.override({ limits: { rpm: bucket(5, 60) } }),
    ],
    options: [() => throttle(1, 3), () => bucket(1, 1, 1), () => concurrency(1, 1)],
    interval: [() => pg.limiter("x", { a: window(1, -1) })],
    lockTimeout: [() => pg.limiter("x", { a: concurrency(1, { lockTimeoutMs: "1" }) })],
    index: [() => limiter.override({ index: 0, limit: 1 }), () => limiter.restore({ index: 0 })],
  };
  for (const [argument, calls] of Object.entries(cases)) {
    for (const call of calls) assert.throws(call, invalid(argument), `${argument}: ${call}`);
  }
  assert.deepEqual(limiter.runtimeState().overrides, {});
});
