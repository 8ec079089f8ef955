// Costs by label, debits, and costs above a limit that was lowered at run time.
import assert from "node:assert/strict";
import test from "node:test";
import { OverLimitError, Paddlegate, points, TestClock, throttle, window } from "paddlegate-wasm";
import { Paddlegate as FullPaddlegate, TestClock as FullTestClock } from "paddlegate-wasm/full";

const LIMITS = { rpm: window(500, "minute"), tpm: points(150_000, 60), concurrency: 20 };

const invalid = (argument, message) => ({
  name: "InvalidError",
  argument,
  ...(message && { message }),
});

function llm(limits = LIMITS) {
  const clock = new TestClock(60_000_000);
  const pg = new Paddlegate("memory://", { clock });
  return { limiter: pg.limiter("llm", limits), clock, left: (label) => left(pg, label) };
}

/** What is left of one limit: a policy of this limit alone shares it. */
const left = (pg, label) =>
  pg.limiter("llm", { [label]: LIMITS[label] }).peek({ cost: 0 }).remaining;

test("a limit that is not named counts one", () => {
  const { limiter, left } = llm();
  const { label, remaining } = limiter.tryAcquire({ cost: { tpm: 2000 } });
  assert.deepEqual([label, remaining], ["concurrency", 19]);
  assert.deepEqual([left("rpm"), left("tpm")], [499, 148_000]);
  limiter.tryAcquire({ cost: { rpm: 0, tpm: 1 } });
  assert.deepEqual([left("rpm"), left("tpm")], [499, 147_999]);
  assert.equal(limiter.peek({ cost: { tpm: 147_999, rpm: 499 } }).allowed, true);
  assert.equal(limiter.peek({ cost: { tpm: 148_000 } }).label, "tpm");
  assert.deepEqual([left("rpm"), left("tpm")], [499, 147_999]);
});

test("a cost that is changed while the call waits is charged as it was", async () => {
  const pg = new Paddlegate();
  const limiter = pg.limiter("waits", { window: window(10, 60) });
  limiter.pause({ forMs: 60_000 });
  const cost = { window: 9 };
  const waiting = limiter.acquire({ cost, waitTimeoutMs: 120_000 });
  assert.equal(limiter.queue().length, 1);
  cost.window = 1;
  limiter.resume();
  const { decision } = await waiting;
  assert.equal(decision.remaining, 1);
});

test("every verb takes a cost by label", async () => {
  const { limiter, left } = llm();
  limiter.tryAcquire({ id: "a", cost: { tpm: 10 } });
  limiter.enqueue("b", { cost: { tpm: 10 } });
  assert.equal(limiter.claim("c", { cost: { tpm: 10 } }).status, "no_ticket");
  await limiter.acquire({ cost: { tpm: 10 } });
  await limiter.acquire({ cost: { tpm: 10 }, waitTimeoutMs: 0 });
  await limiter.withinLimit({ cost: { tpm: 10 } }, () => {});
  assert.deepEqual([left("rpm"), left("tpm")], [495, 149_950]);

  const limits = { rpm: window(5, "minute"), tpm: points(100, 60) };
  const clock = new TestClock(60_000_000);
  const pair = new Paddlegate("memory://", { clock }).limiter("pair", limits);
  assert.deepEqual(
    [60, 41, 40].map((tpm) => pair.allow({ cost: { tpm } })),
    [true, false, true],
  );

  const jobs = new FullPaddlegate("memory://", { clock: new FullTestClock(60_000_000) }).limiter(
    "jobs",
    limits,
  );
  const { action, permit } = jobs.admit("job", { estimate: { tpm: 60 } });
  assert.deepEqual([action, permit.correct({ tpm: 20 })], ["run", "settled"]);
  assert.equal(jobs.admit("other", { cost: { tpm: 81 }, onLimit: "drop" }).action, "drop");
  assert.equal(jobs.admit("third", { cost: { tpm: 80 } }).action, "run");
});

test("estimate and correction by label", async () => {
  const { limiter, left } = llm();
  await limiter.withinLimit({ estimate: { tpm: 2000 } }, (permit) => {
    assert.equal(permit.correct({ tpm: 500 }), "settled");
    assert.equal(permit.pointsUsed({ tpm: 100 }), "already");
  });
  assert.deepEqual([left("rpm"), left("tpm")], [499, 149_500]);

  const permit = limiter.tryAcquire({ estimate: { tpm: 2000, rpm: 3 } });
  assert.throws(() => limiter.correct(permit.permit, { tokens: 1 }), invalid("actual"));
  assert.equal(limiter.correct(permit.permit, { tpm: 2500, rpm: 2 }), "settled");
  assert.deepEqual([left("rpm"), left("tpm")], [497, 147_000]);
  const unestimated = await limiter.acquire({ cost: { tpm: 1 } });
  assert.throws(() => unestimated.correct({ tpm: 1 }), { argument: "estimate" });
});

