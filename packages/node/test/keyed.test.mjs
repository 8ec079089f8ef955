// Limiters with a state for each key, and limiters without statistics. The numbers are in the vectors.
import assert from "node:assert/strict";
import test from "node:test";
import { Paddlegate, points, SKIPPED, TestClock, window } from "../index.mjs";
import { Limiter } from "../lib/limiter.js";
import { freePort, required, server, unique, until, withClock } from "./support.mjs";

const patient = { timeoutMs: 10_000 };
const urls = {
  memory: "memory://",
  redis: required("PADDLEGATE_TEST_URL"),
  cluster: required("PADDLEGATE_TEST_CLUSTER_URL"),
};
const stores = Object.entries(urls).map(([store, url]) => [store, new Paddlegate(url, patient)]);
const [[, memory]] = stores;
const invalid = (argument) => ({ name: "InvalidError", argument });
const keyed = { keyed: true };
const key = "alice";
const START = 1_700_000_000_000_000;
/** Who is not called looks by itself, after five seconds. */
const SOON_MS = 3_000;

/** The limiters for all verbs. */
const three = (pg, name, options) => ({
  rate: pg.window(`${name}-rate`, 10, "day", options),
  llm: pg.limiter(
    `${name}-llm`,
    { rpm: window(20, "day"), tpm: points(1000, "day"), concurrency: 2 },
    options,
  ),
  queue: pg.concurrent(`${name}-queue`, 2, options),
  permit: "id:1:1",
});

