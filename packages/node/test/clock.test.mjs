// The clock of a test: `new TestClock()` and the option `clock`.
import assert from "node:assert/strict";
import test from "node:test";
import { InvalidError, Paddlegate, TestClock } from "../index.mjs";
import { required, unique, withClock } from "./support.mjs";

const url = required("PADDLEGATE_TEST_URL");

test("a clock moves only when it is moved", () => {
  const clock = new TestClock();
  assert.equal(clock.nowUs, 0);
  clock.advance(1.5);
  clock.advance("minute");
  clock.advance("PT0.000001S");
  assert.equal(clock.nowUs, 61_500_001);
  clock.nowUs = 5;
  assert.equal(clock.nowUs, 5);
  assert.equal(new TestClock(2 ** 52).nowUs, 2 ** 52);
  clock.nowUs = 2 ** 52 - 1_000_000;
  assert.throws(() => clock.advance(1.000001), { name: "InvalidError", argument: "nowUs" });
  assert.equal(clock.nowUs, 2 ** 52 - 1_000_000);
});

for (const store of ["memory", "redis", "cluster"]) {
  test(`${store}: one clock for several stores, which may run backwards`, async () => {
    const clock = new TestClock(60_000_000);
    const [one, other] = [withClock(store, clock), withClock(store, clock)];
    const limiters = [one.window(unique(), 1, 60), other.window(unique(), 1, 60)];
    for (const limiter of limiters) assert.equal((await limiter.tryAcquire()).atUs, 60_000_000);
    clock.advance(59.999999);
    for (const limiter of limiters) assert.equal(await limiter.allow(), false);
    clock.nowUs = 5;
    for (const limiter of limiters) assert.equal(await limiter.allow(), false);
    clock.nowUs = 120_000_000;
    for (const limiter of limiters) assert.equal(await limiter.allow(), true);
  });
}

test("a store in Redis takes a clock only with PADDLEGATE_TEST_CLOCK=1", async (t) => {
  const before = process.env.PADDLEGATE_TEST_CLOCK;
  t.after(() => {
    process.env.PADDLEGATE_TEST_CLOCK = before;
  });
  const clock = new TestClock();
  for (const value of [undefined, "", "0", "true"]) {
    if (value === undefined) delete process.env.PADDLEGATE_TEST_CLOCK;
    else process.env.PADDLEGATE_TEST_CLOCK = value;
    assert.throws(
      () => new Paddlegate(url, { clock }),
      (error) => error instanceof InvalidError && error.argument === "clock",
    );
    assert.equal(await new Paddlegate("memory://", { clock }).window("x", 1, 1).allow(), true);
    assert.equal(await new Paddlegate(url, { clock: null }).window(unique(), 1, 1).allow(), true);
  }
});

for (const store of ["memory", "redis"]) {
  test(`${store}: three starts a second, evenly spaced and for ever`, async () => {
    const clock = new TestClock();
    const pg = withClock(store, clock);
    const name = unique();
    const limiters = [pg.throttle(name, 1, { limit: 3 }), pg.limiter(name, { throttle: [3, 1] })];
    for (const [i, start] of [0, 333_334, 666_667, 1_000_000, 1_333_334].entries()) {
      clock.nowUs = Math.max(start - 1, 0);
      if (i > 0) assert.equal(await limiters[i % 2].allow(), false);
      clock.nowUs = start;
      assert.equal(await limiters[i % 2].allow(), true);
    }
    for (const limit of [0, 1.5, 1_000_001, null]) {
      assert.throws(() => pg.throttle(name, 1, { limit }), { argument: "limit" });
    }
  });
}

test("who waits in memory is woken when the clock is moved", async () => {
  // By real time it would wait for an hour.
  const clock = new TestClock(1_700_000_000_000_000);
  const pg = new Paddlegate("memory://", { clock });
  const limiter = pg.throttle("hourly", 3600, { waitTimeoutMs: 7_200_000 });
  await limiter.acquire();
  const waiting = limiter.acquire();
  while ((await limiter.stats()).tickets < 1) await new Promise(setImmediate);
  clock.advance("hour");
  assert.equal((await waiting).decision.atUs, clock.nowUs);
});
