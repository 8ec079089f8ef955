// The order of the queue: priorities, shares and their weights, and jobs that others pass by.
import assert from "node:assert/strict";
import test from "node:test";
import { Paddlegate } from "paddlegate-wasm";
import * as full from "paddlegate-wasm/full";

const invalid = (argument) => ({ name: "InvalidError", code: "INVALID", argument });

test("waiters enter by priority, then by turns of their shares", async () => {
  const limiter = new Paddlegate().concurrent("workers", 1, { waitTimeoutMs: 60_000 });
  const held = await limiter.acquire();
  const entered = [];
  const waits = [
    ["a1", { share: "acme" }],
    ["a2", { share: "acme" }],
    ["a3", { share: "acme" }],
    ["b1", { share: "globex", weight: 2 }],
    ["b2", { share: "globex", weight: 2 }],
    ["urgent", { priority: 9 }],
  ].map(([name, options]) => limiter.withinLimit(options, () => entered.push(name)));
  assert.equal(limiter.stats().tickets, 6);
  held.release();
  await Promise.all(waits);
  assert.deepEqual(entered.slice(0, 1), ["urgent"]);
  assert.ok(entered.indexOf("b2") < entered.indexOf("a2"), `${entered}: a weight of two`);
});

test("every verb that may queue takes a place, also of several limiters", () => {
  const pg = new full.Paddlegate();
  const one = pg.concurrent("one", 1);
  const held = one.tryAcquire({ id: "held" });
  for (const limiter of [one, pg.together([one, pg.window("two", 100, 60)])]) {
    assert.equal(limiter.enqueue("a1", { share: "a" }).position, 0);
    assert.equal(limiter.enqueue("a2", { share: "a", weight: 1 }).position, 1);
    assert.equal(limiter.enqueue("b1", { share: "b" }).position, 1);
    const job = limiter.admit("job", { priority: 9, share: "a", claimTimeoutMs: 1000 });
    assert.deepEqual([job.action, job.decision.position], ["wait", 0]);
    assert.equal(limiter.claim("b1", { share: "b" }).position, 2);
    assert.equal(limiter.tryAcquire({ id: "b1", priority: 1, share: "b" }).allowed, false);
    for (const id of ["a1", "a2", "b1", "job"]) limiter.cancel(id);
  }
  assert.equal(one.release(held.permit), "released");
});

test("others pass a job by after its claim timeout, and its place is kept", () => {
  const clock = new full.TestClock(1_700_000_000_000_000);
  const mail = new full.Paddlegate("memory://", { clock }).throttle("mail", 1);
  const admit = (job) => mail.admit(job, { claimTimeoutMs: 2000 });
  assert.deepEqual(
    ["first", "sleepy", "next"].map((job) => admit(job).action),
    ["run", "wait", "wait"],
  );
  clock.advance(2.9);
  assert.equal(admit("next").action, "wait");
  clock.advance(0.2);
  assert.equal(admit("next").action, "run");
  assert.equal(admit("sleepy").decision.position, 0);
});

test("a wrong place is an error that names it and changes nothing", async () => {
  const limiter = new full.Paddlegate().concurrent("workers", 1);
  const held = await limiter.acquire();
  const weights = [0, 1001, 0.5, "2"].map((weight) => ({ share: "a", weight }));
  const cases = {
    priority: [{ priority: 10 }, { priority: -1 }, { priority: 1.5 }, { priority: "9" }],
    share: [{ share: "" }, { share: "x".repeat(129) }, { share: "a\n" }, { share: 7 }],
    weight: [{ weight: 2 }, ...weights],
  };
  for (const [argument, wrong] of Object.entries(cases)) {
    for (const options of wrong) {
      await assert.rejects(limiter.acquire(options), invalid(argument));
      await assert.rejects(
        limiter.withinLimit(options, () => 7),
        invalid(argument),
      );
      for (const verb of ["enqueue", "claim", "admit"]) {
        assert.throws(() => limiter[verb]("a", options), invalid(argument), verb);
      }
      assert.throws(() => limiter.tryAcquire({ ...options, id: "a" }), invalid(argument));
    }
  }
  for (const claimTimeoutMs of [0, -1, Number.NaN, "5", 1e15]) {
    assert.throws(() => limiter.admit("a", { claimTimeoutMs }), invalid("claimTimeoutMs"));
    assert.throws(() => limiter.enqueue("a", { claimTimeoutMs }), invalid("claimTimeoutMs"));
  }
  assert.throws(() => limiter.peek({ priority: 1 }), invalid("priority"), "it cannot queue");
  assert.equal(limiter.stats().tickets, 0);
  assert.equal(held.release(), "released");
});

test("a call that waits rises with the aging of its limiter", () => {
  const clock = new full.TestClock(1_700_000_000_000_000);
  const pg = new full.Paddlegate("memory://", { clock });
  const limiter = pg.concurrent("workers", 1, { lockTimeoutMs: 3_600_000, aging: 60 });
  assert.ok(limiter.tryAcquire().allowed);
  const position = (id, priority) =>
    limiter.enqueue(id, { priority, claimTimeoutMs: 600_000 }).position;
  assert.deepEqual([position("report", 0), position("mail", 2)], [0, 0]);
  clock.advance(119);
  assert.equal(position("report", 0), 1);
  clock.advance(62);
  assert.equal(position("report", 0), 0);
  for (const aging of [0, 7 * 86_400 + 1, "soon"]) {
    assert.throws(() => pg.concurrent("x", 1, { aging }), invalid("aging"));
  }
});
