// Several limiters that decide together: all are charged or none, and a decision names its limiter.
import assert from "node:assert/strict";
import test from "node:test";
import { InvalidError, OverLimitError, Paddlegate, points, SKIPPED, window } from "../index.mjs";
import { required, unique, until } from "./support.mjs";

const patient = { timeoutMs: 10_000 };
const stores = {
  memory: new Paddlegate("memory://"),
  redis: new Paddlegate(required("PADDLEGATE_TEST_URL"), patient),
  cluster: new Paddlegate(required("PADDLEGATE_TEST_CLUSTER_URL"), patient),
};
const invalid = (argument) => ({ name: "InvalidError", argument });
const left = async (limiter, cost = 0) => (await limiter.peek({ cost })).remaining;
const leases = async (...limiters) =>
  (await Promise.all(limiters.map((limiter) => limiter.stats()))).map(({ leases }) => leases);
const tickets = async (...limiters) =>
  (await Promise.all(limiters.map((limiter) => limiter.stats()))).map(({ tickets }) => tickets);

for (const [store, pg] of Object.entries(stores)) {
  test(`${store}: all are charged or none, and the refusal names its limiter`, async () => {
    const group = unique("group");
    const org = pg.window(unique("org"), 5, "day", { group });
    const user = pg.bucket(unique("user"), 2, "day", { group });
    const both = pg.together([org, user]);
    assert.equal(both.name, `${org.name} + ${user.name}`);
    assert.equal(both.group, group);
    const granted = await both.tryAcquire({ cost: 2 });
    assert.deepEqual([granted.allowed, granted.limiter, granted.remaining], [true, user.name, 0]);
    const refused = await both.tryAcquire();
    assert.deepEqual([refused.reason, refused.limiter], ["bucket", user.name]);
    assert.equal(JSON.parse(JSON.stringify(refused)).limiter, user.name);
    assert.equal(await both.allow(), false);
    assert.equal((await both.peek({ cost: 1 })).limiter, user.name);
    assert.deepEqual([await left(org), await left(user)], [3, 0]);
    assert.equal((await org.peek()).limiter, null);
    assert.equal(await pg.together([org]).allow(), true);
    assert.equal(await left(org), 2);
  });

  test(`${store}: a document gives groups`, async () => {
    const group = unique("group");
    const names = ["a", "b", "alone"].map(unique);
    const limits = { window: { limit: 5, per: "hour" } };
    const limiters = Object.fromEntries(
      names.map((name, i) => [name, i < 2 ? { ...limits, group } : limits]),
    );
    const loaded = pg.limitersFromDocument({ limiters });
    const [a, b, alone] = names.map((name) => loaded.get(name));
    assert.deepEqual([a.group, b.group, alone.group], [group, group, null]);
    assert.equal(await pg.together([a, b]).allow(), true);
    assert.equal(await left(pg.window(a.name, 5, "hour", { group })), 4);
    assert.throws(() => pg.together([a, alone]), invalid("group"));
  });

  test(`${store}: the exception names the limiter that refused, and "ignore" skips`, async () => {
    const group = unique("group");
    const org = pg.window(unique("org"), 5, "day", { group });
    const user = pg.window(unique("user"), 1, "day", { group });
    const both = pg.together([org, user], { waitTimeoutMs: 0 });
    assert.equal(await both.withinLimit(() => "ran"), "ran");
    await assert.rejects(both.acquire(), (error) => {
      assert.ok(error instanceof OverLimitError);
      assert.deepEqual([error.limiter, error.decision.limiter], [user.name, user.name]);
      assert.match(error.message, new RegExp(`name="${user.name}" reason=window`));
      return true;
    });
    const ignoring = pg.together([org, user], { waitTimeoutMs: 0, onLimit: "ignore" });
    assert.equal(await ignoring.withinLimit(() => "ran"), SKIPPED);
    assert.equal(await left(org), 4);
  });

  test(`${store}: a cost by limiter and label, and its correction`, async () => {
    const group = unique("group");
    const limits = { rpm: window(10, "day"), tpm: points(1000, "day") };
    const model = pg.limiter(unique("openai:gpt"), limits, { group });
    const team = pg.window(unique("team"), 100, "day", { group });
    const all = pg.together([model, team]);
    const rest = async () => {
      const tpm = pg.limiter(model.name, { tpm: limits.tpm }, { group });
      const rpm = pg.limiter(model.name, { rpm: limits.rpm }, { group });
      return [await left(rpm), await left(tpm), await left(team)];
    };
    const cost = (tpm, ofTeam) => ({ [model.name]: { tpm }, [team.name]: ofTeam });
    assert.equal((await all.tryAcquire({ cost: cost(100, 7) })).allowed, true);
    assert.deepEqual(await rest(), [9, 900, 93]);
    await all.withinLimit({ estimate: cost(500, 50) }, async (permit) => {
      assert.deepEqual(await rest(), [8, 400, 43]);
      assert.equal(await permit.correct(cost(100, 10)), "settled");
      assert.equal(await all.correct(permit, cost(100, 10)), "already");
    });
    assert.deepEqual(await rest(), [8, 800, 83]);
    // A flat object has names and labels, and a label may stand beside a name with labels.
    assert.equal(await all.allow({ cost: { tpm: 100, [team.name]: 3 } }), true);
    const mixed = { tpm: 100, [model.name]: { rpm: 2 } };
    const { limiter, remaining } = await all.debit(mixed);
    assert.deepEqual([limiter, remaining], [model.name, 5]);
    assert.deepEqual(await rest(), [5, 600, 79]);
    const job = await all.admit("job", { estimate: cost(600, 1) });
    assert.deepEqual([job.action, await job.permit.correct(cost(0, 0))], ["run", "settled"]);
    const wrong = [
      { nobody: { tpm: 1 } },
      { [model.name]: { tokens: 1 } },
      { [team.name]: { tpm: 1 } },
      { [model.name]: { tpm: "1" } },
      { [model.name]: { tpm: { tpm: 1 } } },
      { [model.name]: new Map([["tpm", 1]]) },
      { [model.name]: { tpm: 1 }, [team.name]: null },
      { [model.name]: { tpm: 1 }, [team.name]: [1] },
      { [model.name]: {} },
    ];
    for (const cost of wrong) {
      await assert.rejects(all.tryAcquire({ cost }), invalid("cost"), JSON.stringify(cost));
      await assert.rejects(all.acquire({ estimate: cost }), invalid("estimate"));
      await assert.rejects(all.correct("id+1:1+1:1", cost), invalid("actual"));
      await assert.rejects(all.debit(cost), invalid("cost"));
    }
    await assert.rejects(model.tryAcquire({ cost: cost(1, 1) }), invalid("cost"));
    assert.deepEqual(await rest(), [4, 600, 79]);
  });

  test(`${store}: the largest permit id`, async () => {
    const group = unique("group");
    const labels = Array.from("abcdefgh");
    const limits = Object.fromEntries(labels.map((label) => [label, points(1e12, "day")]));
    const names = Array.from({ length: 4 }, () => unique("n".repeat(400)));
    const all = pg.together(names.map((name) => pg.limiter(name, limits, { group })));
    // Units that differ, or the id would have one number for all.
    const ofEach = (units) => Object.fromEntries(labels.map((label, i) => [label, units - !i]));
    const cost = (units) => Object.fromEntries(names.map((name) => [name, ofEach(units)]));
    const id = "i".repeat(64);
    const { permit, limiter } = await all.tryAcquire({ id, estimate: cost(1e12) });
    assert.equal(permit.length, 64 + 4 * (18 + 12 + 7 * 14));
    assert.equal(limiter, names[0]);
    assert.equal(await all.correct(permit, cost(7)), "settled");
    assert.equal(await all.correct(permit, cost(7)), "already");
  });

  test(`${store}: leases are of all, and a turn may come from either`, async () => {
    const group = unique("group");
    const options = { group, lockTimeoutMs: 60_000 };
    const a = pg.concurrent(unique("a"), 1, options);
    const b = pg.concurrent(unique("b"), 1, options);
    const both = pg.together([a, b], { waitTimeoutMs: 60_000 });
    for (const [first, second] of [
      [a, b],
      [b, a],
    ]) {
      const [one, other] = [await first.acquire(), await second.acquire()];
      const waiting = both.withinLimit(async (permit) => {
        assert.ok(permit.fencingToken > 0 && permit.expiresInMs > 0);
        assert.equal(await permit.renew(), true);
        return leases(a, b);
      });
      await until(async () => (await tickets(a))[0] === 1);
      await one.release();
      await other.release();
      assert.deepEqual(await waiting, [1, 1]);
      assert.deepEqual(await leases(a, b), [0, 0]);
      assert.deepEqual(await tickets(a, b), [0, 0]);
    }
  });

  test(`${store}: an abort leaves neither lease nor ticket, but what the id held before`, async () => {
    const group = unique("group");
    const options = { group, lockTimeoutMs: 60_000 };
    const a = pg.concurrent(unique("a"), 2, options);
    const b = pg.concurrent(unique("b"), 2, options);
    const both = pg.together([a, b], { waitTimeoutMs: 60_000 });
    const aborted = async (start) => {
      const controller = new AbortController();
      const call = start(controller.signal);
      controller.abort();
      await assert.rejects(call, { name: "AbortError" });
    };
    const held = await both.acquire({ id: "mine+1:1" });
    // In memory a call that does not wait has its answer before the abort.
    if (store !== "memory") await aborted((signal) => both.tryAcquire({ signal }));
    await aborted((signal) => both.acquire({ id: "mine+1:1", signal }));
    await aborted((signal) => both.acquire({ id: "other+1:1", signal, estimate: 1 }));
    await until(async () => (await leases(a, b)).join() === "1,1");
    const full = await both.acquire();
    const controller = new AbortController();
    const waiting = both.acquire({ signal: controller.signal });
    await until(async () => (await tickets(a))[0] === 1);
    controller.abort();
    await assert.rejects(waiting, { name: "AbortError" });
    await until(async () => (await tickets(a, b)).join() === "0,0");
    assert.equal(await both.release(full), "released");
    assert.equal(await held.release(), "released");
    assert.deepEqual(await leases(a, b), [0, 0]);
  });

  test(`${store}: tickets and jobs`, async () => {
    const group = unique("group");
    const queue = pg.concurrent(unique("queue"), 2, { group });
    const key = pg.concurrent(unique("key"), 1, { group });
    const both = pg.together([queue, key]);
    const first = await both.admit("first");
    assert.deepEqual([first.action, first.decision.limiter], ["run", key.name]);
    const second = await both.enqueue("second");
    assert.deepEqual([second.status, second.limiter, second.position], ["queued", key.name, 0]);
    assert.equal((await both.admit("third")).action, "wait");
    assert.equal((await both.claim("fourth")).status, "no_ticket");
    await first.permit.release();
    const claimed = await both.claim("second");
    assert.deepEqual([claimed.status, claimed.ticket], ["granted", second.ticket]);
    assert.equal(await both.cancel("second"), "cancelled");
    assert.equal(await both.cancel("third"), "cancelled");
    const batch = await both.admitAll(["a", "b"]);
    assert.deepEqual([batch.map(({ action }) => action).join()], ["wait,wait"]);
    const [alone] = await both.admitAll(["a"]);
    assert.equal(await alone.permit.release(), "released");
    assert.deepEqual(await leases(queue, key), [0, 0]);
  });

  test(`${store}: what is of one name is not of several`, async () => {
    const group = unique("group");
    const limiters = [pg.window(unique(), 5, 60, { group }), pg.points(unique(), 5, 60, { group })];
    const both = pg.together(limiters);
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
    for (const [argument, call] of Object.entries(calls)) {
      await assert.rejects(call, invalid(argument), argument);
    }
    await assert.rejects(both.learnFromResponse({ status: 429 }), invalid("learn"));
  });

  test(`${store}: the list shows groups`, async () => {
    const group = unique("group");
    const [grouped, plain] = [pg.window(unique(), 5, 60, { group }), pg.window(unique(), 5, 60)];
    assert.deepEqual([grouped.group, plain.group], [group, null]);
    await Promise.all([grouped.allow(), plain.allow()]);
    const listed = await pg.limiters();
    const groupOf = ({ name }) => listed.find((info) => info.name === name).group;
    assert.deepEqual([groupOf(grouped), groupOf(plain)], [group, null]);
  });
}