/** Calls of all verbs that touch a state, in an order that makes sense; `o` adds the key to their options. */
const CALLS = [
  ["allow", ({ rate }, o) => rate.allow(o({ cost: 2 }))],
  ["peek", ({ rate }, o) => rate.peek(o({ cost: 3 }))],
  ["debit", ({ rate }, o) => rate.debit(1, o())],
  ["refund", ({ rate }, o) => rate.refund(2, o())],
  ["tryAcquire", ({ rate }, o) => rate.tryAcquire(o({ id: "one", estimate: 3 }))],
  [
    "tryAcquire",
    async (it, o) => {
      const decision = await it.llm.tryAcquire(o({ estimate: { tpm: 100 } }));
      it.permit = decision.permit;
      return decision;
    },
  ],
  ["renew", (it, o) => it.llm.renew(it.permit, o())],
  [
    "extend",
    async (it, o) => {
      const extended = await it.llm.extend(it.permit, { tpm: 20 }, o());
      it.permit = extended.permit;
      return extended;
    },
  ],
  ["correct", (it, o) => it.llm.correct(it.permit, { tpm: 50 }, o())],
  ["release", (it, o) => it.llm.release(it.permit, o())],
  [
    "acquire",
    async ({ llm }, o) => {
      const permit = await llm.acquire(o({ estimate: { tpm: 10 } }));
      const renewed = await permit.renew();
      return [permit.decision, renewed, await permit.correct({ tpm: 1 }), await permit.release()];
    },
  ],
  [
    "acquire",
    async ({ llm }, o) => {
      const permit = await llm.acquire(o({ estimate: { tpm: 10 }, waitTimeoutMs: 0 }));
      const headers = { "x-ratelimit-limit-tokens": 900, "x-ratelimit-remaining-tokens": 700 };
      const response = { status: 200, headers, body: { usage: { total_tokens: 7 } } };
      const learned = await permit.learnFromResponse(response, { provider: "openai" });
      return [learned, await permit.release()];
    },
  ],
  [
    "withinLimit",
    ({ llm }, o) => llm.withinLimit(o({ cost: { tpm: 1 } }), (permit) => permit.renew()),
  ],
  ["peek", ({ llm }, o) => llm.peek(o({ cost: { tpm: 1 } }))],
  [
    "admit",
    async ({ llm }, o) => {
      const admitted = await llm.admit("job", o({ estimate: { tpm: 5 } }));
      const { permit } = admitted;
      return [admitted, await permit.pointsUsed({ tpm: 4 }), await permit.release()];
    },
  ],
  [
    "admitAll",
    async ({ queue }, o) => {
      const jobs = await queue.admitAll(["a", "b"], o());
      const released = [];
      for (const { permit } of jobs) released.push(await permit.release());
      return [jobs, released];
    },
  ],
  ["enqueue", ({ queue }, o) => queue.enqueue("one", o())],
  ["enqueue", ({ queue }, o) => queue.enqueue("two", o({ priority: 1, share: "a", weight: 2 }))],
  ["enqueue", ({ queue }, o) => queue.enqueue("three", o({ claimTimeoutMs: 1000 }))],
  ["claim", ({ queue }, o) => queue.claim("three", o())],
  ["claim", ({ queue }, o) => queue.claim("nobody", o())],
  ["inspect", ({ queue }, o) => queue.inspect(o({ count: 0 }))],
  ["queue", ({ queue }, o) => queue.queue(o({ count: 0, offset: 1 }))],
  ["ready", ({ queue }, o) => queue.ready(undefined, o())],
  ["ready", ({ queue }, o) => queue.ready(1, o())],
  ["turns", async ({ queue }, o) => queue.turns(o({ waitTimeoutMs: 0 })).next()],
  ["cancel", ({ queue }, o) => queue.cancel("three", o())],
  ["cancel", ({ queue }, o) => queue.cancel("three", o())],
  ["pause", ({ rate }, o) => rate.pause(o({ forMs: 1000 }))],
  ["allow", ({ rate }, o) => rate.allow(o())],
  ["block", ({ rate }, o) => rate.block(o({ forMs: 1000 }))],
  ["resume", ({ rate }, o) => rate.resume(o())],
  ["override", ({ rate }, o) => rate.override(o({ limit: 5 }))],
  ["runtimeState", ({ rate }, o) => rate.runtimeState(o())],
  ["restore", ({ rate }, o) => rate.restore(o())],
  ["applyOjsOverride", ({ queue }, o) => queue.applyOjsOverride({ concurrency: 1 }, o())],
  ["applyOjsSignal", ({ queue }, o) => queue.applyOjsSignal({ type: "rate_limited" }, o())],
  ["peek", ({ queue }, o) => queue.peek(o())],
  ["reportBudget", ({ rate }, o) => rate.reportBudget(o({ remaining: 1 }))],
  ["learnFromResponse", ({ rate }, o) => rate.learnFromResponse({ status: 429 }, o())],
  ["peek", ({ rate }, o) => rate.peek(o())],
  ["reset", ({ rate }, o) => rate.reset(o())],
  ["runtimeState", ({ rate }, o) => rate.runtimeState(o())],
];

/** What the calls answered, without ids. */
async function answers(limiters, o, clock) {
  const shown = [];
  for (const [i, [verb, call]] of CALLS.entries()) {
    clock.nowUs = START + i * 1000;
    const answer = await call(limiters, o);
    const withoutIds = (name, value) => (name === "id" || name === "permit" ? null : value);
    shown.push(`${i} ${verb} ${JSON.stringify(answer, withoutIds)}`);
  }
  return shown;
}

test("every method but those of all keys is tested with a key", () => {
  const verbs = new Set(CALLS.map(([verb]) => verb));
  // `allowSync` is of stores in memory; limiter.test.mjs has it.
  const others = ["constructor", "withKey", "stats", "history", "limits", "allowSync"];
  const methods = Object.getOwnPropertyNames(Limiter.prototype);
  assert.deepEqual([...verbs, ...others].sort(), methods.sort());
});

