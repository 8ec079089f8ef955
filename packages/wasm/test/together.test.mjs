// Several limiters that decide together: all are charged or none, and a decision names its limiter.
import assert from "node:assert/strict";
import test from "node:test";
import { OverLimitError, Paddlegate, points, SKIPPED, TestClock, window } from "paddlegate-wasm";
import { Paddlegate as FullPaddlegate } from "paddlegate-wasm/full";

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const invalid = (argument) => ({ name: "InvalidError", code: "INVALID", argument });
const left = (limiter, cost = 0) => limiter.peek({ cost }).remaining;
const leases = (...limiters) => limiters.map((limiter) => limiter.stats().leases);
const tickets = (...limiters) => limiters.map((limiter) => limiter.stats().tickets);

test("all are charged or none, and the refusal names its limiter", () => {
  const pg = new Paddlegate();
  const [org, user] = [pg.window("org", 5, "day"), pg.bucket("user", 2, "day")];
  const both = pg.together([org, user]);
  assert.deepEqual([both.name, both.group], ["org + user", null]);
  const granted = both.tryAcquire({ cost: 2 });
  assert.deepEqual([granted.allowed, granted.limiter, granted.remaining], [true, "user", 0]);
  const refused = both.tryAcquire();
  assert.deepEqual([refused.reason, refused.limiter], ["bucket", "user"]);
  assert.equal(JSON.parse(JSON.stringify(refused)).limiter, "user");
  assert.equal(both.allow(), false);
  assert.equal(both.peek({ cost: 1 }).limiter, "user");
  assert.deepEqual([left(org), left(user)], [3, 0]);
  assert.equal(org.peek().limiter, null);
  assert.equal(pg.together([org]).allow(), true);
  assert.equal(left(org), 2);
});

test("the limiters stay usable when the limiter of both is gone, and the other way round", () => {
  const pg = new Paddlegate();
  const make = () => pg.together([pg.window("a", 5, "day"), pg.window("b", 5, "day")]);
  for (let i = 0; i < 3; i += 1) assert.equal(make().allow(), true);
  assert.equal(left(make()), 2);
  const a = pg.window("a", 5, "day");
  pg.together([a, pg.window("b", 5, "day")]);
  assert.equal(left(a), 2);
});

test("the exception names the limiter that refused, and ignore skips", async () => {
  const pg = new Paddlegate();
  const [org, user] = [pg.window("org", 5, "day"), pg.window("user", 1, "day")];
  const both = pg.together([org, user], { waitTimeoutMs: 0 });
  assert.equal(await both.withinLimit(() => "ran"), "ran");
  await assert.rejects(both.acquire(), (error) => {
    assert.ok(error instanceof OverLimitError);
    assert.deepEqual([error.limiter, error.decision.limiter], ["user", "user"]);
    assert.match(error.message, /name="user"/);
    return true;
  });
  const ignoring = pg.together([org, user], { waitTimeoutMs: 0, onLimit: "ignore" });
  assert.equal(await ignoring.withinLimit(() => "ran"), SKIPPED);
  assert.equal(left(org), 4);
});

test("a cost by limiter and label, and its correction", async () => {
  const clock = new TestClock();
  const pg = new Paddlegate("memory://", { clock });
  const limits = { rpm: window(10, "day"), tpm: points(1000, "day") };
  const model = pg.limiter("openai:gpt-5", limits);
  const team = pg.window("team", 100, "day");
  const all = pg.together([model, team]);
  const of = (label) => left(pg.limiter(model.name, { [label]: limits[label] }));
  const rest = () => [of("rpm"), of("tpm"), left(team)];
  const cost = (tpm, team) => ({ "openai:gpt-5": { tpm }, team });
  assert.equal(all.tryAcquire({ cost: cost(100, 7) }).allowed, true);
  assert.deepEqual(rest(), [9, 900, 93]);
  await all.withinLimit({ estimate: cost(500, 50) }, (permit) => {
    assert.deepEqual(rest(), [8, 400, 43]);
    assert.equal(permit.correct(cost(100, 10)), "settled");
    assert.equal(all.correct(permit, cost(100, 10)), "already");
  });
  assert.deepEqual(rest(), [8, 800, 83]);
  assert.equal(all.allow({ cost: { tpm: 100, team: 3 } }), true);
  const { limiter, remaining } = all.debit({ tpm: 100, "openai:gpt-5": { rpm: 2 } });
  assert.deepEqual([limiter, remaining], ["openai:gpt-5", 5]);
  assert.deepEqual(rest(), [5, 600, 79]);
  const wrong = [
    { nobody: { tpm: 1 } },
    { "openai:gpt-5": { tokens: 1 } },
    { team: { tpm: 1 } },
    { "openai:gpt-5": { tpm: "1" } },
    { "openai:gpt-5": { tpm: { tpm: 1 } } },
    { "openai:gpt-5": new Map([["tpm", 1]]) },
    { "openai:gpt-5": { tpm: 1 }, team: null },
    { "openai:gpt-5": { tpm: 1 }, team: [1] },
    { "openai:gpt-5": { tpm: 1 }, team: ["tpm", 1] },
    { "openai:gpt-5": {} },
  ];
  for (const cost of wrong) {
    assert.throws(() => all.tryAcquire({ cost }), invalid("cost"), JSON.stringify(cost));
    await assert.rejects(all.acquire({ estimate: cost }), invalid("estimate"));
    assert.throws(() => all.correct("id+1:1+1:1", cost), invalid("actual"));
    assert.throws(() => all.debit(cost), invalid("cost"));
  }
  assert.throws(() => model.tryAcquire({ cost: cost(1, 1) }), invalid("cost"));
  assert.deepEqual(rest(), [5, 600, 79]);
});

