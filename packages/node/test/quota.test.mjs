// Quotas: periods of the calendar, and how they are made, listed and overridden.
import assert from "node:assert/strict";
import test from "node:test";
import { Paddlegate, quota, TestClock } from "../index.mjs";
import { required, unique, withClock } from "./support.mjs";

const patient = { timeoutMs: 10_000 };
const stores = {
  memory: new Paddlegate("memory://"),
  redis: new Paddlegate(required("PADDLEGATE_TEST_URL"), patient),
  cluster: new Paddlegate(required("PADDLEGATE_TEST_CLUSTER_URL"), patient),
};
const us = (text) => Date.parse(text) * 1000;

for (const [store, pg] of Object.entries(stores)) {
  test(`${store}: all units return when the month of Berlin ends`, async () => {
    const clock = new TestClock(us("2025-03-31T21:59:59Z"));
    const tenant = withClock(store, clock).quota(unique(), 10, "month", {
      timezone: "Europe/Berlin",
    });
    assert.equal((await tenant.tryAcquire({ cost: 10 })).remaining, 0);
    const refused = await tenant.tryAcquire();
    assert.deepEqual([refused.reason, refused.retryAfterMs], ["quota", 1000]);
    clock.advance(1);
    assert.equal((await tenant.tryAcquire({ cost: 4 })).remaining, 6);
  });

  test(`${store}: a quota is one of several limits, in any of its forms`, async () => {
    const clock = new TestClock(us("2025-01-14T23:59:59Z"));
    const at = withClock(store, clock);
    const policies = {
      usd: { usd: quota(50, "month", { starts: "15" }), window: [100, 60] },
      quota: { quota: [50, "month", null, "15"], window: [100, 60] },
      list: [
        ["quota", 50, "month", "UTC", "15"],
        ["window", 100, 60],
      ],
    };
    for (const [label, limits] of Object.entries(policies)) {
      const limiter = at.limiter(unique(), limits);
      const refused = await limiter.tryAcquire({ cost: 50 }).then(() => limiter.tryAcquire());
      assert.equal(refused.label, label === "list" ? "quota" : label);
      assert.equal(refused.retryAfterMs, 1000);
    }
    assert.deepEqual(quota(50, "day"), ["quota", 50, "day"]);
    assert.deepEqual(quota(50, "day", { timezone: "+02:00" }), ["quota", 50, "day", "+02:00"]);
    assert.ok(Object.isFrozen(quota(50, "day")));
  });

  test(`${store}: the list of limiters has the calendar`, async () => {
    const name = unique();
    const limiter = pg.quota(name, 7, "year", { timezone: "Europe/Berlin", starts: "04-06" });
    await limiter.tryAcquire();
    const [{ limits }] = await pg.limiters({ prefix: name });
    assert.equal(limits.length, 1);
    const { kind, label, amount, per, timezone, starts } = limits[0];
    assert.deepEqual([kind, label, amount], ["quota", "quota", 7]);
    assert.deepEqual([per, timezone, starts], ["year", "Europe/Berlin", "04-06"]);
    const plain = unique();
    await pg.window(plain, 7, 60).tryAcquire();
    const [listed] = await pg.limiters({ prefix: plain });
    assert.equal(listed.limits[0].per, undefined);
  });

  test(`${store}: an operator changes the number, not the calendar`, async () => {
    const limiter = pg.quota(unique(), 5, "day");
    const { overrides } = await limiter.override({ limit: 9 });
    assert.deepEqual(overrides, { quota: { kind: "quota", limit: 9, intervalMs: 0 } });
    assert.equal((await limiter.peek()).limit, 9);
    const wrong = (argument) => ({ name: "InvalidError", argument });
    await assert.rejects(limiter.override({ intervalMs: 1000 }), wrong("intervalMs"));
    const weekly = { quota: quota(9, "week") };
    await assert.rejects(limiter.override({ limits: weekly }), wrong("limits"));
    assert.equal(
      (await limiter.override({ limits: [["quota", 8, "day"]] })).overrides.quota.limit,
      8,
    );
  });
}

test("a wrong calendar is an error that names its argument", () => {
  const pg = stores.memory;
  const cases = {
    limit: [
      [0, "day"],
      [1.5, "day"],
      [1e13, "day"],
    ],
    per: [
      [1, "hour"],
      [1, 60],
      [1, undefined],
    ],
    timezone: [
      [1, "day", { timezone: "Europe/Nowhere" }],
      [1, "day", { timezone: 2 }],
    ],
    starts: [
      [1, "month", { starts: "32" }],
      [1, "month", { starts: 15 }],
    ],
    offset: [[1, "day", { offset: 1 }]],
  };
  for (const [argument, calls] of Object.entries(cases)) {
    for (const call of calls) {
      const wrong = { name: "InvalidError", argument };
      assert.throws(() => pg.quota("wrong", ...call), wrong, `${argument}: ${call}`);
    }
  }
  const more = [["quota", 1, "day", "UTC", "06:00", 1]];
  assert.throws(() => pg.limiter("wrong", more), { argument: "limits" });
});