for (const [store, pg] of stores) {
  test(`${store}: each verb does with \`key\` what it does on the limiter of the key`, async () => {
    const clock = new TestClock(START);
    const clocked = withClock(store, clock);
    const name = unique();
    const ofKeys = three(clocked, name, keyed);
    const ofKey = (key) => ({
      rate: ofKeys.rate.withKey(key),
      llm: ofKeys.llm.withKey(key),
      queue: ofKeys.queue.withKey(key),
    });
    const plain = await answers(three(clocked, name), (options) => options, clock);
    const withOption = (key) => (options) => ({ ...options, key });
    assert.deepEqual(await answers(ofKeys, withOption("alice"), clock), plain);
    assert.deepEqual(await answers(ofKey("bob"), (options) => options, clock), plain);
    // The key of a call replaces that of its limiter.
    assert.deepEqual(await answers(ofKey("bob"), withOption("carol"), clock), plain);
    for (const limiter of Object.values(ofKey("dave"))) {
      assert.equal((await limiter.runtimeState()).inUse, false);
    }
  });

  test(`${store}: a key that is missing, wrong or not needed changes nothing`, async () => {
    const name = unique();
    const [plain, ofKeys] = [three(pg, name), three(pg, name, keyed)];
    const rejected = async (limiters, o, about) => {
      for (const [verb, call] of CALLS) {
        await assert.rejects(async () => call(limiters, o), invalid("key"), `${verb}: ${about}`);
      }
    };
    await rejected(ofKeys, (options) => options, "missing");
    await rejected(ofKeys, (options) => ({ ...options, key: null }), "null");
    await rejected(plain, (options) => ({ ...options, key: "alice" }), "not keyed");
    const wrong = [
      5,
      5n,
      true,
      {},
      ["a"],
      Symbol("a"),
      "",
      "k".repeat(513),
      "é".repeat(257),
      "\ud800",
    ];
    for (const key of wrong) {
      await rejected(ofKeys, (options) => ({ ...options, key }), String(key));
      assert.throws(() => ofKeys.rate.withKey(key), invalid("key"), String(key));
    }
    for (const key of [undefined, null, 5]) {
      assert.throws(() => ofKeys.rate.withKey(key), invalid("key"));
    }
    assert.throws(() => plain.rate.withKey("alice"), invalid("key"));
    assert.throws(() => pg.together([plain.rate]).withKey("alice"), invalid("key"));
    await assert.rejects(ofKeys.rate.stats({ key: "alice" }), invalid("key"));
    await assert.rejects(ofKeys.rate.withKey("alice").stats(), invalid("key"));
    assert.equal((await plain.rate.peek()).remaining, 10);
    assert.equal((await ofKeys.rate.stats()).granted, 0);
    for (const key of ["k".repeat(512), "é".repeat(256), " ", "a:b", "{tag}", "\0", "😀"]) {
      assert.equal((await ofKeys.rate.tryAcquire({ cost: 10, key })).allowed, true);
      assert.equal((await ofKeys.rate.withKey(key).peek()).allowed, false);
    }
  });

  test(`${store}: a key is the same in whatever way it goes to the addon`, async () => {
    const users = pg.window(unique("ways"), 3, "day", keyed);
    const lengths = [1, 2, 39, 40, 41, 42, 512];
    const ascii = lengths.map((length) => "~".repeat(length));
    const others = lengths.slice(0, 6).map((length) => `${"~".repeat(length)}\u007f`);
    const wide = lengths.slice(0, 6).map((length) => `${"~".repeat(length - 1)}\u0080`);
    const keys = [...ascii, ...others, ...wide, "\0", "~\0", "😀"];
    assert.equal(new Set(keys).size, keys.length);
    for (const key of keys) assert.equal(await users.allow({ key }), true);
    for (const key of keys) assert.equal((await users.tryAcquire({ key })).remaining, 1, key);
    for (const key of keys) assert.equal(await users.allow({ key }), true);
    for (const key of keys) assert.equal(await users.allow({ key }), false);
    for (const key of keys) assert.equal((await users.withKey(key).peek()).remaining, 0, key);
    assert.equal((await users.stats()).granted, 3 * keys.length);
    for (const key of ["", "~".repeat(513)]) {
      await assert.rejects(users.allow({ key }), invalid("key"));
    }
    // The key of the call, not that of the limiter, as for the other verbs.
    assert.equal(await users.withKey("~").allow({ key: "new" }), true);
    const plain = pg.window(unique("ways-plain"), 3, "day");
    await assert.rejects(plain.allow({ key: "a" }), invalid("key"));
    await assert.rejects(plain.allow({ key: "😀" }), invalid("key"));
  });

  test(`${store}: a call waits in the queue of its key`, async () => {
    const options = { ...keyed, lockTimeoutMs: 60_000, waitTimeoutMs: 60_000 };
    const work = pg.concurrent(unique(), 1, options);
    const waitsFor = async (position) => {
      const probe = await work.enqueue("probe", { key });
      await work.cancel("probe", { key });
      return probe.position === position;
    };
    const held = await work.acquire({ key });
    const waiting = work.withinLimit({ key }, (permit) => permit.fencingToken);
    await until(() => waitsFor(1));
    assert.equal(await work.withinLimit({ key: "bob", waitTimeoutMs: 0 }, () => "ran"), "ran");

    const controller = new AbortController();
    const { signal } = controller;
    const second = work.withKey(key).acquire({ signal });
    await until(() => waitsFor(2));
    controller.abort();
    await assert.rejects(second, { name: "AbortError" });
    await until(() => waitsFor(1));

    assert.equal(await work.release(held, { key: "bob" }), "unknown");
    const began = performance.now();
    assert.equal(await work.release(held, { key }), "released");
    assert.ok((await waiting) > held.fencingToken);
    assert.ok(performance.now() - began < SOON_MS, "it was not called");
    assert.equal((await work.peek({ key })).remaining, 1);
    const { granted, waited, leases, tickets } = await work.stats();
    assert.deepEqual(
      { granted, waited, leases, tickets },
      { granted: 3, waited: 1, leases: 0, tickets: 0 },
    );
  });

  // In memory a call that does not wait has its answer before the abort.
  if (store !== "memory") {
    test(`${store}: an aborted call gives its grant back to the state of its key`, async () => {
      const work = pg.concurrent(unique(), 1, { ...keyed, lockTimeoutMs: 60_000 });
      const shop = pg.points(unique(), 10, "day", keyed);
      const aborted = async (start) => {
        const controller = new AbortController();
        const options = { key, signal: controller.signal };
        const call = start(options);
        options.key = "bob";
        controller.abort();
        await assert.rejects(call, { name: "AbortError" });
      };
      const full = async (limiter) => {
        const { limit, remaining } = await limiter.peek({ key });
        return remaining === limit;
      };
      for (const id of [undefined, "id"]) {
        await aborted((options) => work.tryAcquire(Object.assign(options, { id })));
        await until(() => full(work));
        await aborted((options) => shop.tryAcquire(Object.assign(options, { id, estimate: 5 })));
        await until(() => full(shop));
      }
      await aborted((options) => work.acquire(options));
      await until(() => full(work));
      assert.equal((await work.stats()).granted, 3);
    });
  }

  test(`${store}: the statistics are of all keys`, async () => {
    const name = unique();
    const users = pg.window(name, 2, "day", keyed);
    const all = Array.from({ length: 100 }, (_, i) => `user-${i}`);
    // In a cluster this store must first find the nodes of all keys.
    const elsewhere = store === "memory" ? pg : new Paddlegate(urls[store], patient);
    const ofOthers = elsewhere.window(name, 2, "day", keyed);
    await Promise.all(all.flatMap((key) => [users.allow({ key, cost: 2 }), users.allow({ key })]));
    // Sends what this store has counted itself.
    assert.equal((await users.stats()).refused, 100);
    const [counts, ...others] = await Promise.all([
      ofOthers.stats(),
      ofOthers.stats({ signal: new AbortController().signal }),
      ...all.map((key) => ofOthers.peek({ key })),
    ]);
    assert.deepEqual([counts.granted, counts.refused, counts.units], [100, 100, 200]);
    assert.equal(others.shift().granted, 100);
    assert.ok(others.every(({ remaining }) => remaining === 0));
    await users.reset({ key: "user-1" });
    assert.equal((await users.peek({ key: "user-1" })).remaining, 2);
    const last = ofOthers.stats();
    const closed = store === "memory" ? undefined : elsewhere.close();
    assert.equal((await last).granted, 100);
    await closed;
  });

  test(`${store}: statistics in a group, and none at all`, async () => {
    const users = pg.concurrent(unique(), 1, { ...keyed, group: unique("group") });
    const held = await users.acquire({ key });
    assert.deepEqual([(await users.stats()).granted, (await users.stats()).leases], [1, 0]);
    assert.equal(await held.release(), "released");
    assert.ok((await users.stats()).heldTimeMs > 0);
    for (const options of [{ statistics: false }, { ...keyed, statistics: false }]) {
      const uncounted = pg.window(unique(), 1, "day", options);
      const call = options.keyed ? { key } : {};
      assert.deepEqual([await uncounted.allow(call), await uncounted.allow(call)], [true, false]);
      await assert.rejects(uncounted.stats(), invalid("statistics"));
      assert.ok((await pg.limiters()).every(({ name }) => name !== uncounted.name));
    }
  });

  test(`${store}: all keys are one entry in the list`, async () => {
    const group = store === "memory" ? null : unique("group");
    const users = pg.window(unique(), 5, "minute", { ...keyed, group });
    const plain = pg.window(users.name, 5, "minute", { group });
    for (const key of ["a", "b", "c"]) await users.allow({ key });
    await plain.allow();
    const listed = (await pg.limiters()).filter(({ name }) => name === users.name);
    assert.deepEqual(listed.map(({ keyed }) => keyed).sort(), [false, true]);
    const [entry] = listed.filter(({ keyed }) => keyed);
    assert.deepEqual([entry.group, entry.limits.length], [group, 1]);
  });

  test(`${store}: limiters with their keys decide together`, async () => {
    const group = unique("group");
    const org = pg.window(unique("org"), 3, "day", { ...keyed, group });
    const user = pg.points(unique("user"), 2, "day", { ...keyed, group });
    const all = pg.window(unique("all"), 100, "day", { group });
    const of = (acme, alice) => pg.together([org.withKey(acme), user.withKey(alice), all]);
    const both = of("acme", "alice");
    assert.deepEqual([both.keyed, both.key, both.group], [false, null, group]);
    const permit = await both.acquire({ estimate: 2 });
    assert.equal((await of("acme", "alice").tryAcquire({ cost: 1 })).limiter, user.name);
    assert.equal((await of("acme", "bob").tryAcquire({ cost: 2 })).limiter, org.name);
    assert.equal(await of("umbrella", "bob").allow({ cost: 2 }), true);
    assert.equal(await permit.correct({ [user.name]: 1, [all.name]: 2 }), "settled");
    assert.equal((await user.peek({ key: "alice" })).remaining, 1);
    assert.equal((await all.peek()).remaining, 96);
    for (const wrong of [[org], [all, user], [org.withKey("acme"), user]]) {
      assert.throws(() => pg.together(wrong), invalid("key"));
    }
    await assert.rejects(both.allow({ cost: 1, key: "alice" }), invalid("key"));
    await assert.rejects(both.acquire({ cost: 1, key: "alice" }), invalid("key"));
    assert.equal((await all.peek()).remaining, 96);
  });

  test(`${store}: documents`, async () => {
    const [users, plain] = [unique("users"), unique("plain")];
    const limit = { window: { limit: 1, per: "hour" } };
    const limiters = {
      [users]: { ...limit, keyed: true, statistics: false, on_limit: "drop" },
      [plain]: limit,
    };
    const loaded = pg.limitersFromDocument({ limiters });
    const ofUsers = loaded.get(users);
    assert.deepEqual([ofUsers.keyed, loaded.get(plain).keyed], [true, false]);
    assert.equal((await ofUsers.admit("job-1", { key })).action, "run");
    assert.equal((await ofUsers.admit("job-2", { key })).action, "drop");
    assert.equal((await ofUsers.withKey(key).admit("job-2")).action, "drop");
    assert.equal((await ofUsers.admitAll(["job-2"], { key }))[0].action, "drop");
    await assert.rejects(ofUsers.stats(), invalid("statistics"));
    assert.equal(await loaded.get(plain).allow(), true);
    assert.equal((await loaded.get(plain).stats()).granted, 1);
  });
}