test("leases are of all, and a turn may come from either", async () => {
  const pg = new Paddlegate();
  const [a, b] = ["a", "b"].map((name) => pg.concurrent(name, 1, { lockTimeoutMs: 60_000 }));
  const both = pg.together([a, b], { waitTimeoutMs: 60_000 });
  for (const [first, second] of [
    [a, b],
    [b, a],
  ]) {
    const [one, other] = [await first.acquire(), await second.acquire()];
    const waiting = both.withinLimit((permit) => {
      assert.ok(permit.fencingToken > 0 && permit.expiresInMs > 0);
      assert.equal(permit.renew(), true);
      return leases(a, b);
    });
    await pause(0);
    assert.equal(tickets(a)[0], 1);
    one.release();
    await pause(0);
    other.release();
    assert.deepEqual(await waiting, [1, 1]);
    assert.deepEqual(
      [leases(a, b), tickets(a, b)],
      [
        [0, 0],
        [0, 0],
      ],
    );
  }
  const held = await both.acquire();
  const controller = new AbortController();
  const aborted = both.acquire({ signal: controller.signal });
  await pause(0);
  controller.abort();
  await assert.rejects(aborted, { name: "AbortError" });
  assert.deepEqual(tickets(a, b), [0, 0]);
  assert.equal(held.release(), "released");
});

test("tickets and jobs", () => {
  const pg = new FullPaddlegate();
  const [queue, key] = [pg.concurrent("queue", 2), pg.concurrent("key", 1)];
  const both = pg.together([queue, key]);
  const first = both.admit("first");
  assert.deepEqual([first.action, first.decision.limiter], ["run", "key"]);
  const second = both.enqueue("second");
  assert.deepEqual([second.status, second.limiter, second.position], ["queued", "key", 0]);
  assert.equal(both.admit("third").action, "wait");
  assert.equal(both.claim("fourth").status, "no_ticket");
  first.permit.release();
  const claimed = both.claim("second");
  assert.deepEqual([claimed.status, claimed.ticket], ["granted", second.ticket]);
  assert.equal(both.cancel("second"), "cancelled");
  assert.equal(both.cancel("third"), "cancelled");
  assert.deepEqual(
    both.admitAll(["a", "b"]).map(({ action }) => action),
    ["wait", "wait"],
  );
  const [alone] = both.admitAll(["a"]);
  assert.equal(alone.permit.release(), "released");
  assert.deepEqual(leases(queue, key), [0, 0]);
});

test("what is of one name is not of several", () => {
  const pg = new FullPaddlegate();
  const both = pg.together([pg.window("a", 5, 60), pg.points("b", 5, 60)]);
  const calls = {
    statistics: () => both.stats(),
    history: () => both.history(),
    reset: () => both.reset(),
    pause: () => both.pause({ forMs: 1000 }),
    resume: () => both.resume(),
    override: () => both.override({ limit: 5 }),
    restore: () => both.restore(),
    runtimeState: () => both.runtimeState(),
    learn: () => both.reportBudget({ remaining: 5 }),
  };
  for (const [argument, call] of Object.entries(calls)) assert.throws(call, invalid(argument));
  assert.throws(() => both.learnFromResponse({ status: 429 }), invalid("learn"));
});

test("wrong limiters, groups and options", () => {
  const pg = new Paddlegate();
  const [a, b] = [pg.window("a", 5, 60), pg.window("b", 5, 60, { group: "acme" })];
  const four = Array.from({ length: 4 }, (_, i) => pg.window(`${i}`, 5, 60));
  const wrong = [
    undefined,
    null,
    a,
    "a",
    5,
    [],
    [a, a],
    [a, pg.throttle("a", 1)],
    [a, ...four],
    [pg.together([a])],
    [new Paddlegate().window("a", 5, 60)],
    [new FullPaddlegate().window("a", 5, 60)],
    [a, null],
    [a, "b"],
    [a, {}],
    [a, Object.create(a)],
    [a, pg],
    // biome-ignore lint/suspicious/noSparseArray: it may be one
    [a, , b],
    new Set([a]),
  ];
  for (const limiters of wrong) assert.throws(() => pg.together(limiters), invalid("limiters"));
  assert.equal(pg.together(four).name, "0 + 1 + 2 + 3");
  assert.throws(() => pg.together([a, b]), invalid("group"));
  for (const group of ["", "g".repeat(513), 5, {}, "\ud800"]) {
    assert.throws(() => pg.window("x", 5, 60, { group }), invalid("group"));
  }
  assert.deepEqual([b.group, pg.together([b]).group], ["acme", "acme"]);
  assert.equal(pg.window("x", 5, 60, { group: null }).group, null);
  b.allow();
  assert.deepEqual(
    pg.limiters().map(({ name, group }) => [name, group]),
    [["b", "acme"]],
  );
  for (const argument of ["ttl", "group", "lockTimeoutMs"]) {
    assert.throws(() => pg.together([a], { [argument]: undefined }), invalid(argument));
  }
  assert.throws(() => pg.together([a], { onLimit: "wait" }), invalid("onLimit"));
  assert.throws(() => pg.together([a], { waitTimeoutMs: -1 }), invalid("waitTimeoutMs"));
  assert.throws(() => pg.together([a, pg.concurrent("c", 1)]).allow(), { name: "InvalidError" });
  assert.equal(left(a), 5);
});