test("mistakes in a cost by label are named and change nothing", () => {
  const { limiter, left } = llm();
  const tpm = 1;
  const labels = [
    { tokens: 1 },
    { tpm, rpms: 1 },
    { tpm, concurrency: 1 },
    { rpm: 1 },
    {},
    { tpm, Rpm: 1 },
    { tpm, "": 1 },
    { tpm, "\ud800": 1 },
  ];
  const units = [-1, 1.5, 1e12 + 1, 2 ** 53, Number.NaN, "1", true, null, undefined, 1n, {}, [1]];
  const others = [[], [["tpm", 1]], ["tpm", 1], new Map([["tpm", 1]]), new Date(), () => 1];
  const wrong = [...labels, ...units.map((count) => ({ tpm: count })), ...others];
  const { permit } = limiter.tryAcquire({ estimate: { tpm } });
  for (const cost of wrong) {
    const calls = {
      cost: [
        () => limiter.tryAcquire({ cost }),
        () => limiter.tryAcquire({ id: "a", cost }),
        () => limiter.peek({ cost }),
        () => limiter.enqueue("a", { cost }),
        () => limiter.debit(cost),
      ],
      estimate: [() => limiter.tryAcquire({ estimate: cost })],
      actual: [() => limiter.correct(permit, cost)],
    };
    for (const [argument, list] of Object.entries(calls)) {
      for (const call of list) assert.throws(call, invalid(argument), `${call} ${String(cost)}`);
    }
  }
  assert.throws(
    () => limiter.tryAcquire({ cost: { tpm: 1.5 } }),
    invalid("cost", "must be a whole number: tpm=1.5"),
  );
  assert.throws(
    () => limiter.tryAcquire({ cost: { tpm: "5" } }),
    invalid("cost", "must be a whole number: tpm is of type string"),
  );
  assert.throws(() => new Paddlegate().unlimited().allow({ cost: { tpm } }), invalid("cost"));
  assert.deepEqual([left("rpm"), left("tpm")], [499, 149_999]);
});

test("a debit charges whatever is left, up to one whole limit of debt", () => {
  const { concurrency: _, ...units } = LIMITS;
  const { limiter, clock, left } = llm(units);
  const debited = limiter.debit({ tpm: 149_900 });
  assert.deepEqual(
    [debited.status, debited.label, debited.limit, debited.remaining],
    ["granted", "tpm", 150_000, 100],
  );
  assert.deepEqual([left("rpm"), limiter.peek({ cost: 0 }).permit], [499, null]);
  assert.equal(limiter.debit({ tpm: 150_000, rpm: 0 }).remaining, 0);
  assert.equal(limiter.tryAcquire({ cost: { tpm: 1 } }).label, "tpm");
  clock.advance(60);
  assert.equal(left("tpm"), 100, "149,900 of debt have drained");
  assert.equal(limiter.debit(400).remaining, 0, "a number is of every limit that counts units");
  assert.equal(left("rpm"), 100);

  const calls = new Paddlegate().limiter("calls", { concurrency: 5, throttle: throttle(1) });
  assert.throws(() => calls.debit(1), invalid("debit"));
});

test("a limit that was lowered at run time below the cost refuses until it is raised", async () => {
  const { limiter, clock } = llm();
  limiter.override({ label: "tpm", limit: 1000 });
  const refused = limiter.tryAcquire({ cost: { tpm: 2000 } });
  assert.deepEqual(
    [refused.status, refused.reason, refused.label, refused.retryAfterMs],
    ["refused", "too_large", "tpm", null],
  );
  await assert.rejects(limiter.acquire({ cost: { tpm: 2000 }, waitTimeoutMs: 0 }), (error) => {
    assert.ok(error instanceof OverLimitError);
    return error.decision.reason === "too_large" && error.retryAfterMs === null;
  });
  limiter.override({ label: "tpm", limit: 1000, expiresInMs: 5000 });
  assert.equal(limiter.tryAcquire({ cost: { tpm: 2000 } }).retryAfterMs, 5000);
  clock.advance(5);
  assert.equal(limiter.tryAcquire({ cost: { tpm: 2000 } }).allowed, true, "at its end");
  limiter.override({ label: "tpm", limit: 1000 });
  limiter.restore();
  assert.equal(limiter.tryAcquire({ cost: { tpm: 2000 } }).allowed, true);
  assert.throws(() => limiter.tryAcquire({ cost: { tpm: 150_001 } }), invalid("cost"));
});

test("a waiting call waits for the end of the override", async () => {
  const limiter = new Paddlegate().limiter("llm", LIMITS);
  const began = performance.now();
  limiter.override({ label: "tpm", limit: 1000, expiresInMs: 50 });
  const { decision } = await limiter.acquire({ cost: { tpm: 2000 }, waitTimeoutMs: 10_000 });
  assert.equal(decision.allowed, true);
  assert.ok(performance.now() - began >= 45);
});
