// The numbers of each limit in a decision that asks for them.
import assert from "node:assert/strict";
import test from "node:test";
import { concurrency, Paddlegate, points, TestClock, window } from "../index.mjs";
import { unique, withClock } from "./support.mjs";

const START = 1_700_000_000_000_000;
const cost = { tpm: 40 };
const more = { cost: { tpm: 70 }, limits: true };

const KINDS = { rpm: "window", tpm: "points", window: "window", workers: "concurrency" };
const row = (label, limit, intervalMs, remaining, retryAfterMs, resetAfterMs) => ({
  limiter: null,
  label,
  kind: KINDS[label],
  limit,
  intervalMs,
  remaining,
  retryAfterMs,
  resetAfterMs,
  retryAfterUs: retryAfterMs * 1000,
  resetAfterUs: resetAfterMs * 1000,
});
const workers = row("workers", 2, 30_000, 1, 0, 30_000);
const rpm = row("rpm", 3, 60_000, 2, 0, 60_000);
const AFTER_ONE = [rpm, row("tpm", 100, 100_000, 60, 0, 40_000), workers];
const REFUSED = [rpm, row("tpm", 100, 100_000, 60, 10_000, 40_000), workers];

for (const store of ["memory", "redis", "cluster"]) {
  const pg = withClock(store, new TestClock(START));
  const policy = { rpm: window(3, 60), tpm: points(100, 100), workers: concurrency(2) };

  test(`a decision has each limit if its call asks, ${store}`, async () => {
    const limiter = pg.limiter(unique(), policy);
    assert.deepEqual((await limiter.tryAcquire({ cost, limits: true })).limits, AFTER_ONE);
    const refused = await limiter.tryAcquire(more);
    assert.equal(refused.label, "tpm");
    assert.deepEqual(refused.limits, REFUSED);
    assert.deepEqual((await limiter.peek(more)).limits, REFUSED);
    assert.deepEqual((await limiter.tryAcquire({ ...more, id: "a" })).limits, REFUSED);
    for (const limits of [false, null, undefined]) {
      assert.deepEqual((await limiter.peek({ ...more, limits })).limits, []);
    }
    assert.ok(Object.isFrozen(refused.limits) && Object.isFrozen(refused.limits[0]));
    await limiter.reset();
  });

  test(`a permit and its error have each limit if the call asks, ${store}`, async () => {
    const limiter = pg.limiter(unique(), policy);
    const { decision } = await limiter.acquire({ cost, limits: true });
    assert.deepEqual(decision.limits, AFTER_ONE);
    for (const waitTimeoutMs of [0, 1000]) {
      const refused = limiter.withinLimit({ ...more, waitTimeoutMs }, () => assert.fail());
      await assert.rejects(refused, (error) => {
        assert.deepEqual(error.decision.limits, REFUSED);
        return error.name === "OverLimitError";
      });
    }
    await limiter.reset();
  });

  test(`calls at once get their own limits, ${store}`, async () => {
    const limiters = Array.from({ length: 20 }, (_, i) => pg.window(unique(), i + 1, 60));
    const decisions = await Promise.all(limiters.map((it) => it.tryAcquire({ limits: true })));
    const left = decisions.map(({ limits }) => limits.map(({ remaining }) => remaining));
    assert.deepEqual(
      left,
      limiters.map((_, i) => [i]),
    );
    await Promise.all(limiters.map((it) => it.reset()));
  });
}

test("several limiters name theirs, and a key has its own", async () => {
  const pg = withClock("redis", new TestClock(START));
  const org = pg.bucket(unique(), 9, "day");
  const perUser = pg.window(unique(), 5, 60, { keyed: true });
  const both = pg.together([org, perUser.withKey("bob")]);
  const { limits } = await both.tryAcquire({ cost: 2, limits: true });
  assert.deepEqual(
    limits.map(({ limiter, label, remaining }) => [limiter, label, remaining]),
    [
      [org.name, "bucket", 7],
      [perUser.name, "window", 3],
    ],
  );
  const { limits: own } = await perUser.tryAcquire({ key: "bob", limits: true });
  assert.deepEqual(own, [row("window", 5, 60_000, 2, 0, 60_000)]);
  await Promise.all([org.reset(), perUser.reset({ key: "bob" })]);
});

test("limits is true or false, and no option of calls without a decision for the caller", async () => {
  const limiter = new Paddlegate("memory://").window("x", 3, 60);
  for (const limits of [1, "yes", []]) {
    await assert.rejects(limiter.tryAcquire({ limits }), { argument: "limits" });
    await assert.rejects(limiter.peek({ limits }), { argument: "limits" });
    await assert.rejects(limiter.acquire({ limits }), { argument: "limits" });
  }
  for (const verb of [
    () => limiter.allow({ limits: true }),
    () => limiter.enqueue("a", { limits: true }),
    () => limiter.admit("a", { limits: true }),
  ]) {
    await assert.rejects(verb, { name: "InvalidError", argument: "limits" });
  }
  assert.equal((await limiter.peek()).remaining, 3, "nothing was taken");
});