test("the limiter of a key has the options of its limiter", async () => {
  const options = { ...keyed, waitTimeoutMs: 0, onLimit: "ignore", group: "acme" };
  const users = memory.concurrent(unique(), 1, options);
  assert.deepEqual([users.keyed, users.key], [true, null]);
  const alice = users.withKey(key);
  assert.deepEqual(
    { ...alice },
    { name: users.name, group: "acme", onLimit: null, keyed: true, key },
  );
  assert.ok(alice instanceof users.constructor);
  assert.equal(alice.withKey("bob").key, "bob");
  await alice.acquire();
  const began = performance.now();
  assert.equal(await alice.withinLimit(() => "ran"), SKIPPED);
  assert.equal(await users.withinLimit({ key }, () => "ran"), SKIPPED);
  assert.ok(performance.now() - began < SOON_MS, "it waited");
  assert.equal(await alice.withKey("bob").withinLimit(() => "ran"), "ran");
  const plain = memory.window(unique(), 1, 1);
  assert.deepEqual([plain.keyed, plain.key], [false, null]);
});

test("all factories take the options, which are true or false", async () => {
  const makers = {
    bucket: (options) => memory.bucket("x", 1, 60, options),
    window: (options) => memory.window("x", 1, 60, options),
    leaky: (options) => memory.leaky("x", 1, 60, options),
    points: (options) => memory.points("x", 1, 60, options),
    throttle: (options) => memory.throttle("x", 60, options),
    concurrent: (options) => memory.concurrent("x", 1, options),
    limiter: (options) => memory.limiter("x", { window: [1, 60] }, options),
    unlimited: (options) => memory.unlimited("x", options),
    paused: (options) => memory.paused("x", options),
  };
  for (const [name, make] of Object.entries(makers)) {
    const limiter = make({ keyed: true, statistics: false });
    assert.equal(limiter.keyed, true, name);
    await assert.rejects(limiter.peek(), invalid("key"), name);
    assert.equal((await limiter.peek({ key })).allowed, name !== "paused", name);
    await assert.rejects(limiter.stats(), invalid("statistics"), name);
    for (const keyed of [undefined, null, false]) {
      assert.equal(make({ keyed, statistics: null }).keyed, false);
    }
    for (const wrong of ["yes", 1, 0, "", {}]) {
      assert.throws(() => make({ keyed: wrong }), invalid("keyed"), name);
      assert.throws(() => make({ statistics: wrong }), invalid("statistics"), name);
    }
  }
  const one = [memory.window("x", 1, 60)];
  assert.throws(() => memory.together(one, { keyed: true }), invalid("keyed"));
  assert.throws(() => memory.together(one, { statistics: false }), invalid("statistics"));
});