test("wrong limiters, groups and options", async () => {
  const { memory: pg } = stores;
  const [a, b] = [pg.window("a", 5, 60), pg.window("b", 5, 60, { group: "acme" })];
  const four = Array.from({ length: 4 }, (_, i) => pg.window(`${i}`, 5, 60));
  const gate = pg.invantiveGate({ RateLimitControlSlotList: [{ Name: "a", ActionsPerSecond: 1 }] });
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
    [new Paddlegate("memory://").window("a", 5, 60)],
    [a, null],
    [a, "b"],
    [a, {}],
    [a, Object.create(a)],
    [a, gate],
    [a, pg],
    // biome-ignore lint/suspicious/noSparseArray: it may be one
    [a, , b],
    new Set([a]),
  ];
  for (const limiters of wrong) {
    assert.throws(() => pg.together(limiters), invalid("limiters"));
  }
  assert.equal(pg.together(four).name, "0 + 1 + 2 + 3");
  assert.throws(() => pg.together([a, b]), invalid("group"));
  for (const group of ["", "g".repeat(513), 5, {}, "\ud800"]) {
    assert.throws(() => pg.window("x", 5, 60, { group }), invalid("group"));
  }
  assert.equal(pg.window("x", 5, 60, { group: "é".repeat(256) }).group.length, 256);
  assert.equal(pg.window("x", 5, 60, { group: null }).group, null);
  for (const argument of ["ttl", "group", "onUnavailable", "lockTimeoutMs"]) {
    assert.throws(() => pg.together([a], { [argument]: undefined }), invalid(argument));
  }
  assert.throws(() => pg.together([a], { onLimit: "wait" }), invalid("onLimit"));
  assert.throws(() => pg.together([a], { waitTimeoutMs: -1 }), invalid("waitTimeoutMs"));
  assert.throws(() => pg.together([a], () => {}), InvalidError);
  const leasing = pg.together([a, pg.concurrent("c", 1)]);
  await assert.rejects(leasing.allow(), InvalidError);
  assert.equal(await left(a), 5);
});

test("cluster: limiters of different nodes need a group", async () => {
  const { cluster: pg } = stores;
  const both = pg.together(["a", "b"].map((name) => pg.window(unique(name), 5, "day")));
  await assert.rejects(both.allow(), invalid("group"));
});

test("without the store the strictest limiter decides, and the exception has the name of all", async () => {
  const pg = new Paddlegate("unix:///no/such/socket");
  const open = pg.window("open", 5, 60, { onUnavailable: "fail_open" });
  const closed = pg.window("closed", 5, 60, { onUnavailable: "fail_closed" });
  const { allowed, degraded, limiter } = await pg.together([open, closed]).tryAcquire();
  assert.deepEqual([allowed, degraded, limiter], [false, true, null]);
  await assert.rejects(pg.together([open, closed]).acquire(), { limiter: "open + closed" });
  const raising = pg.together([open, pg.window("raising", 5, 60)]);
  await assert.rejects(raising.tryAcquire(), { name: "UnavailableError" });
  assert.equal(await pg.together([open]).allow(), true);
});
