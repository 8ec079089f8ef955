// A cost for each limit: by label, in every method that takes one; charges afterwards; costs above a lowered limit; how
// long an estimate can be settled.
import assert from "node:assert/strict";
import test from "node:test";
import { runInNewContext } from "node:vm";
import { InvalidError, OverLimitError, Paddlegate, points, TestClock, window } from "../index.mjs";
import { required, unique, until, withClock } from "./support.mjs";

const patient = { timeoutMs: 10_000 };
const stores = {
  memory: new Paddlegate("memory://"),
  redis: new Paddlegate(required("PADDLEGATE_TEST_URL"), patient),
  cluster: new Paddlegate(required("PADDLEGATE_TEST_CLUSTER_URL"), patient),
};
const policy = { rpm: window(10, "day"), tpm: points(1000, "day") };
const llm = (pg, limits = policy) => pg.limiter(unique(), limits);

/** The units that are left of each limit of `policy`. */
async function left(limiter) {
  const requests = await limiter.peek({ cost: { rpm: 11, tpm: 0 } }).catch(() => null);
  assert.equal(requests, null, "more than the limit");
  const remaining = {};
  for (const [label, units] of Object.entries({ rpm: 10, tpm: 1000 })) {
    const cost = { rpm: 0, tpm: 0, [label]: units };
    const whole = await limiter.peek({ cost });
    if (whole.allowed) remaining[label] = units;
    else {
      assert.equal(whole.label, label);
      remaining[label] = whole.remaining;
    }
  }
  return remaining;
}

