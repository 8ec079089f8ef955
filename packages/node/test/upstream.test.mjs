// What upstream says: answers of APIs, the cost of queries, and documents.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";
import { graphqlCost, OverLimitError, Paddlegate, SKIPPED, StreamUsage } from "../index.mjs";
import { required, unique } from "./support.mjs";

const stores = {
  memory: new Paddlegate("memory://"),
  redis: new Paddlegate(required("PADDLEGATE_TEST_URL"), { timeoutMs: 10_000 }),
};
const answer = (actual, left = 1000) => ({
  data: {},
  extensions: {
    cost: {
      requestedQueryCost: 252,
      actualQueryCost: actual,
      throttleStatus: { maximumAvailable: 1000.0, currentlyAvailable: left, restoreRate: 50.0 },
    },
  },
});

for (const [store, pg] of Object.entries(stores)) {
  test(`${store}: an answer settles its permit, once`, async () => {
    const shop = pg.points(unique(), 1000, 20);
    const permit = await shop.acquire({ estimate: 252 });
    const response = { status: 200, headers: {}, body: JSON.stringify(answer(12, 988)) };
    assert.equal(
      (await permit.learnFromResponse(response, { provider: "shopify" })).settlement,
      "settled",
    );
    assert.equal(await permit.pointsUsed(12), "already");
    assert.ok((await shop.peek({ cost: 0 })).remaining >= 988);

    const { permit: id } = await shop.tryAcquire({ estimate: 100 });
    assert.equal(
      (await shop.learnFromResponse({ body: answer(50) }, { permit: id })).settlement,
      "settled",
    );
    assert.equal(
      (await shop.learnFromResponse({ body: answer(50) }, { permit: id })).settlement,
      "already",
    );
    assert.equal(await shop.correct(id, 50), "already");
    assert.equal(
      (await shop.learnFromResponse({ body: answer(50) }, { permit: "strange" })).settlement,
      "unknown",
    );
  });

  test(`${store}: a lease without an estimate has nothing to settle, but learns`, async () => {
    const limiter = pg.limiter(unique(), { concurrency: 9000, bucket: [5000, 3600] });
    const early = await limiter.acquire();
    const late = await limiter.acquire();
    const left = (remaining) => ({
      headers: { "X-RateLimit-Limit": 5000, "X-RateLimit-Remaining": remaining },
    });
    assert.equal((await late.learnFromResponse(left(700))).learned[0], "remaining[bucket]");
    // An answer to an earlier call says less.
    assert.equal(
      (await early.learnFromResponse(left(100))).ignored[0],
      "a later answer was learned before",
    );
    assert.equal((await limiter.peek({ cost: 0 })).remaining, 700);
    const refusal = { status: 429, headers: { "Retry-After": 30 }, body: answer(12) };
    assert.equal((await late.learnFromResponse(refusal)).settlement, "unknown");
    assert.ok((await limiter.runtimeState()).pausedForMs > 0);
    assert.equal(await late.release(), "released");
    await assert.rejects(late.learnFromResponse({}, { permit: "x" }), { argument: "permit" });
    const rateless = await pg.bucket(unique(), 5, 3600).acquire();
    assert.equal((await rateless.learnFromResponse({ body: answer(12) })).settlement, null);
  });

  const forms = {
    object: { "Retry-After": 30, "X-Nothing": undefined, "X-Null": null },
    lists: { "retry-after": ["30"], "set-cookie": ["a", "b"] },
    pairs: [
      ["retry-after", "30"],
      ["x", null],
    ],
    map: new Map([["RETRY-AFTER", 30]]),
    headers: new Headers({ "Retry-After": "30" }),
  };
  for (const [form, headers] of Object.entries(forms)) {
    test(`${store}: a 429 pauses all, its headers as ${form}`, async () => {
      const limiter = pg.window(unique(), 10, 60);
      assert.equal((await limiter.learnFromResponse({ status: 429, headers })).learned[0], "pause");
      const { reason, retryAfterMs } = await limiter.tryAcquire();
      assert.equal(reason, "paused");
      assert.ok(retryAfterMs > 20_000 && retryAfterMs <= 30_000);
      await limiter.resume();
      await limiter.learnFromResponse({ status: 429, headers }, { maxPauseMs: 5000 });
      assert.ok((await limiter.runtimeState()).pausedForMs <= 5000);
    });
  }

  const bodies = {
    text: JSON.stringify(answer(12)),
    buffer: Buffer.from(JSON.stringify(answer(12))),
    bytes: new TextEncoder().encode(`\ufeff${JSON.stringify(answer(12))}`),
    "an array buffer": new TextEncoder().encode(JSON.stringify(answer(12))).buffer,
    object: answer(12),
  };
  for (const [form, body] of Object.entries(bodies)) {
    test(`${store}: a body as ${form}`, async () => {
      const shop = pg.points(unique(), 1000, 1000);
      const permit = await shop.acquire({ estimate: 500 });
      assert.equal((await permit.learnFromResponse({ body })).settlement, "settled");
      assert.ok((await shop.peek({ cost: 0 })).remaining >= 988);
      assert.equal((await shop.stats()).corrections, 1);
    });
  }
}

