// The order of the queue: priorities, shares and their weights, and jobs that others pass by.
import assert from "node:assert/strict";
import test from "node:test";
import { InvalidError, Paddlegate, TestClock } from "../index.mjs";
import { required, unique, until, withClock } from "./support.mjs";

const patient = { timeoutMs: 10_000 };
const stores = {
  memory: new Paddlegate("memory://"),
  redis: new Paddlegate(required("PADDLEGATE_TEST_URL"), patient),
  cluster: new Paddlegate(required("PADDLEGATE_TEST_CLUSTER_URL"), patient),
};

/** A limiter whose only lease is held, and the permit of that. */
async function busy(pg, options) {
  const limiter = pg.concurrent(unique(), 1, { lockTimeoutMs: 60_000, ...options });
  return [limiter, await limiter.acquire()];
}

for (const [store, pg] of Object.entries(stores)) {
  test(`${store}: waiters enter by priority, then by turns of their shares`, async () => {
    const [limiter, held] = await busy(pg, { waitTimeoutMs: 60_000 });
    const entered = [];
    const enter = async (name, options, waits = limiter.withinLimit) => {
      const { tickets } = await limiter.stats();
      const done = waits.call(limiter, options, () => entered.push(name));
      await until(async () => (await limiter.stats()).tickets > tickets);
      return done;
    };
    const all = [];
    const share = "acme";
    for (const [name, options] of [
      ["a1", { share }],
      ["a2", { share }],
      ["a3", { share }],
      ["b1", { share: "globex", weight: 2 }],
      ["b2", { share: "globex", weight: 2 }],
      ["urgent", { priority: 9 }],
    ]) {
      const began = enter(name, options);
      all.push(began);
      await until(async () => (await limiter.stats()).tickets === all.length);
    }
    await held.release();
    await Promise.all(all);
    assert.equal(entered[0], "urgent");
    const order = (prefix) => entered.filter((name) => name.startsWith(prefix));
    assert.deepEqual(
      [order("a"), order("b")],
      [
        ["a1", "a2", "a3"],
        ["b1", "b2"],
      ],
    );
    assert.ok(entered.indexOf("b2") < entered.indexOf("a2"), `${entered}: a weight of two`);
  });

  test(`${store}: every verb that may queue takes a place`, async () => {
    const [limiter, held] = await busy(pg);
    const place = (id, options) => limiter.enqueue(id, options).then(({ position }) => position);
    assert.equal(await place("a1", { share: "a", weight: 1 }), 0);
    assert.equal(await place("a2", { share: "a" }), 1);
    assert.equal(await place("b1", { share: "b" }), 1, "behind the first of the other share");
    assert.equal(await place("first", { priority: 9 }), 0);
    const job = await limiter.admit("job", { priority: 9, share: "a", weight: 1 });
    assert.deepEqual([job.action, job.decision.position], ["wait", 1]);
    const claimed = await limiter.claim("b1", { share: "b" });
    assert.equal(claimed.position, 3);
    await held.release();
    const options = { priority: 0, share: "a", weight: 1 };
    assert.equal((await limiter.tryAcquire(options)).allowed, false, "others wait");
    assert.equal((await limiter.tryAcquire({ ...options, id: "first" })).allowed, true);
  });

  test(`${store}: limiters that decide together have places too`, async () => {
    const group = "both";
    const [one, held] = await busy(pg, { group });
    const both = pg.together([one, pg.window(unique(), 100, 60, { group })]);
    assert.equal((await both.enqueue("a")).position, 0);
    assert.equal((await both.enqueue("b", { priority: 1, share: "s", weight: 2 })).position, 0);
    await held.release();
    assert.equal((await both.claim("a")).status, "queued");
    assert.equal((await both.claim("b", { priority: 1, share: "s", weight: 2 })).allowed, true);
  });

  test(`${store}: others pass a job by after its claim timeout, and its place is kept`, async () => {
    const clock = new TestClock(1_700_000_000_000_000);
    const limiter = withClock(store, clock).throttle(unique(), 1);
    assert.equal((await limiter.admit("first")).action, "run");
    const admit = (job) => limiter.admit(job, { claimTimeoutMs: 2000 });
    assert.equal((await admit("sleepy")).action, "wait");
    assert.equal((await admit("next")).action, "wait");
    clock.advance(2.9);
    assert.equal((await admit("next")).action, "wait", "1.9 seconds after the turn of the other");
    clock.advance(0.2);
    assert.equal((await admit("next")).action, "run");
    const late = await admit("sleepy");
    assert.deepEqual([late.action, late.decision.position], ["wait", 0]);
  });

  test(`${store}: a wrong place is an error that names it and changes nothing`, async () => {
    const [limiter, held] = await busy(pg);
    const cases = {
      priority: [{ priority: 10 }, { priority: -1 }, { priority: 1.5 }, { priority: "9" }],
      share: [{ share: "" }, { share: "x".repeat(129) }, { share: "a\n" }, { share: 7 }],
      weight: [{ weight: 2 }, ...[0, 1001, 0.5, "2"].map((weight) => ({ share: "a", weight }))],
    };
    const verbs = [
      (options) => limiter.acquire(options),
      (options) => limiter.acquire({ ...options, waitTimeoutMs: 0, id: "a" }),
      (options) => limiter.withinLimit(options, () => assert.fail("it ran")),
      (options) => limiter.tryAcquire({ ...options, id: "a" }),
      (options) => limiter.enqueue("a", options),
      (options) => limiter.claim("a", options),
      (options) => limiter.admit("a", options),
    ];
    for (const [argument, wrong] of Object.entries({ ...cases })) {
      for (const options of wrong) {
        for (const verb of verbs) {
          const named = (error) => error instanceof InvalidError && error.argument === argument;
          await assert.rejects(verb(options), named, `${verb}: ${JSON.stringify(options)}`);
        }
      }
    }
    for (const claimTimeoutMs of [0, -1, Number.NaN, "5", 1e15]) {
      const wrong = { name: "InvalidError", argument: "claimTimeoutMs" };
      await assert.rejects(limiter.admit("a", { claimTimeoutMs }), wrong);
      await assert.rejects(limiter.enqueue("a", { claimTimeoutMs }), wrong);
    }
    for (const name of ["allow", "peek"]) {
      const wrong = { name: "InvalidError", argument: "priority" };
      await assert.rejects(limiter[name]({ priority: 1 }), wrong, "it cannot queue");
    }
    assert.equal((await limiter.stats()).tickets, 0);
    assert.equal(await held.release(), "released");
  });
}

test("a call that waits rises with the aging of its limiter", async () => {
  for (const store of ["memory", "redis", "cluster"]) {
    const clock = new TestClock(1_700_000_000_000_000);
    const pg = withClock(store, clock);
    const limiter = pg.concurrent(unique(), 1, { lockTimeoutMs: 3_600_000, aging: "PT1M" });
    await limiter.acquire();
    const position = async (id, priority) =>
      (await limiter.enqueue(id, { priority, claimTimeoutMs: 600_000 })).position;
    assert.deepEqual([await position("report", 0), await position("mail", 2)], [0, 0]);
    clock.advance(119);
    assert.equal(await position("report", 0), 1);
    clock.advance(62);
    assert.equal(await position("report", 0), 0, store);
    await limiter.reset();
  }
});

test("the aging is from a second to a week", () => {
  const pg = new Paddlegate("memory://");
  for (const aging of [0, 0.5, 7 * 86_400 + 1, "soon", true]) {
    assert.throws(() => pg.concurrent("x", 1, { aging }), { argument: "aging" });
  }
});