for (const [store, pg] of Object.entries(stores)) {
  test(`${store}: a cost that is changed while the call waits is charged as it was`, async () => {
    const limiter = pg.window(unique(), 10, 3600);
    await limiter.pause({ forMs: 60_000 });
    const cost = { window: 9 };
    const waiting = limiter.acquire({ cost, waitTimeoutMs: 120_000 });
    await until(async () => (await limiter.queue()).length === 1);
    cost.window = 1;
    await limiter.resume();
    assert.equal((await waiting).decision.remaining, 1);
  });

  test(`${store}: every method takes a cost by label`, async () => {
    const limiter = llm(pg);
    const cost = { tpm: 100 };
    const { label, remaining } = await limiter.tryAcquire({ cost });
    assert.deepEqual([label, remaining], ["rpm", 9], "what is not named counts the call");
    assert.equal(await limiter.allow({ cost }), true);
    assert.equal((await limiter.acquire({ cost })).id, null);
    assert.equal(await limiter.withinLimit({ cost }, () => "ran"), "ran");
    assert.equal((await limiter.tryAcquire({ cost, id: "a" })).allowed, true);
    assert.equal((await limiter.enqueue("b", { cost })).allowed, true);
    assert.equal((await limiter.admit("c", { cost })).action, "run");
    assert.equal((await limiter.acquire({ cost, waitTimeoutMs: 0 })).decision.allowed, true);
    assert.equal((await limiter.claim("d", { cost })).status, "no_ticket");
    assert.deepEqual(await left(limiter), { rpm: 2, tpm: 200 });
    const refused = await limiter.tryAcquire({ cost: { tpm: 201, rpm: 0 } });
    assert.deepEqual([refused.reason, refused.label], ["points", "tpm"]);
    assert.equal(await limiter.allow({ cost: { tpm: 0, rpm: 3 } }), false);
    const waiting = limiter.acquire({ cost: { tpm: 201 }, waitTimeoutMs: 5 });
    await assert.rejects(waiting, (error) => error instanceof OverLimitError);
    assert.equal((await limiter.enqueue("e", { cost: { tpm: 201 } })).status, "queued");
    assert.equal(await limiter.cancel("e"), "cancelled");
    assert.deepEqual(await left(limiter), { rpm: 2, tpm: 200 });
    assert.equal((await limiter.stats()).units, 800);
  });

  test(`${store}: an estimate by label is corrected by label`, async () => {
    const limiter = llm(pg);
    const settled = await limiter.withinLimit({ estimate: { tpm: 600 } }, async (permit) => {
      assert.deepEqual(await left(limiter), { rpm: 9, tpm: 400 });
      return permit.correct({ tpm: 200 });
    });
    assert.equal(settled, "settled");
    assert.deepEqual(await left(limiter), { rpm: 9, tpm: 800 });

    const { permit } = await limiter.tryAcquire({ estimate: { tpm: 100, rpm: 5 } });
    assert.equal(await limiter.correct(permit, { tpm: 300, rpm: 1 }), "settled");
    assert.equal(await limiter.correct(permit, { tpm: 1 }), "already");
    assert.deepEqual(await left(limiter), { rpm: 8, tpm: 500 });

    const byNumber = await limiter.acquire({ estimate: { tpm: 100 } });
    assert.equal(await byNumber.pointsUsed(3), "settled", "a number is for every limit");
    assert.deepEqual(await left(limiter), { rpm: 5, tpm: 497 });

    const job = await limiter.admit("job", { estimate: { tpm: 97 } });
    assert.equal(await job.permit.correct({ tpm: 0 }), "settled");
    assert.deepEqual(await left(limiter), { rpm: 4, tpm: 497 });
    assert.equal(await limiter.correct("unheard-of", { tpm: 1 }), "unknown");
  });

  test(`${store}: a limit that counts calls is not named`, async () => {
    const limiter = llm(pg, { tpm: points(1000, "day"), concurrency: 2 });
    const permit = await limiter.acquire({ estimate: { tpm: 400 } });
    assert.equal(await permit.correct({ tpm: 700 }), "settled");
    const refused = await limiter.tryAcquire({ cost: { tpm: 301 } });
    assert.deepEqual([refused.label, refused.remaining], ["tpm", 300]);
    assert.equal((await limiter.tryAcquire({ cost: { tpm: 1 } })).remaining, 0, "two leases");
    assert.equal(await permit.release(), "released");
    const named = limiter.tryAcquire({ cost: { tpm: 1, concurrency: 1 } });
    await assert.rejects(named, { name: "InvalidError", argument: "cost" });
  });

  test(`${store}: a debit charges in any case`, async () => {
    const limiter = llm(pg);
    const granted = await limiter.debit({ tpm: 900, rpm: 0 });
    assert.deepEqual([granted.status, granted.label, granted.remaining], ["granted", "rpm", 10]);
    const inDebt = await limiter.debit({ tpm: 900 });
    assert.deepEqual([inDebt.allowed, inDebt.label, inDebt.remaining], [true, "tpm", 0]);
    assert.ok(Object.isFrozen(inDebt));
    const { reason, label, retryAfterMs } = await limiter.tryAcquire({ cost: { tpm: 100 } });
    assert.deepEqual([reason, label], ["points", "tpm"]);
    // A debt of 800 and the 100 units return at 1000 a day.
    assert.ok(retryAfterMs > 0.89 * 86_400_000 && retryAfterMs <= 0.9 * 86_400_000);
    const other = llm(pg);
    assert.deepEqual(
      [(await other.debit(4)).label, await left(other)],
      ["rpm", { rpm: 6, tpm: 996 }],
    );
    await assert.rejects(pg.concurrent(unique(), 1).debit(1), { argument: "debit" });
    const aborted = limiter.debit(1, { signal: AbortSignal.abort("enough") });
    await assert.rejects(aborted, (reason) => reason === "enough");
  });

  test(`${store}: a cost above a limit that was lowered is too large until it is raised`, async () => {
    const limiter = llm(pg);
    const cost = { tpm: 500 };
    await limiter.override({ label: "tpm", limit: 100 });
    const refused = await limiter.tryAcquire({ cost });
    const { status, reason, label, limit, retryAfterMs, retryAfterUs } = refused;
    assert.deepEqual([status, reason, label, limit], ["refused", "too_large", "tpm", 100]);
    assert.deepEqual([retryAfterMs, retryAfterUs], [null, null]);
    assert.equal((await limiter.peek({ cost })).reason, "too_large");
    assert.equal(await limiter.allow({ cost: { tpm: 100 } }), true);
    await assert.rejects(limiter.acquire({ cost, waitTimeoutMs: 0 }), {
      name: "OverLimitError",
      reason: "too_large",
      retryAfterMs: null,
    });
    await assert.rejects(limiter.tryAcquire({ cost: { tpm: 1001 } }), { argument: "cost" });
    await limiter.override({ label: "tpm", limit: 100, expiresInMs: 60_000 });
    const until = (await limiter.tryAcquire({ cost })).retryAfterMs;
    assert.ok(until > 50_000 && until <= 60_000, `${until}`);
    await limiter.restore();
    assert.equal(await limiter.allow({ cost }), true);
  });

  test(`${store}: a call that waits keeps the cost that it had`, async () => {
    const limiter = pg.limiter(unique(), { tpm: points(1000, 0.5) });
    await limiter.debit(1400);
    const cost = { tpm: 300 };
    const waiting = limiter.acquire({ cost });
    cost.tpm = 1000;
    cost.other = 5;
    await waiting;
    assert.equal((await limiter.stats()).units, 1700);
  });

  test(`${store}: wrong costs by label change nothing`, async () => {
    const limiter = llm(pg);
    class Tokens {
      tpm = 5;
    }
    const bad = [
      ...[1.5, -1, Number.NaN, "5", null, undefined, true, 5n, 1e12 + 1, 2 ** 53, {}].map(
        (units) => ({ tpm: units }),
      ),
      { tokens: 5 },
      { tpm: 5, tokens: 5 },
      { tpm: 5, "": 1 },
      {},
      { rpm: 1 },
      [5],
      [],
      new Map([["tpm", 5]]),
      new Tokens(),
      new Date(),
      Object(5),
      () => ({ tpm: 5 }),
      "5",
      true,
      5n,
    ];
    const { permit } = await limiter.tryAcquire({ estimate: { tpm: 1 } });
    for (const units of bad) {
      const cases = {
        cost: [
          () => limiter.tryAcquire({ cost: units }),
          () => limiter.tryAcquire({ cost: units, id: "x" }),
          () => limiter.allow({ cost: units }),
          () => limiter.peek({ cost: units }),
          () => limiter.acquire({ cost: units }),
          () => limiter.acquire({ cost: units, waitTimeoutMs: 0 }),
          () => limiter.withinLimit({ cost: units }, assert.fail),
          () => limiter.enqueue("x", { cost: units }),
          () => limiter.claim("x", { cost: units }),
          () => limiter.admit("x", { cost: units }),
          () => limiter.debit(units),
        ],
        estimate: [
          () => limiter.tryAcquire({ estimate: units }),
          () => limiter.acquire({ estimate: units }),
          () => limiter.admit("x", { estimate: units }),
        ],
        actual: [() => limiter.correct(permit, units)],
      };
      for (const [argument, calls] of Object.entries(cases)) {
        for (const call of calls) {
          await assert.rejects(
            call,
            (error) => error instanceof InvalidError && error.argument === argument,
            `${argument}: ${call} ${String(units)}`,
          );
        }
      }
    }
    for (const [argument, call] of [
      ["cost", () => limiter.debit()],
      ["cost", () => limiter.debit(null)],
      ["cost", () => limiter.debit(1, { cost: 2 })],
      ["options", () => limiter.debit(1, null)],
      ["estimate", () => limiter.tryAcquire({ estimate: { tpm: 1 }, cost: 1 })],
      ["estimate", () => limiter.tryAcquire({ estimate: 1, cost: { tpm: 1 } })],
      ["cost", () => pg.unlimited(unique()).tryAcquire({ cost: { unlimited: 1 } })],
    ]) {
      await assert.rejects(call, { name: "InvalidError", argument }, `${call}`);
    }
    assert.deepEqual(await left(limiter), { rpm: 9, tpm: 999 });
  });
}