test("the usage of a stream settles its permit", async () => {
  const shop = new Paddlegate("memory://").points(unique(), 1000, 60);
  const permit = await shop.acquire({ estimate: 100 });
  const usage = new StreamUsage();
  usage.feed('data: {"usage":{"total_');
  usage.feed(new TextEncoder().encode('tokens":12}}'));
  usage.feed(new TextEncoder().encode("\n\n").buffer);
  assert.deepEqual([usage.body, usage.ignored], ['{"usage":{"total_tokens":12}}', []]);
  const { settlement, cost } = await permit.learnFromResponse({ status: 200, body: usage });
  assert.deepEqual([settlement, cost], ["settled", 12]);
  for (const chunk of [undefined, null, 5, {}]) {
    assert.throws(() => usage.feed(chunk), { name: "InvalidError", argument: "chunk" });
  }
});

test("a Response says its status and headers, and its body when that is given as text", async () => {
  const shop = stores.memory.points(unique(), 1000, 1000);
  const permit = await shop.acquire({ estimate: 500 });
  const unread = new Response(JSON.stringify(answer(12)), { status: 200 });
  assert.equal((await permit.learnFromResponse(unread)).ignored[0], "not a rate limit answer");
  assert.equal((await shop.stats()).corrections, 0);
  const { status, headers } = unread;
  assert.equal(
    (await permit.learnFromResponse({ status, headers, body: await unread.text() })).settlement,
    "settled",
  );
  assert.equal((await shop.stats()).corrections, 1);
  await shop.learnFromResponse(
    new Response(null, { status: 429, headers: { "Retry-After": "7" } }),
  );
  assert.ok((await shop.runtimeState()).pausedForMs > 1000);
});

test("an answer of Node's own client is understood", async (t) => {
  const server = createServer((_, response) =>
    response.writeHead(429, { "Retry-After": "7" }).end("no"),
  ).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const response = await new Promise((resolve) => {
    get({ port: server.address().port, host: "127.0.0.1" }, resolve);
  });
  response.resume();
  const limiter = stores.memory.throttle(unique(), 1);
  await limiter.learnFromResponse(response);
  assert.ok((await limiter.runtimeState()).pausedForMs > 1000);
});

for (const [store, pg] of Object.entries(stores)) {
  test(`${store}: an answer says what was learned and what was not`, async () => {
    const api = pg.bucket(unique(), 100, 60);
    const headers = { RateLimit: '"s";r=5;t=30', "RateLimit-Policy": '"s";q=1000000000000;w=60' };
    const told = await api.learnFromResponse({ status: 200, headers });
    assert.deepEqual(told.ignored, ["limit: 1000000000000 is above max_learned, 1000 applies"]);
    assert.ok(told.learned.includes("remaining"));
    const { learned } = await api.learnFromResponse({ status: 200, headers }, { maxLearned: 1e12 });
    assert.deepEqual(learned, ["limit", "remaining"]);
    const unsure = await api.learnFromResponse({ headers: { "Retry-After": "30" } });
    assert.deepEqual(unsure.ignored, ["pause: status is missing"]);
    const discord = { "X-RateLimit-Bucket": "abcd1234", "X-RateLimit-Global": "true" };
    const body = { retry_after: 2.5, global: true };
    const refused = await api.learnFromResponse({ status: 429, headers: discord, body });
    const { scope, bucket, pauseMs } = refused;
    assert.deepEqual(
      [scope, bucket, pauseMs, refused.learned],
      ["global", "abcd1234", 2500, ["pause"]],
    );
    for (const maxLearned of [-1, 0.5, "5"]) {
      await assert.rejects(api.learnFromResponse({}, { maxLearned }), { argument: "maxLearned" });
    }
  });

  test(`${store}: what is said beside a document`, async () => {
    const job = { key: unique("k").replaceAll("_", "-"), concurrency: 1 };
    const options = { tenant: "acme", lockTimeoutMs: 90_000 };
    const [limiter] = pg.limitersFromDocument(job, options).values();
    assert.equal(limiter.name, `ojs/tenant/acme/key/${job.key}`);
    assert.equal((await limiter.tryAcquire()).leaseMs, 90_000);
    const guild = { name: "discord", reservoir: 5, timeWindow: 1000 };
    assert.deepEqual(
      [...pg.limitersFromDocument(guild, { group: "7" }).keys()],
      ["guild/discord:7"],
    );
    assert.throws(() => pg.limitersFromDocument(guild, { tenant: "acme" }), { argument: "tenant" });
    assert.throws(() => pg.limitersFromDocument(job, { group: "7" }), { argument: "group" });
  });
}

