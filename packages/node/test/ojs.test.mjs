// What documents of Open Job Spec do to a limiter that runs, and batches of jobs.
import assert from "node:assert/strict";
import test from "node:test";
import { InvalidError, Paddlegate, TestClock, UnavailableError } from "../index.mjs";
import { required, unique, withClock } from "./support.mjs";

const patient = { timeoutMs: 10_000 };
const stores = {
  memory: new Paddlegate("memory://"),
  redis: new Paddlegate(required("PADDLEGATE_TEST_URL"), patient),
  cluster: new Paddlegate(required("PADDLEGATE_TEST_CLUSTER_URL"), patient),
};
/** One hour after the Unix epoch. */
const start = 3_600_000_000;
const until = "1970-01-01T01:00:20Z";

for (const [store, pg] of Object.entries(stores)) {
  test(`${store}: a signal pauses`, async () => {
    const clocked = withClock(store, new TestClock(start));
    for (const [failure, ms] of [
      [{ error: { type: "rate_limited", retry_after: 30 } }, 30_000],
      [{ type: "RateLimitExceeded", rate_limit_until: until }, 20_000],
      [{ type: "rate_limited", retry_after: 7.5, rate_limit_until: until }, 20_000],
      [{ type: "rate_limited", retry_after: 50, rate_limit_until: until }, 50_000],
      [{ type: "rate_limited" }, 30_000],
      ['{"type": "rate_limited", "retry_after": 0.5}', 500],
    ]) {
      const limiter = clocked.window(unique(), 5, 60);
      assert.equal(await limiter.applyOjsSignal(failure), true);
      const { reason, retryAfterMs } = await limiter.tryAcquire();
      assert.deepEqual([reason, retryAfterMs], ["paused", ms]);
      assert.equal(await limiter.applyOjsSignal({ type: "rate_limited", retry_after: 0.1 }), true);
      assert.equal((await limiter.runtimeState()).pausedForMs, ms);
    }
    const limiter = pg.window(unique(), 5, 60);
    for (const failure of [{}, { type: "Timeout", retry_after: 30 }, []]) {
      assert.equal(await limiter.applyOjsSignal(failure), false);
    }
    for (const failure of ["{", 5, { type: "rate_limited", retry_after: -1 }]) {
      await assert.rejects(limiter.applyOjsSignal(failure), { argument: "document" });
    }
    assert.equal((await limiter.runtimeState()).version, 0);
  });

  test(`${store}: an override is merged`, async () => {
    const clock = new TestClock(start);
    const limits = { concurrency: 0, window: [100, 60], throttle: 1 };
    const limiter = withClock(store, clock).limiter(unique(), limits);
    const told = async (document) => {
      const runtimeState = await limiter.applyOjsOverride(document);
      const { concurrency, window, throttle } = runtimeState.overrides;
      const overrides = [concurrency, window, throttle].map((it) =>
        it ? [it.limit, it.intervalMs] : null,
      );
      return [overrides, runtimeState.expiresInMs];
    };
    const one = [1, 30_000];
    assert.deepEqual(await told({ concurrency: 1 }), [[one, null, null], null]);
    const ends = { limit: 5, period: "10s", expires_at: until };
    const rate = [5, 10_000];
    assert.deepEqual(await told(JSON.stringify(ends)), [[one, rate, null], 20_000]);
    const more = { throttle: { interval: "PT2S" }, concurrency: null };
    const spaced = [1, 2_000];
    clock.advance(5);
    assert.deepEqual(await told(more), [[null, rate, spaced], 15_000]);
    clock.nowUs = start;
    assert.deepEqual(await told({ expires_at: null }), [[null, rate, spaced], null]);
    const none = [null, null, null];
    assert.deepEqual(await told({ rate: null, throttle: null }), [none, null]);
    const clocked = { concurrency: 2, expires_at: "2110-01-01T00:00:00Z" };
    const runtimeState = await limiter.applyOjsOverride(clocked);
    assert.ok(Object.isFrozen(runtimeState) && runtimeState.expiresInMs > 1e12);
  });

  test(`${store}: an override that is wrong changes nothing`, async () => {
    const limiter = pg.limiter(unique(), { concurrency: 2, window: [100, 60] });
    for (const document of [
      "{",
      5,
      {},
      { limits: 5 },
      { concurrency: -1 },
      { throttle: { interval: "PT0S" } },
      { expires_at: "2110-01-01T00:00:00Z" },
      { rate: { limit: 9, period: "PT1M" }, expires_at: "2001-01-01T00:00:00Z" },
    ]) {
      await assert.rejects(
        limiter.applyOjsOverride(document),
        (error) => error instanceof InvalidError && error.argument === "document",
      );
    }
    assert.equal((await limiter.runtimeState()).version, 0);
    await assert.rejects(limiter.applyOjsOverride({ concurrency: 1 }, { expiresAt: 5 }), {
      argument: "expiresAt",
    });
  });

  test(`${store}: of five jobs three run or none`, async () => {
    const limiter = pg.limiter(unique(), { window: [3, 60], concurrency: 9 });
    const jobs = ["a", "b", "c", "d", "e"];
    const actions = async (ids, options) =>
      (await limiter.admitAll(ids, options)).map(({ action }) => action);
    assert.deepEqual(await actions(jobs), Array(5).fill("wait"));
    const { leases, tickets } = await limiter.stats();
    assert.deepEqual([leases, tickets, (await limiter.peek()).remaining], [0, 0, 3]);
    assert.deepEqual(await actions([]), []);
    const run = ["run", "run", "run"];
    const partial = { partial: true, onLimit: "drop" };
    assert.deepEqual(await actions(jobs, partial), [...run, "drop", "drop"]);
    await limiter.reset();
    const all = await limiter.admitAll(jobs.slice(0, 3), { onLimit: "raise" });
    assert.equal(new Set(all.map(({ permit }) => permit.id)).size, 3);
    assert.ok(all.every(({ action, permit }) => action === "run" && permit.expiresInMs > 20_000));
    assert.equal(await all[0].permit.release(), "released");
    assert.deepEqual(await actions(["x"], { onLimit: "raise" }), ["refuse"]);
  });

  test(`${store}: a hundred jobs, which are more than one exchange`, async () => {
    const limiter = pg.concurrent(unique(), 99);
    const jobs = Array.from({ length: 100 }, (_, index) => `job${index}`);
    const none = await limiter.admitAll(jobs, { onLimit: "drop" });
    assert.ok(none.length === 100 && none.every(({ action }) => action === "drop"));
    assert.equal((await limiter.stats()).leases, 0);
    const all = await limiter.admitAll(jobs.slice(1));
    assert.ok(all.every(({ action }) => action === "run"));
    assert.equal((await limiter.stats()).leases, 99);
  });
}

