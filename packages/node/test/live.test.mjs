// What changes a limiter while it runs: pauses, overrides, and what upstream says. The numbers are in the vectors.
import assert from "node:assert/strict";
import test from "node:test";
import { OverLimitError, Paddlegate, TestClock } from "../index.mjs";
import { entry, required, run, unique, until, withClock } from "./support.mjs";

const url = required("PADDLEGATE_TEST_URL");
const cluster = required("PADDLEGATE_TEST_CLUSTER_URL");
const patient = { timeoutMs: 10_000 };
const stores = {
  memory: new Paddlegate("memory://"),
  redis: new Paddlegate(url, patient),
  cluster: new Paddlegate(cluster, patient),
};
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const start = 1_700_000_000_000;
/** Who is not called looks by itself, after five seconds. */
const SOON_MS = 3_000;
const nothing = {
  version: 0,
  inUse: true,
  pausedForMs: null,
  blockedForMs: null,
  mode: null,
  overrides: {},
  expiresInMs: null,
  learned: {},
};

/** Another connection to the same store, as another process has it. */
const elsewhere = (store) =>
  store === "memory"
    ? stores.memory
    : new Paddlegate(store === "redis" ? url : cluster, { timeoutMs: 10_000 });

for (const [store, pg] of Object.entries(stores)) {
  test(`${store}: a pause refuses everything until it ends, of this name only`, async () => {
    const clock = new TestClock(start * 1000);
    const clocked = withClock(store, clock);
    const limiter = clocked.window(unique(), 10, 60);
    const at = (ms) => {
      clock.nowUs = (start + ms) * 1000;
    };
    const ordered = await limiter.pause({ forMs: 30_000 });
    assert.deepEqual([ordered.version, ordered.pausedForMs], [start * 1000, 30_000]);
    assert.ok(Object.isFrozen(ordered) && Object.isFrozen(ordered.overrides));
    at(10);
    const { status, reason, retryAfterMs } = await limiter.tryAcquire();
    assert.deepEqual([status, reason, retryAfterMs], ["refused", "paused", 29_990]);
    assert.equal(await clocked.window(unique(), 10, 60).allow(), true);
    at(5000);
    assert.equal((await limiter.pause({ forMs: 10_000 })).pausedForMs, 25_000);
    at(29_999);
    assert.equal(await limiter.allow(), false);
    at(30_000);
    assert.equal(await limiter.allow(), true);

    const until = new Date(start + 60_000);
    at(31_000);
    assert.equal((await limiter.pause({ until })).pausedForMs, 29_000);
    assert.equal((await limiter.pause({ until: start + 32_000 })).pausedForMs, 29_000);
    const past = limiter.pause({ until: start + 1 });
    await assert.rejects(past, { name: "InvalidError", argument: "until" });
    at(31_001);
    assert.deepEqual(await limiter.resume(), nothing);
    at(31_002);
    assert.equal(await limiter.allow(), true);
  });

  test(`${store}: a pause of a name that nobody has used says so`, async () => {
    const name = unique();
    const limiter = pg.window(name, 10, 60);
    assert.equal((await limiter.runtimeState()).inUse, false);
    await limiter.allow();
    assert.equal((await elsewhere(store).window(name, 10, 60).pause({ forMs: 1 })).inUse, true);
    assert.equal((await pg.bucket(name, 10, 60).pause({ forMs: 1 })).inUse, true);
  });

  test(`${store}: an override rules until it is restored or expires`, async () => {
    const limiter = pg.concurrent(unique(), 0);
    assert.equal((await limiter.tryAcquire()).retryAfterMs, null);
    const { overrides, expiresInMs } = await limiter.override({ limit: 1 });
    assert.deepEqual(overrides, {
      concurrency: { kind: "concurrency", limit: 1, intervalMs: 30_000 },
    });
    assert.equal(expiresInMs, null);
    const permit = await limiter.acquire();
    assert.equal((await limiter.tryAcquire()).allowed, false);
    await permit.release();
    assert.deepEqual(await limiter.restore(), nothing);
    assert.equal((await limiter.tryAcquire()).allowed, false);

    const short = await limiter.override({ limit: 1, intervalMs: 1000, expiresInMs: 60_000 });
    assert.equal(short.overrides.concurrency.intervalMs, 1000);
    assert.ok(short.expiresInMs > 50_000 && short.expiresInMs <= 60_000);
    const expiresAt = new Date(Date.now() + 120_000);
    const later = await limiter.override({ limit: 2, expiresAt, label: "concurrency" });
    assert.ok(later.expiresInMs > 60_000 && later.expiresInMs <= 121_000);
    assert.deepEqual(
      (await elsewhere(store).concurrent(limiter.name, 0).runtimeState()).overrides,
      { concurrency: { kind: "concurrency", limit: 2, intervalMs: 30_000 } },
    );
    await limiter.restore({ label: "concurrency" });
    assert.deepEqual(await limiter.runtimeState(), nothing);
  });

  test(`${store}: who waits enters by a resume from elsewhere, not only by looking again`, async () => {
    const limiter = pg.window(unique(), 10, 60, { waitTimeoutMs: 60_000 });
    await limiter.pause({ forMs: 50_000 });
    const entered = limiter.withinLimit(() => performance.now());
    await until(async () => (await limiter.stats()).tickets === 1);
    await pause(200);
    const resumed = performance.now();
    await elsewhere(store).window(limiter.name, 10, 60).resume();
    const took = (await entered) - resumed;
    assert.ok(took < SOON_MS, `took=${took}`);
  });

  test(`${store}: a raised limit lets in who waits, a lower one evicts nobody`, async () => {
    const limiter = pg.concurrent(unique(), 3, { waitTimeoutMs: 60_000 });
    const permits = await Promise.all([1, 2, 3].map(() => limiter.acquire()));
    const waiting = [4, 5].map(() => limiter.acquire());
    await until(async () => (await limiter.stats()).tickets === 2);
    await pause(200);
    const raised = performance.now();
    await elsewhere(store).concurrent(limiter.name, 3).override({ limit: 5 });
    permits.push(...(await Promise.all(waiting)));
    assert.ok(performance.now() - raised < SOON_MS);
    await limiter.override({ limit: 2 });
    assert.deepEqual(
      await Promise.all(permits.map((permit) => permit.renew())),
      Array(5).fill(true),
    );
    const isFree = async () => (await limiter.tryAcquire()).allowed;
    assert.equal(await isFree(), false);
    await Promise.all(permits.slice(1).map((permit) => permit.release()));
    assert.equal(await isFree(), true);
    assert.equal(await isFree(), false);
  });

  test(`${store}: a wait that is aborted during a pause leaves nothing`, async () => {
    const limiter = pg.concurrent(unique(), 1, { waitTimeoutMs: 60_000 });
    await limiter.pause({ forMs: 50_000 });
    const controller = new AbortController();
    const waiting = limiter.acquire({ signal: controller.signal });
    await until(async () => (await limiter.stats()).tickets === 1);
    controller.abort("enough");
    await assert.rejects(waiting, (reason) => reason === "enough");
    await assert.rejects(limiter.pause({ forMs: 1, signal: AbortSignal.abort() }), {
      name: "AbortError",
    });
    const refused = limiter.acquire({ waitTimeoutMs: 20 });
    await assert.rejects(refused, (error) => {
      assert.ok(error instanceof OverLimitError);
      assert.equal(error.decision.reason, "paused");
      assert.ok(error.retryAfterMs > 40_000);
      return true;
    });
    await limiter.resume();
    const { leases, tickets } = await limiter.stats();
    assert.deepEqual([leases, tickets], [0, 0]);
  });

  test(`${store}: what upstream has left, its size and its reset`, async () => {
    const clock = new TestClock(start * 1000);
    const clocked = withClock(store, clock);
    const shop = clocked.points(unique(), 1000, 20);
    const permit = (await shop.tryAcquire({ estimate: 300 })).permit;
    await shop.correct(permit, 300);
    assert.equal((await shop.reportBudget({ remaining: 300 })).learned[0], "remaining");
    assert.equal((await shop.peek({ cost: 0 })).remaining, 300);
    assert.equal((await shop.reportBudget({ limit: 2000, restoreRate: 100 })).settlement, null);
    const other = store === "memory" ? clocked : withClock(store, clock);
    const seen = await other.points(shop.name, 1000, 20).runtimeState();
    assert.deepEqual(seen.learned, { points: { kind: "points", limit: 2000, intervalMs: 20_000 } });
    await shop.reportBudget({ restoreRate: 100, permit });
    assert.equal((await shop.runtimeState()).learned.points.intervalMs, 10_000);
    await shop.reportBudget({ intervalMs: 5000 });
    assert.equal((await shop.runtimeState()).learned.points.intervalMs, 5000);

    const hub = clocked.bucket(unique(), 5000, "hour");
    await hub.reportBudget({ remaining: 0, resetInMs: 1_800_000 });
    assert.equal((await hub.tryAcquire()).retryAfterMs, 1_800_000);
    await hub.reportBudget({ remaining: 0, resetAt: new Date(start + 600_000) });
    assert.equal((await hub.tryAcquire()).retryAfterMs, 600_000);
  });

  test(`${store}: mistakes are named and change nothing`, async () => {
    const limiter = pg.leaky(unique(), 10, 10);
    const wrong = [undefined, null, {}].map((options) => () => limiter.pause(options));
    const cases = {
      forMs: [
        ...wrong.slice(0, 1).concat(wrong.slice(2)),
        ...[0, -1, Number.NaN, "1", 1e15].map((forMs) => () => limiter.pause({ forMs })),
      ],
      until: [
        ...[Number.NaN, "tomorrow", new Date("x"), -1, 2 ** 53].map(
          (until) => () => limiter.pause({ until }),
        ),
        () => limiter.pause({ forMs: 1, until: new Date() }),
      ],
      options: [wrong[1], () => limiter.pause(30), () => limiter.learnFromResponse({}, 5)],
      forms: [() => limiter.pause({ forms: 5 })],
      cost: [() => limiter.resume({ cost: 5 }), () => limiter.runtimeState({ cost: 1 })],
      limit: [-1, 0, 1.5, "5", Number.NaN]
        .flatMap((limit) => [
          () => limiter.override({ limit }),
          () => limiter.reportBudget({ limit }),
        ])
        .concat(() => limiter.override({ label: "leaky" })),
      intervalMs: [-1, 0, "1", Number.NaN, 1e15].map(
        (intervalMs) => () => limiter.override({ intervalMs }),
      ),
      label: [1, "", "Leaky"].flatMap((label) => [
        () => limiter.override({ label, limit: 1 }),
        () => limiter.restore({ label }),
        () => limiter.reportBudget({ label, restoreRate: 1 }),
      ]),
      expiresInMs: [0, -1, "1"].map(
        (expiresInMs) => () => limiter.override({ limit: 1, expiresInMs }),
      ),
      expiresAt: [
        () => limiter.override({ limit: 1, expiresInMs: 1, expiresAt: new Date() }),
        () => limiter.override({ limit: 1, expiresAt: "x" }),
      ],
      remaining: [-1, 0.5, "5", 1e15].map((remaining) => () => limiter.reportBudget({ remaining })),
      restoreRate: [
        ...[0, -1, Number.NaN, "1"].map(
          (restoreRate) => () => limiter.reportBudget({ restoreRate }),
        ),
        () => limiter.reportBudget({ restoreRate: 1, intervalMs: 10_000 }),
      ],
      resetInMs: [() => limiter.reportBudget({ resetInMs: -1 })],
      resetAt: [
        () => limiter.reportBudget({ resetInMs: 1, resetAt: 1 }),
        () => limiter.reportBudget({ resetAt: "x" }),
      ],
      response: [undefined, null, 429, "text"].map(
        (response) => () => limiter.learnFromResponse(response),
      ),
      status: [-1, "429", 70_000, 0.5].map((status) => () => limiter.learnFromResponse({ status })),
      headers: ["x", 5, ["retry-after", "1"], [["a"]], [["a", "b", "c"]]].map(
        (headers) => () => limiter.learnFromResponse({ headers }),
      ),
      body: [5, true, () => "", { big: 1n }].map(
        (body) => () => limiter.learnFromResponse({ body }),
      ),
      provider: ["Shopify", "", 5].map(
        (provider) => () => limiter.learnFromResponse({}, { provider }),
      ),
      maxPauseMs: [-1, "1", Number.NaN].map(
        (maxPauseMs) => () => limiter.learnFromResponse({}, { maxPauseMs }),
      ),
      defaultPauseMs: [-1, "1", Number.NaN].map(
        (defaultPauseMs) => () => limiter.learnFromResponse({}, { defaultPauseMs }),
      ),
      permit: ["", 5, "x".repeat(581)].flatMap((permit) => [
        () => limiter.learnFromResponse({}, { permit }),
        () => limiter.reportBudget({ remaining: 1, permit }),
      ]),
    };
    for (const [argument, calls] of Object.entries(cases)) {
      for (const call of calls) {
        await assert.rejects(call, { name: "InvalidError", argument }, `${argument}: ${call}`);
      }
    }
    const unlimited = pg.unlimited(unique());
    await assert.rejects(unlimited.override({ limit: 1 }), { argument: "label" });
    assert.deepEqual(await unlimited.runtimeState(), { ...nothing, inUse: false });
    assert.equal(unlimited.onLimit, null);
    assert.deepEqual(await limiter.runtimeState(), { ...nothing, inUse: false });
    assert.equal((await limiter.peek({ cost: 0 })).remaining, 10);
  });
}

test("a resume from another process calls who waits here", async () => {
  const limiter = stores.redis.concurrent(unique(), 1, { waitTimeoutMs: 60_000 });
  await limiter.pause({ forMs: 50_000 });
  const entered = limiter.withinLimit(() => Date.now());
  await until(async () => (await limiter.stats()).tickets === 1);
  const { output } = await run(
    `import { Paddlegate } from ${JSON.stringify(entry)};
     await new Paddlegate(${JSON.stringify(url)}, { timeoutMs: 10000 }).concurrent(${JSON.stringify(limiter.name)}, 1).resume();
     console.log(Date.now());`,
  );
  const took = (await entered) - Number(output);
  assert.ok(took < SOON_MS, `took=${took}`);
});