test("the cost of a query", () => {
  const query = "query ($n: Int = 10) { products(first: $n) { edges { node { id title } } } }";
  assert.equal(graphqlCost(query), 6);
  assert.equal(graphqlCost(query, { n: 50 }), 9);
  assert.equal(graphqlCost(query, '{"n": 50}', { rules: "shopify" }), 9);
  assert.equal(graphqlCost(query, null, { rules: "github" }), 1);
  const two = "query A { a { b } } mutation B { c { d } }";
  assert.equal(graphqlCost(two, {}, { operation: "A" }), 1);
  assert.equal(graphqlCost(two, {}, { operation: "B" }), 10);
  const cases = {
    query: [["{"], [5], [undefined], [two], ["\ud800"]],
    variables: [
      [query, "["],
      [query, 5],
      [query, { n: 1n }],
      [query, []],
    ],
    rules: [
      [query, {}, { rules: "linear" }],
      [query, {}, { rules: 5 }],
    ],
    operation: [[two, {}, { operation: "C" }]],
    rule: [[query, {}, { rule: "github" }]],
    options: [[query, {}, "github"]],
  };
  for (const [argument, calls] of Object.entries(cases)) {
    for (const call of calls) {
      assert.throws(() => graphqlCost(...call), { name: "InvalidError", argument }, argument);
    }
  }
});

for (const [store, pg] of Object.entries(stores)) {
  test(`${store}: a document makes limiters`, async (t) => {
    const [shop, stripe, quiet] = [unique("shop"), unique("stripe"), unique("quiet")];
    const document = {
      limiters: {
        [shop]: { points: { limit: 1000, refill: "20s" }, wait_timeout: "20ms" },
        [stripe]: {
          concurrency: { limit: 5, lock_timeout: "30s" },
          throttle: { every: "PT1M" },
          on_limit: "reschedule",
        },
        [quiet]: { concurrency: { limit: 0 }, wait_timeout: 0, on_limit: "ignore" },
      },
    };
    const limiters = pg.limitersFromDocument(document);
    assert.deepEqual([...limiters.keys()], [shop, stripe, quiet].sort());
    assert.deepEqual(
      [shop, stripe, quiet].map((name) => limiters.get(name).onLimit),
      ["raise", "reschedule", "ignore"],
    );
    assert.equal(await limiters.get(quiet).withinLimit(assert.fail), SKIPPED);
    const permit = await limiters.get(stripe).acquire({ waitTimeoutMs: 0 });
    assert.equal(permit.decision.leaseMs, 30_000);
    await assert.rejects(limiters.get(stripe).acquire({ waitTimeoutMs: 0 }), OverLimitError);
    assert.equal((await limiters.get(shop).tryAcquire({ cost: 1000 })).allowed, true);
    const began = performance.now();
    await assert.rejects(limiters.get(shop).acquire({ estimate: 1000 }), OverLimitError);
    assert.ok(performance.now() - began < 4000);
    // The same state as that of a limiter made by hand.
    assert.ok((await pg.points(shop, 1000, 20).peek({ cost: 0 })).remaining < 900);

    const folder = mkdtempSync(join(tmpdir(), "paddlegate-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const path = join(folder, "limits.json");
    writeFileSync(path, JSON.stringify(document));
    assert.deepEqual([...pg.load(path).keys()], [...limiters.keys()]);
    assert.equal(pg.load(pathToFileURL(path)).size, 3);
    assert.throws(() => pg.load(join(folder, "none.json")), { code: "ENOENT" });
    writeFileSync(path, Buffer.from([0x7b, 0xff, 0x7d]));
    assert.throws(() => pg.load(path), { name: "InvalidError", argument: "document" });
    for (const wrong of [5, undefined, null]) {
      assert.throws(() => pg.load(wrong), { name: "InvalidError", argument: "path" });
    }
  });
}

test("a document of another system, and mistakes in one", async () => {
  const key = unique("ojs").replaceAll("_", "-");
  const limiters = stores.memory.limitersFromDocument(`{"key": "${key}", "concurrency": 1}`);
  assert.equal(limiters.size, 1);
  const [limiter] = limiters.values();
  assert.equal((await limiter.tryAcquire()).allowed, true);
  assert.equal((await limiter.tryAcquire()).allowed, false);
  const wrong = ["", "{", "[]", {}, [], null, 5, undefined, { limiters: { x: { windw: {} } } }];
  for (const document of [...wrong, { limiters: 1n }]) {
    const thrown = { name: "InvalidError", argument: "document" };
    assert.throws(() => stores.memory.limitersFromDocument(document), thrown);
  }
  assert.throws(
    () =>
      stores.memory.limitersFromDocument({
        limiters: { x: { window: { limit: -1, per: "minute" } } },
      }),
    /at \$\.limiters\.x\.window\.limit/,
  );
});