test("what is wrong with a batch is named and asks about none", async () => {
  const limiter = stores.redis.concurrent(unique(), 5);
  for (const [argument, ...given] of [
    ["jobs", "abc"],
    ["jobs", undefined],
    ["jobs", ["a", 5]],
    ["id", ["a", ""]],
    ["onLimit", ["a"], { onLimit: "Drop" }],
    ["onLimit", ["a"], { onLimit: 5 }],
    ["partial", ["a"], { partial: 1 }],
    ["atUs", ["a"], { atUs: 5 }],
  ]) {
    await assert.rejects(
      limiter.admitAll(...given),
      (error) => error instanceof InvalidError && error.argument === argument,
      argument,
    );
  }
  assert.equal((await limiter.stats()).leases, 0);
});

test("a batch that is aborted goes on to its end: all or none", async () => {
  const limiter = stores.redis.concurrent(unique(), 40);
  const jobs = Array.from({ length: 30 }, (_, index) => `job${index}`);
  const controller = new AbortController();
  const aborted = limiter.admitAll(jobs, { signal: controller.signal });
  setTimeout(() => controller.abort("enough"), 1);
  await aborted.catch(() => {});
  const leases = async () => (await limiter.stats()).leases;
  while ((await leases()) < 30) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(await leases(), 30);
});

test("a store that is away", async () => {
  const away = new Paddlegate("redis://127.0.0.1:1");
  const limiter = away.window(unique(), 5, 60);
  await assert.rejects(limiter.admitAll(["a", "b"]), UnavailableError);
  await assert.rejects(limiter.applyOjsSignal({ type: "rate_limited" }), UnavailableError);
  await assert.rejects(limiter.applyOjsOverride({ limit: 1, period: "1s" }), UnavailableError);
  const open = away.window(unique(), 5, 60, { onUnavailable: "fail_open" });
  const all = await open.admitAll(["a", "b"]);
  assert.deepEqual(
    all.map(({ action, decision }) => [action, decision.degraded]),
    Array(2).fill(["run", true]),
  );
});