test("a number and an equal cost by label have the same effect", async () => {
  const pg = new Paddlegate("memory://", { clock: new TestClock(5_000_000) });
  const limits = { rpm: window(10, 60), tpm: points(10, 60) };
  const seen = [];
  for (const cost of [3, { rpm: 3, tpm: 3 }]) {
    const limiter = pg.limiter(`of ${typeof cost}`, limits);
    const steps = [
      await limiter.tryAcquire({ cost }),
      await limiter.peek({ cost }),
      await limiter.debit(cost),
      await limiter.allow({ cost }),
      await limiter.tryAcquire({ cost }),
      await limiter.stats(),
    ];
    const estimated = await limiter.tryAcquire({ estimate: 1 });
    assert.equal(estimated.allowed, true);
    assert.equal(await limiter.correct(estimated.permit, cost), "settled");
    seen.push([...steps, await limiter.peek({ cost: 0 })]);
  }
  assert.deepEqual(seen[0], seen[1]);
});

test("a cost by label may come from another realm, have no prototype or be frozen", async () => {
  const limiter = llm(stores.memory);
  const bare = Object.assign(Object.create(null), { tpm: 100 });
  for (const cost of [runInNewContext("({ tpm: 100 })"), bare, Object.freeze({ tpm: 100 })]) {
    assert.equal((await limiter.tryAcquire({ cost })).allowed, true);
  }
  assert.deepEqual(await left(limiter), { rpm: 7, tpm: 700 });
});

