// Labels of limits: how a policy says them, what speaks of them, and that a name has one state.
import assert from "node:assert/strict";
import test from "node:test";
import {
  bucket,
  concurrency,
  InvalidError,
  leaky,
  Paddlegate,
  points,
  throttle,
  window,
} from "../index.mjs";
import { required, unique } from "./support.mjs";

const patient = { timeoutMs: 10_000 };
const stores = {
  memory: new Paddlegate("memory://"),
  redis: new Paddlegate(required("PADDLEGATE_TEST_URL"), patient),
  cluster: new Paddlegate(required("PADDLEGATE_TEST_CLUSTER_URL"), patient),
};
const labels = async (pg, name) =>
  (await pg.limiters())
    .find((listed) => listed.name === name)
    .limits.map(({ label, kind, amount }) => [label, kind, amount]);

for (const [store, pg] of Object.entries(stores)) {
  test(`${store}: two windows of one policy, and a decision says which refused`, async () => {
    const limiter = pg.limiter(unique(), {
      "per-second": window(2, 3600),
      rpm: window(3, "day"),
      concurrency: 20,
    });
    const { label, limit } = await limiter.tryAcquire();
    assert.deepEqual([label, limit], ["per-second", 2]);
    const granted = await limiter.tryAcquire();
    const refused = await limiter.tryAcquire();
    assert.deepEqual([refused.reason, refused.label], ["window", "per-second"]);
    await limiter.override({ label: "per-second", limit: 10 });
    assert.equal((await limiter.tryAcquire()).label, "rpm");
    const byDay = await limiter.tryAcquire();
    assert.deepEqual([byDay.reason, byDay.label], ["window", "rpm"]);
    assert.equal(JSON.parse(JSON.stringify(byDay)).label, "rpm");
    await limiter.release(granted.permit);
    assert.deepEqual(await labels(pg, limiter.name), [
      ["per-second", "window", 2],
      ["rpm", "window", 3],
      ["concurrency", "concurrency", 20],
    ]);
    await limiter.pause({ forMs: 2e8 });
    const paused = await limiter.tryAcquire();
    assert.deepEqual([paused.reason, paused.label], ["paused", null]);
  });

  test(`${store}: overrides go by label, also by one that the policy does not have`, async () => {
    const limiter = pg.limiter(unique(), { rpm: window(500, 60), tpm: points(1000, 60) });
    const narrow = await limiter.override({ label: "rpm", limit: 5 });
    assert.deepEqual(narrow.overrides, { rpm: { kind: "window", limit: 5, intervalMs: 60_000 } });
    assert.ok(Object.isFrozen(narrow.overrides.rpm));
    const whole = { tpm: points(10, 1), day: bucket(50, "day"), concurrency: 7 };
    const { overrides, expiresInMs } = await limiter.override({ limits: whole, expiresInMs: 9000 });
    assert.deepEqual(overrides, {
      concurrency: { kind: "concurrency", limit: 7, intervalMs: 30_000 },
      day: { kind: "bucket", limit: 50, intervalMs: 86_400_000 },
      rpm: { kind: "window", limit: 5, intervalMs: 60_000 },
      tpm: { kind: "points", limit: 10, intervalMs: 1000 },
    });
    assert.ok(expiresInMs > 0 && expiresInMs <= 9000);
    const { label, limit } = await limiter.tryAcquire({ estimate: 1 });
    assert.deepEqual([label, limit], ["rpm", 5]);

    const daily = pg.limiter(limiter.name, { day: bucket(9000, "day") });
    assert.equal((await daily.tryAcquire()).limit, 50);
    const rest = await limiter.restore({ label: "day" });
    assert.deepEqual(Object.keys(rest.overrides), ["concurrency", "rpm", "tpm"]);
    assert.equal((await daily.tryAcquire()).limit, 9000);
    assert.deepEqual((await limiter.restore()).overrides, {});
  });

  test(`${store}: a report is about a label`, async () => {
    const limiter = pg.limiter(unique(), { rpm: leaky(10, 3600), tpm: points(1000, 3600) });
    const { learned } = await limiter.reportBudget({ label: "tpm", remaining: 30, limit: 500 });
    assert.deepEqual(learned, ["limit[tpm]", "remaining[tpm]"]);
    assert.equal((await limiter.runtimeState()).learned.tpm.limit, 500);
    const { label, remaining } = await limiter.peek({ cost: 10 });
    assert.deepEqual([label, remaining], ["rpm", 10]);
  });

  test(`${store}: a name has one state, whatever the policies of its limiters`, async () => {
    const name = unique();
    const two = pg.limiter(name, { rpm: window(3, 3600), concurrency: 2 });
    const one = pg.limiter(name, { rpm: window(3, 3600) });
    assert.equal((await two.tryAcquire()).allowed, true);
    assert.equal((await one.tryAcquire({ cost: 2 })).remaining, 0);
    assert.equal((await two.tryAcquire()).label, "rpm");
    assert.equal((await pg.concurrent(name, 1).tryAcquire()).label, "concurrency");
    assert.equal((await pg.limiter(name, { rpm: leaky(3, 3600) }).tryAcquire()).remaining, 2);
    await pg.unlimited(name).pause({ forMs: 2e8 });
    assert.equal((await one.tryAcquire()).reason, "paused");
    assert.equal((await two.tryAcquire()).reason, "paused");
    await pg.paused(name).resume();
    assert.equal((await one.peek({ cost: 0 })).allowed, true);
  });

  test(`${store}: wrong labels are named and change nothing`, async () => {
    const limiter = pg.limiter(unique(), { rpm: window(5, 60), window: [50, 60] });
    const cases = {
      label: [
        () => pg.limiter("x", { Rpm: window(1, 1) }),
        () => pg.limiter("x", { "per minute": window(1, 1) }),
        () => limiter.override({ limit: 1 }),
        () => limiter.override({ limit: 1, label: "tpm" }),
        () => limiter.override({ limits: { "": window(1, 1) } }),
        () => limiter.restore({ label: "RPM" }),
        () => limiter.reportBudget({ remaining: 1 }),
        () => limiter.reportBudget({ remaining: 1, label: "tpm" }),
        ...[5, "", "\ud800"].map((label) => () => limiter.restore({ label })),
      ],
      limits: [
        () => pg.limiter("x", [window(1, 1), window(2, 2)]),
        () => limiter.override({ limits: { rpm: window(1, 1) }, limit: 1 }),
        () => limiter.override({ limits: { rpm: window(1, 1) }, intervalMs: 1 }),
        () => limiter.override({ limits: { rpm: window(1, 1) }, label: "rpm" }),
        () => limiter.override({ limits: 5 }),
      ],
      limit: [() => limiter.override({ limits: { rpm: window(0, 1) } })],
      interval: [() => limiter.override({ limits: { rpm: window(1, "x") } })],
      kind: [
        () => pg.limiter("x", { rpm: 5 }),
        () => limiter.override({ limits: { rpm: [5, 6] } }),
      ],
      index: [() => limiter.restore({ index: 0 })],
    };
    for (const [argument, calls] of Object.entries(cases)) {
      for (const call of calls) {
        await assert.rejects(
          async () => call(),
          (error) => error instanceof InvalidError && error.argument === argument,
          `${argument}: ${call}`,
        );
      }
    }
    assert.equal((await limiter.runtimeState()).version, 0);
  });
}