test("the key is read once, and stays that of the call while it waits", async () => {
  const work = memory.concurrent(unique(), 1, { ...keyed, waitTimeoutMs: 60_000 });
  const held = await work.acquire({ key });
  const options = { key };
  const waiting = work.acquire(options);
  options.key = "bob";
  await held.release();
  await (await waiting).release();
  const users = memory.window(unique(), 10, "day", keyed);
  let reads = 0;
  const changing = () => ({
    get key() {
      reads += 1;
      return `key-${reads}`;
    },
  });
  for (const verb of ["tryAcquire", "acquire", "peek", "reset", "runtimeState"]) {
    reads = 0;
    await users[verb](changing());
    assert.equal(reads, 1, verb);
  }
});

for (const [store, pg] of stores) {
  test(`${store}: later calls of a key decide as those of a limiter without keys, and count once`, async () => {
    const users = pg.bucket(unique(), 3, "day", keyed);
    const one = pg.bucket(unique(), 3, "day");
    for (const verb of ["tryAcquire", "allow", "tryAcquire", "allow", "tryAcquire"]) {
      const [seen, expected] = [await users[verb]({ key }), await one[verb]()];
      for (const field of ["allowed", "limit", "remaining", "label", "reason"]) {
        assert.deepEqual(seen[field], expected[field], `${verb}: ${field}`);
      }
      if (verb === "allow") assert.equal(seen, expected);
    }
    assert.equal(await users.allow({ key: "bob" }), true);
    const { granted, refused, units } = await users.stats();
    assert.deepEqual([granted, refused, units], [4, 2, 4]);
  });

  test(`${store}: a wrong share is refused also when nothing else of the call needs a check`, async () => {
    const users = pg.bucket(unique(), 3, "day", keyed);
    assert.equal((await users.tryAcquire({ key, share: "acme" })).remaining, 2);
    await assert.rejects(users.tryAcquire({ key, share: "" }), invalid("share"));
    assert.equal((await users.peek({ key })).remaining, 2);
  });
}

