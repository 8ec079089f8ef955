// Limiters that refuse nobody, and blocks.
import assert from "node:assert/strict";
import test from "node:test";
import { Paddlegate, TestClock } from "../index.mjs";
import { required, unique, withClock } from "./support.mjs";

const patient = { timeoutMs: 10_000 };
const stores = {
  memory: new Paddlegate("memory://"),
  redis: new Paddlegate(required("PADDLEGATE_TEST_URL"), patient),
  cluster: new Paddlegate(required("PADDLEGATE_TEST_CLUSTER_URL"), patient),
};
const wrong = (argument) => ({ name: "InvalidError", argument });

for (const [store, pg] of Object.entries(stores)) {
  test(`${store}: a limiter in shadow refuses nobody and counts`, async () => {
    const api = pg.window(unique(), 2, 60, { mode: "shadow" });
    const granted = await api.tryAcquire({ cost: 2 });
    assert.deepEqual([granted.wouldRefuse, granted.retryAfterMs], [null, 0]);
    const passed = await api.tryAcquire();
    assert.deepEqual([passed.allowed, passed.reason, passed.wouldRefuse], [true, null, "window"]);
    assert.ok(passed.retryAfterMs > 50_000);
    assert.equal(await api.allow(), true);
    assert.equal((await api.peek()).wouldRefuse, "window");
    assert.equal(await api.withinLimit(() => "ran"), "ran");
    assert.equal((await api.admit("job", { onLimit: "drop" })).action, "run");
    const { granted: count, refused, shadowRefused } = await api.stats();
    assert.deepEqual([count, refused, shadowRefused], [1, 0, 4]);
  });

  test(`${store}: the list has the mode`, async () => {
    const name = unique();
    for (const mode of ["enforce", "shadow"]) {
      await pg.window(name + mode, 1, 60, { mode, keyed: true }).allow({ key: "a" });
      await pg.window(`${name}${mode}-one`, 1, 60, { mode }).allow();
    }
    const modes = (await pg.limiters({ prefix: name })).map(({ keyed, mode }) => [keyed, mode]);
    const expected = ["enforce", "shadow"].flatMap((mode) => [
      [true, mode],
      [false, mode],
    ]);
    assert.deepEqual(modes, expected);
  });

  test(`${store}: permits of shadow are settled without effect`, async () => {
    const workers = pg.limiter(unique(), { concurrency: 1, points: [10, 60] }, { mode: "shadow" });
    const asked = { estimate: { points: 10 } };
    const held = await workers.acquire(asked);
    const passed = await workers.acquire(asked);
    assert.notEqual(passed.decision.wouldRefuse, null);
    assert.equal((await passed.extend({ points: 5 })).allowed, true);
    assert.deepEqual(
      [await passed.correct({ points: 1 }), await held.release()],
      ["settled", "released"],
    );
    await passed.release();
    assert.equal(passed.lost, false);
    assert.equal((await workers.peek({ cost: { points: 0 } })).remaining, 0);
  });

  test(`${store}: an operator changes the mode, for a time and back`, async () => {
    const clock = new TestClock(1_700_000_000_000_000);
    const api = withClock(store, clock).window(unique(), 1, 600);
    await api.tryAcquire();
    const state = await api.override({ mode: "shadow", expiresInMs: 10_000 });
    assert.deepEqual([state.mode, state.expiresInMs, state.overrides], ["shadow", 10_000, {}]);
    assert.equal((await api.tryAcquire()).wouldRefuse, "window");
    clock.advance(11);
    assert.equal((await api.tryAcquire()).allowed, false);
    await api.override({ mode: "shadow" });
    await api.override({ limit: 1 });
    const { mode, overrides } = await api.restore({ mode: true });
    assert.deepEqual([mode, overrides.window.limit], [null, 1]);
    assert.equal((await api.tryAcquire()).allowed, false);
    await api.override({ mode: "shadow" });
    assert.equal((await api.restore()).mode, null);
    const enforced = withClock(store, clock).window(api.name, 1, 600, { mode: "shadow" });
    await api.override({ mode: "enforce" });
    assert.equal((await enforced.tryAcquire()).allowed, store === "memory");
  });

  test(`${store}: a key is blocked, and no other, until it is resumed`, async () => {
    const login = pg.window(unique(), 5, 60, { keyed: true });
    const key = "203.0.113.7";
    const state = await login.block({ forMs: 3_600_000, key });
    assert.deepEqual([state.blockedForMs, state.pausedForMs], [3_600_000, null]);
    const refused = await login.tryAcquire({ key });
    assert.deepEqual([refused.allowed, refused.reason], [false, "blocked"]);
    assert.ok(refused.retryAfterMs > 3_500_000);
    assert.equal(await login.allow({ key: "203.0.113.8" }), true);
    assert.equal((await login.withKey(key).runtimeState()).blockedForMs > 0, true);
    assert.equal((await login.resume({ key })).blockedForMs, null);
    assert.equal(await login.allow({ key }), true);
    const until = new Date(Date.now() + 60_000);
    assert.ok((await login.block({ until, key })).blockedForMs > 0);
  });

  test(`${store}: refusals lead to a block, until its time has passed`, async () => {
    const clock = new TestClock(1_700_000_000_000_000);
    const blockAfter = { refusals: 3, withinMs: 10_000, forMs: 60_000 };
    const api = withClock(store, clock).window(unique(), 1, 1, { blockAfter });
    const reasons = [];
    for (let i = 0; i < 5; i += 1) reasons.push((await api.tryAcquire()).reason);
    assert.deepEqual(reasons, [null, "window", "window", "window", "blocked"]);
    assert.equal((await api.runtimeState()).blockedForMs, 60_000);
    clock.advance(60);
    assert.equal(await api.allow(), true);
  });

  test(`${store}: wrong modes and blocks are errors that name their argument`, async () => {
    for (const mode of ["loud", "", 1, {}]) {
      assert.throws(() => pg.window("wrong", 1, 1, { mode }), wrong("mode"));
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
      assert.throws(make, wrong("blockAfter"), JSON.stringify(blockAfter));
    }
    const api = pg.window(unique(), 1, 60);
    for (const [argument, ordered] of [
      ["mode", () => api.override({ mode: "loud" })],
      ["mode", () => api.override({ mode: "shadow", limit: 5 })],
      ["mode", () => api.override({ mode: "shadow", limits: [["window", 5, 60]] })],
      ["mode", () => api.restore({ mode: "shadow" })],
      ["mode", () => api.restore({ mode: true, label: "window" })],
      ["forMs", () => api.block({})],
      ["forMs", () => api.block({ forMs: 0 })],
      ["forMs", () => api.block({ forMs: "5" })],
      ["until", () => api.block({ forMs: 5, until: new Date() })],
      ["expiresInMs", () => api.override({ mode: "shadow", expiresInMs: 0 })],
    ]) {
      await assert.rejects(async () => ordered(), wrong(argument), `${ordered}`);
    }
    const { version, mode, blockedForMs } = await api.runtimeState();
    assert.deepEqual([version, mode, blockedForMs], [0, null, null]);
    const one = { mode: "shadow" };
    assert.throws(() => pg.together([api], one), wrong("mode"));
  });
}
