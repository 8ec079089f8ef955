// The numbers of each limit in a decision that asks for them.
import assert from "node:assert/strict";
import test from "node:test";
import { concurrency, Paddlegate, points, TestClock, window } from "paddlegate-wasm";
import * as full from "paddlegate-wasm/full";

const KINDS = { rpm: "window", tpm: "points", workers: "concurrency" };
const row = (label, limit, intervalMs, remaining, retryAfterMs, resetAfterMs, limiter = null) => ({
  limiter,
  label,
  kind: KINDS[label] ?? label,
  limit,
  intervalMs,
  remaining,
  retryAfterMs,
  resetAfterMs,
  retryAfterUs: retryAfterMs * 1000,
  resetAfterUs: resetAfterMs * 1000,
});

test("a decision has each limit if its call asks", () => {
  const pg = new Paddlegate("memory://", { clock: new TestClock(1_700_000_000_000_000) });
  const policy = { rpm: window(3, 60), tpm: points(100, 100), workers: concurrency(2) };
  const limiter = pg.limiter("model", policy);
  const workers = row("workers", 2, 30_000, 1, 0, 30_000);
  const rpm = row("rpm", 3, 60_000, 2, 0, 60_000);
  const granted = limiter.tryAcquire({ cost: { tpm: 40 }, limits: true });
  assert.deepEqual(granted.limits, [rpm, row("tpm", 100, 100_000, 60, 0, 40_000), workers]);
  const asked = { cost: { tpm: 70 }, limits: true };
  const refused = [rpm, row("tpm", 100, 100_000, 60, 10_000, 40_000), workers];
  assert.deepEqual(limiter.tryAcquire(asked).limits, refused);
  assert.deepEqual(limiter.peek(asked).limits, refused);
  assert.deepEqual(limiter.peek({ ...asked, limits: false }).limits, []);
  assert.ok(Object.isFrozen(granted.limits) && Object.isFrozen(granted.limits[0]));
  for (const verb of [limiter.tryAcquire, limiter.peek]) {
    assert.throws(() => verb.call(limiter, { limits: "yes" }), { argument: "limits" });
  }
  assert.throws(() => limiter.allow({ limits: true }), { argument: "limits" });
});

test("a permit and its error have each limit if the call asks", async () => {
  const pg = new Paddlegate("memory://", { clock: new TestClock(1_700_000_000_000_000) });
  const limiter = pg.window("waits", 1, 60);
  const { decision } = await limiter.acquire({ limits: true });
  assert.deepEqual(decision.limits, [row("window", 1, 60_000, 0, 0, 60_000)]);
  for (const waitTimeoutMs of [0, 1000]) {
    await assert.rejects(limiter.acquire({ limits: true, waitTimeoutMs }), (error) => {
      assert.deepEqual(error.decision.limits, [row("window", 1, 60_000, 0, 60_000, 60_000)]);
      return error.name === "OverLimitError";
    });
  }
});

test("several limiters name theirs", () => {
  const pg = new full.Paddlegate("memory://", { clock: new full.TestClock(86_400_000_000) });
  const both = pg.together([pg.bucket("org", 9, "day"), pg.window("user", 5, 60)]);
  const { limits } = both.tryAcquire({ cost: 2, limits: true });
  const org = row("bucket", 9, 86_400_000, 7, 0, 86_400_000, "org");
  assert.deepEqual(limits, [org, row("window", 5, 60_000, 3, 0, 60_000, "user")]);
});