test("without the store each key has limits of its own", async () => {
  const pg = new Paddlegate(`redis://127.0.0.1:${await freePort()}`);
  const local = { ...keyed, onUnavailable: "local", localSharePercent: 50 };
  const users = pg.window("users", 4, "day", local);
  const [alice, bob] = await Promise.all([
    users.tryAcquire({ key, cost: 2 }),
    users.withKey("bob").tryAcquire(),
  ]);
  assert.deepEqual([alice.degraded, alice.remaining], [true, 0]);
  assert.deepEqual([bob.degraded, bob.remaining], [true, 1]);
  assert.equal(await users.allow({ key }), false);
  const work = pg.concurrent("work", 1, { ...local, localSharePercent: 100, waitTimeoutMs: 0 });
  const held = await work.acquire({ key });
  assert.equal(await work.release(held, { key: "bob" }), "unknown");
  await assert.rejects(work.acquire({ key }), { name: "OverLimitError" });
  assert.equal(await held.release(), "released");
  const closed = pg.window("users", 4, "day", { ...keyed, onUnavailable: "fail_closed" });
  assert.equal((await closed.withKey(key).tryAcquire()).reason, "unavailable");
  assert.equal((await closed.tryAcquire({ key })).reason, "unavailable");
  await assert.rejects(pg.window("users", 4, "day", keyed).allow({ key }), {
    name: "UnavailableError",
  });
  await assert.rejects(closed.stats(), { name: "UnavailableError" });
});

