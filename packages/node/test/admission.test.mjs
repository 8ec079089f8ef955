// Jobs before their limits: run, wait, reschedule, drop.
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
const start = 1_700_000_000_000_000;

for (const [store, pg] of Object.entries(stores)) {
  test(`${store}: concurrency and rate are decided together`, async () => {
    const limiter = pg.limiter(unique(), { concurrency: 1, window: [10, 60] });
    const first = await limiter.admit("a");
    assert.ok(Object.isFrozen(first));
    assert.deepEqual([first.action, first.afterMs, first.decision.allowed], ["run", null, true]);
    assert.equal(first.permit.id, first.decision.permit);
    assert.ok(first.permit.expiresInMs > 10_000);
    for (const job of ["b", "c", "d"]) {
      const { action, afterMs, permit } = await limiter.admit(job, { onLimit: "drop" });
      assert.deepEqual([action, afterMs, permit], ["drop", null, null]);
    }
    assert.equal(await first.permit.release(), "released");
    assert.equal((await limiter.stats()).units, 1);
  });

  test(`${store}: a rescheduled job comes when the limit allows it`, async () => {
    const clock = new TestClock();
    const limiter = withClock(store, clock).window(unique(), 1, 0.7);
    const admit = async (job, us, onLimit = "reschedule") => {
      clock.nowUs = start + us;
      const { action, afterMs } = await limiter.admit(job, { onLimit });
      return [action, afterMs];
    };
    assert.deepEqual(await admit("a", 0), ["run", null]);
    assert.deepEqual(await admit("b", 0), ["reschedule", 700]);
    assert.deepEqual(await admit("c", 0), ["reschedule", 1400]);
    assert.deepEqual(await admit("new", 700_000, "drop"), ["drop", null]);
    assert.deepEqual(await admit("b", 700_000), ["run", null]);
  });

  test(`${store}: a job that is tried again counts as a new one`, async () => {
    const limiter = pg.window(unique(), 2, 60);
    for (const job of ["job/1", "job/2"]) assert.equal((await limiter.admit(job)).action, "run");
    assert.equal((await limiter.admit("job/3", { onLimit: "raise" })).action, "refuse");
  });

  test(`${store}: a job that runs is asked about again and takes nothing`, async () => {
    const limiter = pg.concurrent(unique(), 1);
    const permits = [];
    for (let i = 0; i < 3; i += 1) permits.push((await limiter.admit("task")).permit.id);
    assert.equal(new Set(permits).size, 1);
    assert.equal((await limiter.stats()).leases, 1);
    const { action, afterMs, decision } = await limiter.admit("other");
    assert.deepEqual([action, decision.status, decision.position], ["wait", "queued", 0]);
    assert.equal(afterMs, decision.retryAfterMs);
    assert.equal(await limiter.release(permits[0]), "released");
    assert.equal((await limiter.admit("new", { onLimit: "drop" })).action, "drop");
    assert.equal((await limiter.admit("other")).action, "run");
  });

  test(`${store}: costs, estimates and what the document says`, async () => {
    const document = { limiters: {} };
    const limit = { limit: 1000, per: "hour" };
    const names = Object.fromEntries(
      ["wait", "reschedule", "drop", "ignore", "raise"].map((on) => [on, unique(on)]),
    );
    for (const [on_limit, name] of Object.entries(names)) {
      document.limiters[name] = { window: limit, on_limit };
    }
    const loaded = pg.limitersFromDocument(document);
    const actions = [];
    for (const name of Object.values(names)) {
      const limiter = loaded.get(name);
      assert.equal((await limiter.admit("a", { cost: 999 })).action, "run");
      actions.push((await limiter.admit("b", { cost: 2 })).action);
    }
    assert.deepEqual(actions, ["wait", "reschedule", "drop", "refuse", "refuse"]);
    const dropping = loaded.get(names.drop);
    assert.equal((await dropping.admit("b", { cost: 2, onLimit: "wait" })).action, "wait");

    const shop = pg.points(unique(), 100, 60);
    const { permit } = await shop.admit("a", { estimate: 80 });
    assert.equal(await permit.pointsUsed(5), "settled");
    const many = ["b", "c", "d"].map((job) => shop.admit(job, { estimate: 60, onLimit: "drop" }));
    const ran = (await Promise.all(many)).map(({ action }) => action);
    assert.deepEqual(ran.sort(), ["drop", "drop", "run"]);
    const paused = await pg.paused(unique()).admit("a", { onLimit: null });
    assert.deepEqual([paused.action, paused.afterMs], ["wait", null]);
    const aborted = shop.admit("e", { estimate: 1, signal: AbortSignal.abort("enough") });
    await assert.rejects(aborted, (reason) => reason === "enough");
  });
}
