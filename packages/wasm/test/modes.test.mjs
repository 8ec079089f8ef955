// Limiters that refuse nobody, and blocks.
import assert from "node:assert/strict";
import test from "node:test";
import { Paddlegate, TestClock } from "paddlegate-wasm";

const invalid = (argument) => ({ name: "InvalidError", code: "INVALID", argument });

test("a limiter in shadow refuses nobody and counts", async () => {
  const api = new Paddlegate().window("api", 2, 60, { mode: "shadow" });
  assert.equal(api.tryAcquire({ cost: 2 }).wouldRefuse, null);
  const passed = api.tryAcquire();
  assert.deepEqual([passed.allowed, passed.reason, passed.wouldRefuse], [true, null, "window"]);
  assert.ok(passed.retryAfterMs > 50_000);
  assert.equal(api.allow(), true);
  assert.equal(await api.withinLimit(() => "ran"), "ran");
  const { granted, refused, shadowRefused } = api.stats();
  assert.deepEqual([granted, refused, shadowRefused], [1, 0, 3]);
});

test("permits of shadow are extended and settled without effect", async () => {
  const shop = new Paddlegate().points("shop", 10, 60, { mode: "shadow" });
  await shop.acquire({ estimate: 10 });
  const passed = await shop.acquire({ estimate: 10 });
  assert.equal(passed.decision.wouldRefuse, "points");
  assert.deepEqual([passed.extend(5).allowed, passed.correct(1)], [true, "settled"]);
  assert.equal(shop.peek({ cost: 0 }).remaining, 0);
});

test("an operator changes the mode, for a time and back", () => {
  const clock = new TestClock(1_700_000_000_000_000);
  const api = new Paddlegate("memory://", { clock }).window("api", 1, 600);
  api.allow();
  const state = api.override({ mode: "shadow", expiresInMs: 10_000 });
  assert.deepEqual([state.mode, state.expiresInMs, state.overrides], ["shadow", 10_000, {}]);
  assert.equal(api.tryAcquire().wouldRefuse, "window");
  clock.advance(11);
  assert.equal(api.allow(), false);
  api.override({ mode: "shadow" });
  api.override({ limit: 1 });
  const { mode, overrides } = api.restore({ mode: true });
  assert.deepEqual([mode, overrides.window.limit], [null, 1]);
  api.override({ mode: "shadow" });
  assert.equal(api.restore().mode, null);
});

test("a key is blocked, and no other, until it is resumed", () => {
  const login = new Paddlegate().window("login", 5, 60, { keyed: true });
  const key = "203.0.113.7";
  const state = login.block({ forMs: 3_600_000, key });
  assert.deepEqual([state.blockedForMs, state.pausedForMs], [3_600_000, null]);
  const refused = login.tryAcquire({ key });
  assert.deepEqual([refused.allowed, refused.reason], [false, "blocked"]);
  assert.equal(login.allow({ key: "203.0.113.8" }), true);
  assert.equal(login.resume({ key }).blockedForMs, null);
  assert.equal(login.allow({ key }), true);
  assert.ok(login.block({ until: new Date(Date.now() + 60_000), key }).blockedForMs > 0);
});

test("refusals lead to a block, until its time has passed", () => {
  const clock = new TestClock(1_700_000_000_000_000);
  const blockAfter = { refusals: 3, withinMs: 10_000, forMs: 60_000 };
  const api = new Paddlegate("memory://", { clock }).window("api", 1, 1, { blockAfter });
  const reasons = Array.from({ length: 5 }, () => api.tryAcquire().reason);
  assert.deepEqual(reasons, [null, "window", "window", "window", "blocked"]);
  assert.equal(api.runtimeState().blockedForMs, 60_000);
  clock.advance(60);
  assert.equal(api.allow(), true);
});

test("wrong modes and blocks are errors that name their argument", () => {
  const pg = new Paddlegate();
  for (const mode of ["loud", "", 1, {}]) {
    assert.throws(() => pg.window("wrong", 1, 1, { mode }), invalid("mode"));
  }
  const rule = { refusals: 1, withinMs: 1000, forMs: 1000 };
  for (const blockAfter of [
    [100, 60, 3600],
    100,
    {},
    { ...rule, refusals: 0 },
    { ...rule, refusals: 1.5 },
    { ...rule, withinMs: 999 },
    { ...rule, withinMs: Number.NaN },
    { ...rule, forMs: 8 * 86_400_000 },
    { ...rule, forMs: -1 },
    { ...rule, forMs: "1000" },
    { ...rule, lasts: 1 },
  ]) {
    const make = () => pg.window("wrong", 1, 1, { blockAfter });
    assert.throws(make, invalid("blockAfter"), JSON.stringify(blockAfter));
  }
  const api = pg.window("api", 1, 60);
  for (const [argument, ordered] of [
    ["mode", () => api.override({ mode: "loud" })],
    ["mode", () => api.override({ mode: "shadow", limit: 5 })],
    ["mode", () => api.override({ mode: "shadow", limits: [["window", 5, 60]] })],
    ["mode", () => api.restore({ mode: "shadow" })],
    ["mode", () => api.restore({ mode: true, label: "window" })],
    ["forMs", () => api.block()],
    ["forMs", () => api.block({ forMs: 0 })],
    ["forMs", () => api.block({ forMs: "5" })],
    ["until", () => api.block({ forMs: 5, until: new Date() })],
    ["expiresInMs", () => api.override({ mode: "shadow", expiresInMs: 0 })],
    ["mode", () => pg.together([api], { mode: "shadow" })],
  ]) {
    assert.throws(ordered, invalid(argument), `${ordered}`);
  }
  const { version, mode, blockedForMs } = api.runtimeState();
  assert.deepEqual([version, mode, blockedForMs], [0, null, null]);
});

test("the list has the mode", () => {
  const pg = new Paddlegate();
  pg.window("a", 1, 60, { mode: "shadow", keyed: true }).allow({ key: "a" });
  pg.window("b", 1, 60, { mode: "shadow" }).allow();
  pg.window("c", 1, 60).allow();
  const modes = pg.limiters().map(({ keyed, mode }) => [keyed, mode]);
  assert.deepEqual(modes, [
    [true, "shadow"],
    [false, "shadow"],
    [false, "enforce"],
  ]);
});
