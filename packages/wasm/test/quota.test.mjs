// Quotas: periods of the calendar, and which time zones each module has.
import assert from "node:assert/strict";
import test from "node:test";
import * as small from "paddlegate-wasm";
import * as full from "paddlegate-wasm/full";

const invalid = (argument) => ({ name: "InvalidError", code: "INVALID", argument });
const us = (text) => Date.parse(text) * 1000;

for (const [module, { Paddlegate, TestClock, quota }] of Object.entries({ small, full })) {
  test(`${module}: all units return when a month ends`, () => {
    const clock = new TestClock(us("2025-03-31T22:59:59Z"));
    const pg = new Paddlegate("memory://", { clock });
    const options = { timezone: "+01:00" };
    for (const limiter of [
      pg.quota("one", 10, "month", options),
      pg.limiter("two", { usd: quota(10, "month", options) }),
      pg.limiter("three", { quota: [10, "month", "+01:00"], window: [100, 60] }),
      pg.limiter("four", [["quota", 10, "month", "+01:00", "1"]]),
    ]) {
      clock.nowUs = us("2025-03-31T22:59:59Z");
      assert.equal(limiter.tryAcquire({ cost: 10 }).remaining, 0);
      const refused = limiter.tryAcquire();
      assert.deepEqual([refused.reason, refused.retryAfterMs], ["quota", 1000]);
      clock.advance(1);
      assert.equal(limiter.tryAcquire({ cost: 4 }).remaining, 6);
    }
    assert.deepEqual(quota(50, "day", { starts: "06:00" }), ["quota", 50, "day", null, "06:00"]);
  });

  test(`${module}: the list of limiters has the calendar`, () => {
    const pg = new Paddlegate();
    pg.limiter("both", { window: [5, 60], usd: quota(7, "year", { starts: "04-06" }) }).allow();
    const [{ limits }] = pg.limiters();
    const { kind, label, amount, per, timezone, starts } = limits[1];
    assert.deepEqual([kind, label, amount], ["quota", "usd", 7]);
    assert.deepEqual([per, timezone, starts], ["year", "UTC", "04-06"]);
    assert.equal("per" in limits[0], false);
  });

  test(`${module}: an operator changes the number, not the calendar`, () => {
    const limiter = new Paddlegate().quota("day", 5, "day");
    const { overrides } = limiter.override({ limit: 9 });
    assert.deepEqual(overrides, { quota: { kind: "quota", limit: 9, intervalMs: 0 } });
    assert.throws(() => limiter.override({ intervalMs: 1000 }), invalid("intervalMs"));
    assert.throws(() => limiter.override({ limits: [["quota", 9, "week"]] }), invalid("limits"));
    assert.equal(limiter.peek().limit, 9);
  });

  test(`${module}: a wrong calendar is an error that names its argument`, () => {
    const pg = new Paddlegate();
    for (const [argument, ...wrong] of [
      ["limit", 0, "day"],
      ["per", 1, "hour"],
      ["per", 1, 60],
      ["timezone", 1, "day", { timezone: "Europe/Nowhere" }],
      ["timezone", 1, "day", { timezone: 2 }],
      ["starts", 1, "month", { starts: "32" }],
      ["offset", 1, "day", { offset: 1 }],
    ]) {
      assert.throws(() => pg.quota("wrong", ...wrong), invalid(argument), `${wrong}`);
    }
    const more = [["quota", 1, "day", "UTC", "06:00", 1]];
    assert.throws(() => pg.limiter("wrong", more), invalid("limits"));
  });
}

test("time zones by name are in the larger module alone", () => {
  const options = { timezone: "Europe/Berlin" };
  assert.throws(() => new small.Paddlegate().quota("day", 1, "day", options), invalid("timezone"));
  const clock = new full.TestClock(us("2025-03-31T21:59:59Z"));
  const tenant = new full.Paddlegate("memory://", { clock }).quota("month", 1, "month", options);
  tenant.allow();
  assert.equal(tenant.tryAcquire().retryAfterMs, 1000);
});