test("a limit is a frozen list with its kind", async () => {
  const limits = {
    bucket: bucket(5, "day", { offset: "PT2H" }),
    window: window(4, "minute"),
    leaky: leaky(3, 60),
    points: points(2, 60),
    throttle: throttle(1, { limit: 3 }),
    concurrency: concurrency(1, { lockTimeoutMs: 500 }),
  };
  assert.deepEqual(Object.values(limits), [
    ["bucket", 5, "day", "PT2H"],
    ["window", 4, "minute"],
    ["leaky", 3, 60],
    ["points", 2, 60],
    ["throttle", 3, 1],
    ["concurrency", 1, 0.5],
  ]);
  assert.ok(Object.values(limits).every(Object.isFrozen));
  assert.deepEqual(
    [throttle(1), concurrency(5, { lockTimeoutMs: null }), bucket(1, 2)],
    [
      ["throttle", 1, 1],
      ["concurrency", 5],
      ["bucket", 1, 2],
    ],
  );
  const pg = new Paddlegate("memory://");
  await pg.limiter("as an object", limits).tryAcquire({ cost: 1 });
  await pg.limiter("as a list", Object.values(limits)).tryAcquire({ cost: 1 });
  const [first, second] = await pg.limiters();
  assert.deepEqual(first.limits, second.limits);
  const kinds = Object.keys(limits);
  const amounts = [5, 4, 3, 2, 3, 1];
  assert.deepEqual(
    await labels(pg, "as a list"),
    kinds.map((kind, i) => [kind, kind, amounts[i]]),
  );
  for (const call of [() => bucket(1, 1, { ofset: 1 }), () => throttle(1, 5)]) {
    assert.throws(call, InvalidError);
  }
});