test("a cost that calls another limiter while it is read does no harm", async () => {
  const other = stores.memory.window(unique(), 9, 60);
  const limiter = llm(stores.memory);
  const cost = {
    get tpm() {
      other.allow({ cost: 2 });
      return 100;
    },
  };
  const { permit } = await limiter.tryAcquire({ estimate: cost });
  assert.equal(await limiter.correct(permit, cost), "settled");
  await limiter.debit(cost);
  assert.deepEqual(await left(limiter), { rpm: 8, tpm: 800 });
  assert.equal((await other.peek({ cost: 0 })).remaining, 3);
});

test("a call that is aborted while redis answers it gives its estimate by label back", async () => {
  const limiter = llm(stores.redis);
  const controller = new AbortController();
  const aborted = limiter.tryAcquire({ estimate: { tpm: 400 }, signal: controller.signal });
  controller.abort("enough");
  await assert.rejects(aborted, (reason) => reason === "enough");
  // The estimate is given back by a later call; each look is a round trip.
  for (let i = 0; i < 10_000 && (await left(limiter)).tpm < 1000; i++);
  assert.deepEqual(await left(limiter), { rpm: 10, tpm: 1000 });
});

for (const store of ["memory", "redis"]) {
  test(`${store}: the end of an override lets a large cost pass`, async () => {
    const clock = new TestClock(1_000_000);
    const pg = withClock(store, clock);
    const limiter = llm(pg);
    await limiter.override({ label: "tpm", limit: 100, expiresInMs: 5000 });
    const { retryAfterUs } = await limiter.tryAcquire({ cost: { tpm: 500 } });
    assert.equal(retryAfterUs, 5_000_000);
    clock.nowUs += retryAfterUs;
    assert.equal(await limiter.allow({ cost: { tpm: 500 } }), true);
  });
}

const HOUR_MS = 3_600_000;
const START = 1_700_000_000_000_000;

/** Calls of every method that takes an estimate and has a permit; each returns the id of the permit. */
const ESTIMATES = {
  tryAcquire: async ({ day }, asked) => (await day.tryAcquire(asked)).permit,
  "tryAcquire with an id": async ({ day }, asked) =>
    (await day.tryAcquire({ ...asked, id: "a" })).permit,
  acquire: async ({ day }, asked) => (await day.acquire(asked)).id,
  "acquire at once": async ({ day }, asked) =>
    (await day.acquire({ ...asked, waitTimeoutMs: 0 })).id,
  "acquire after a wait": async ({ second, clock }, asked) => {
    await second.debit(1000);
    const waiting = second.acquire(asked);
    await until(async () => (await second.stats()).tickets === 1);
    clock.advance(1);
    return (await waiting).id;
  },
  withinLimit: ({ day }, asked) => day.withinLimit(asked, ({ id }) => id),
  enqueue: async ({ day }, asked) => (await day.enqueue("a", asked)).permit,
  claim: async ({ second, clock }, asked) => {
    await second.debit(1000);
    assert.equal((await second.enqueue("a", asked)).status, "queued");
    clock.advance(1);
    return (await second.claim("a", asked)).permit;
  },
  admit: async ({ day }, asked) => (await day.admit("a", asked)).permit.id,
  "a key": async ({ users }, asked) => (await users.tryAcquire({ ...asked, key: "alice" })).permit,
  together: async ({ both }, asked) => (await both.tryAcquire(asked)).permit,
};

/** New limiters for these calls. */
function estimated(pg, clock) {
  const group = unique();
  const day = pg.points(unique(), 1000, "day", { group });
  const other = pg.window(unique(), 1000, "day", { group });
  return {
    clock,
    day,
    second: pg.points(unique(), 1000, 1),
    users: pg.points(unique(), 1000, "day", { keyed: true }),
    both: pg.together([day, other]),
  };
}

const limiterOf = (it, method) =>
  ({
    "acquire after a wait": it.second,
    claim: it.second,
    "a key": it.users.withKey("alice"),
    together: it.both,
  })[method] ?? it.day;