/** A server that answers each command with one grant; `answer` is called with how many commands it has got. */
const counting = (t, answer) => {
  let commands = 0;
  return server(t, (socket) => {
    socket.on("data", (bytes) => {
      for (const _ of bytes.toString().matchAll(/HGETALL/g)) {
        commands += 1;
        answer(socket, commands, "*2\r\n$7\r\ngranted\r\n$1\r\n1\r\n");
      }
    });
  });
};

test("the statistics of all keys are up to sixteen commands, one after the other", async (t) => {
  const seen = [];
  const url = await counting(t, (socket, commands, reply) => {
    seen.push(commands);
    socket.write(reply);
  });
  const pg = new Paddlegate(url, patient);
  assert.equal((await pg.window("x", 1, 1, keyed).stats()).granted, 16);
  assert.equal(seen.length, 16);
  assert.equal((await pg.window("x", 1, 1, { ...keyed, group: "g" }).stats()).granted, 1);
  await pg.close();
});

test("they share one deadline", async (t) => {
  const slow = await counting(t, (socket, _, reply) => setTimeout(() => socket.write(reply), 100));
  const pg = new Paddlegate(slow, { timeoutMs: 500 });
  await assert.rejects(pg.window("x", 1, 1, keyed).stats(), { name: "UnavailableError" });
});

test("they fail together when the connection is lost, and the next call works", async (t) => {
  const url = await counting(t, (socket, commands, reply) => {
    if (commands === 5) socket.destroy();
    else socket.write(reply);
  });
  const limiter = new Paddlegate(url, patient).window("x", 1, 1, keyed);
  await assert.rejects(limiter.stats(), { name: "UnavailableError" });
  assert.equal((await limiter.stats()).granted, 16);
});
