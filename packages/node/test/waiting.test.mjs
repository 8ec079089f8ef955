import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import test from "node:test";
import { OverLimitError, Paddlegate, TestClock } from "../index.mjs";
import { required, server, unique, withClock } from "./support.mjs";

const stores = {
  memory: new Paddlegate("memory://"),
  redis: new Paddlegate(required("PADDLEGATE_TEST_URL"), { timeoutMs: 10_000 }),
};

for (const [store, pg] of Object.entries(stores)) {
  test(`${store}: acquire looks again when the limit has room`, async () => {
    const limiter = pg.throttle(unique(), 0.2);
    const first = await limiter.acquire();
    const second = await limiter.acquire({ waitTimeoutMs: 10_000 });
    assert.ok(second.decision.atUs - first.decision.atUs >= 200_000);
  });

  test(`${store}: acquire sleeps in real time and sees a test's clock when it looks again`, async () => {
    const clock = new TestClock(1_700_000_000_000_000);
    const limiter = withClock(store, clock).throttle(unique(), 0.2);
    await limiter.acquire();
    const began = performance.now();
    const waiting = limiter.acquire({ waitTimeoutMs: 60_000 });
    await new Promise((resolve) => setTimeout(resolve, 100));
    clock.advance(0.2);
    const { decision } = await waiting;
    assert.equal(decision.atUs, clock.nowUs);
    // In memory the clock wakes it.
    assert.ok(store === "memory" || performance.now() - began >= 199);
  });

  test(`${store}: a wait that does not fit is refused at once`, async () => {
    const limiter = pg.throttle(unique(), 3600, { waitTimeoutMs: 3_599_000 });
    await limiter.acquire();
    const began = performance.now();
    await assert.rejects(limiter.acquire(), OverLimitError);
    await assert.rejects(limiter.acquire({ waitTimeoutMs: 0 }), OverLimitError);
    await assert.rejects(pg.paused(unique()).acquire({ waitTimeoutMs: 1e9 }), OverLimitError);
    assert.ok(performance.now() - began < 5_000);
  });

  test(`${store}: an abort ends the waiting at once and takes nothing`, async () => {
    const limiter = pg.window(unique(), 1, 3600);
    const controller = new AbortController();
    await limiter.acquire({ signal: controller.signal });
    const waiting = limiter.withinLimit(
      { waitTimeoutMs: 1e7, signal: controller.signal },
      assert.fail,
    );
    setTimeout(() => controller.abort("enough"), 50);
    const began = performance.now();
    await assert.rejects(waiting, (reason) => reason === "enough");
    assert.ok(performance.now() - began < 5_000);
    assert.equal(getEventListeners(controller.signal, "abort").length, 0);
    assert.equal((await limiter.peek()).remaining, 0);
  });

  test(`${store}: a signal that is aborted already takes nothing`, async () => {
    const limiter = pg.window(unique(), 1, 3600);
    const signal = AbortSignal.abort();
    for (const call of [
      () => limiter.acquire({ signal }),
      () => limiter.tryAcquire({ signal }),
      () => limiter.allow({ signal }),
      () => limiter.withinLimit({ signal }, assert.fail),
    ]) {
      await assert.rejects(call(), { name: "AbortError" });
    }
    assert.equal((await limiter.peek({ cost: 0 })).remaining, 1);
  });
}

test("an abort does not wait for a server that is silent", async (t) => {
  const limiter = new Paddlegate(await server(t, () => {}), { timeoutMs: 30_000 }).window(
    "x",
    1,
    1,
  );
  const controller = new AbortController();
  const call = limiter.allow({ signal: controller.signal });
  setTimeout(() => controller.abort(), 50);
  const began = performance.now();
  await assert.rejects(call, { name: "AbortError" });
  assert.ok(performance.now() - began < 5_000);
});

test("any number of calls may have one signal, which has one listener", async (t) => {
  const { signal } = new AbortController();
  const limiter = stores.redis.throttle(unique(), 0.02);
  const warned = t.mock.method(process, "emitWarning");
  const calls = Array.from({ length: 20 }, () =>
    limiter.acquire({ signal, waitTimeoutMs: 60_000 }),
  );
  calls.push(...Array.from({ length: 20 }, () => limiter.peek({ signal })));
  assert.equal(getEventListeners(signal, "abort").length, 1);
  await Promise.all(calls);
  assert.equal(getEventListeners(signal, "abort").length, 0);
  assert.equal(warned.mock.callCount(), 0);
});