for (const store of Object.keys(stores)) {
  test(`${store}: every method takes the time to settle its estimate`, async () => {
    const clock = new TestClock(START);
    const pg = withClock(store, clock);
    for (const [method, call] of Object.entries(ESTIMATES)) {
      for (const [settleWithinMs, afterMs, settlement] of [
        [HOUR_MS, 360_000, "settled"],
        [HOUR_MS, HOUR_MS - 1, "settled"],
        [HOUR_MS, HOUR_MS, "late"],
        [300_000, 299_999, "settled"],
        [undefined, 299_999, "settled"],
        [undefined, 360_000, "late"],
        [null, 360_000, "late"],
      ]) {
        clock.nowUs = START;
        const it = estimated(pg, clock);
        const permit = await call(it, { estimate: 100, settleWithinMs });
        clock.advance(afterMs / 1000);
        const about = `${method}: ${settleWithinMs} after ${afterMs}`;
        assert.equal(await limiterOf(it, method).correct(permit, 10), settlement, about);
      }
    }
    await pg.close();
  });

  test(`${store}: a permit is settled days after its grant, by whichever of its methods`, async () => {
    const clock = new TestClock(START);
    const pg = withClock(store, clock);
    const limiter = pg.bucket(unique(), 1000, 1_000_000);
    const asked = { estimate: 100, settleWithinMs: 604_800_000 };
    const permits = [await limiter.acquire(asked), await limiter.acquire(asked)];
    const { permit } = await limiter.admit("job", asked);
    const late = await limiter.acquire(asked);
    clock.advance(604_799.999);
    assert.equal(await permits[0].correct(10), "settled");
    assert.equal(await permits[1].pointsUsed(10), "settled");
    const body = { usage: { total_tokens: 10 } };
    const told = await permit.learnFromResponse({ status: 200, body }, { provider: "openai" });
    assert.equal(told.settlement, "settled");
    clock.advance(0.001);
    assert.equal(await late.correct(10), "late");
    assert.equal((await limiter.peek()).remaining, 1000 - 30 - 100);
    await pg.close();
  });

  test(`${store}: a wrong time to settle changes nothing`, async () => {
    const limiter = llm(stores[store]);
    const calls = [
      (asked) => limiter.tryAcquire(asked),
      (asked) => limiter.tryAcquire({ ...asked, id: "x" }),
      (asked) => limiter.allow(asked),
      (asked) => limiter.peek(asked),
      (asked) => limiter.acquire(asked),
      (asked) => limiter.acquire({ ...asked, waitTimeoutMs: 0 }),
      (asked) => limiter.withinLimit(asked, assert.fail),
      (asked) => limiter.enqueue("x", asked),
      (asked) => limiter.claim("x", asked),
      (asked) => limiter.admit("x", asked),
    ];
    const estimate = { tpm: 10 };
    const wrong = [
      ...[0, -1, 299_999, 604_800_001, 2 ** 53, 1e300, Number.NaN, Number.POSITIVE_INFINITY],
      ...["300000", "PT1H", "", true, false, 300_000n, {}, [300_000], Symbol("a"), new Date()],
    ];
    const requests = wrong.map((settleWithinMs) => ({ estimate, settleWithinMs }));
    requests.push({ cost: { tpm: 10 }, settleWithinMs: HOUR_MS });
    requests.push({ settleWithinMs: HOUR_MS }, { cost: 0, settleWithinMs: HOUR_MS });
    for (const asked of requests) {
      for (const call of calls) {
        await assert.rejects(
          call(asked),
          (error) => error instanceof InvalidError && error.argument === "settleWithinMs",
          `${call} ${String(asked.settleWithinMs)}`,
        );
      }
    }
    const debit = limiter.debit(1, { settleWithinMs: HOUR_MS });
    await assert.rejects(debit, { name: "InvalidError", argument: "settleWithinMs" });
    assert.deepEqual(await left(limiter), { rpm: 10, tpm: 1000 });
    assert.equal((await limiter.stats()).tickets, 0);
    const allowed = await limiter.allow({ estimate, settleWithinMs: HOUR_MS });
    const { remaining } = await limiter.peek({ estimate, settleWithinMs: HOUR_MS });
    assert.deepEqual([allowed, remaining], [true, 9]);
  });
}

test("the message about a wrong time to settle has the option and its milliseconds", async () => {
  const limiter = stores.memory.points(unique(), 10, 60);
  const said = async (settleWithinMs) =>
    limiter.tryAcquire({ estimate: 1, settleWithinMs }).catch(({ message }) => message);
  assert.equal(await said(299_999), "must be from 5 minutes to 7 days: settleWithinMs=299999");
  assert.equal(
    await said("PT1H"),
    "must be a number of milliseconds from 0 to ten years: settleWithinMs=NaN",
  );
});

test("a call without a time to settle has not that of the call before", async () => {
  const clock = new TestClock(START);
  const limiter = withClock("memory", clock).points(unique(), 1000, "day");
  await limiter.tryAcquire({ estimate: 1, settleWithinMs: HOUR_MS });
  const { permit } = await limiter.tryAcquire({ estimate: 1 });
  assert.equal(await limiter.allow({ cost: 1 }), true);
  clock.advance(300);
  assert.equal(await limiter.correct(permit, 1), "late");
});
