// What upstream says, in the larger module: answers of APIs and the cost of queries.
import assert from "node:assert/strict";
import test from "node:test";
import { graphqlCost, Paddlegate, StreamUsage, TestClock } from "paddlegate-wasm/full";

/** A store whose clock stands still. */
const frozen = () => new Paddlegate("memory://", { clock: new TestClock(1_700_000_000_000_000) });

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

test("an answer settles its permit, once", async () => {
  const shop = new Paddlegate().points("shop", 1000, 20);
  const permit = await shop.acquire({ estimate: 252 });
  const response = { status: 200, headers: {}, body: JSON.stringify(answer(12, 988)) };
  assert.equal(permit.learnFromResponse(response, { provider: "shopify" }).settlement, "settled");
  assert.equal(permit.pointsUsed(12), "already");
  assert.ok(shop.peek({ cost: 0 }).remaining >= 988);

  const { permit: id } = shop.tryAcquire({ estimate: 100 });
  assert.equal(shop.learnFromResponse({ body: answer(50) }, { permit: id }).settlement, "settled");
  assert.equal(shop.learnFromResponse({ body: answer(50) }, { permit: id }).settlement, "already");
  assert.equal(shop.correct(id, 50), "already");
  assert.equal(
    shop.learnFromResponse({ body: answer(50) }, { permit: "strange" }).settlement,
    "unknown",
  );
});

test("upstream's numbers rule from then on", () => {
  const shop = frozen().points("shop", 500, 50);
  assert.equal(shop.learnFromResponse({ body: answer(12, 700) }).settlement, null);
  assert.deepEqual(shop.runtimeState().learned, {
    points: { kind: "points", limit: 1000, intervalMs: 20_000 },
  });
  assert.equal(shop.peek({ cost: 0 }).remaining, 700);
});

test("a lease without an estimate has nothing to settle, but learns", async () => {
  const clock = new TestClock(1_700_000_000_000_000);
  const pg = new Paddlegate("memory://", { clock });
  const limiter = pg.limiter("erp", { concurrency: 9000, bucket: [5000, 3600] });
  const early = await limiter.acquire();
  clock.advance(0.001);
  const late = await limiter.acquire();
  const left = (remaining) => ({
    headers: { "X-RateLimit-Limit": 5000, "X-RateLimit-Remaining": remaining },
  });
  assert.equal(late.learnFromResponse(left(700)).learned[0], "remaining[bucket]");
  // An answer to an earlier call says less.
  assert.equal(early.learnFromResponse(left(100)).ignored[0], "a later answer was learned before");
  assert.equal(limiter.peek({ cost: 0 }).remaining, 700);
  const refusal = { status: 429, headers: { "Retry-After": 30 }, body: answer(12) };
  assert.equal(late.learnFromResponse(refusal).settlement, "unknown");
  assert.ok(limiter.runtimeState().pausedForMs > 0);
  assert.equal(late.release(), "released");
  assert.throws(() => late.learnFromResponse({}, { permit: "x" }), { argument: "permit" });
  const rateless = await new Paddlegate().bucket("erp", 5, 3600).acquire();
  assert.equal(rateless.learnFromResponse({ body: answer(12) }).settlement, null);
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
  test(`a 429 pauses, its headers as ${form}`, () => {
    const limiter = frozen().window("api", 10, 60);
    assert.equal(limiter.learnFromResponse({ status: 429, headers }).learned[0], "pause");
    const { reason, retryAfterMs } = limiter.tryAcquire();
    assert.deepEqual([reason, retryAfterMs], ["paused", 30_000]);
    limiter.resume();
    limiter.learnFromResponse({ statusCode: 429, headers }, { maxPauseMs: 5000 });
    assert.equal(limiter.runtimeState().pausedForMs, 5000);
  });
}

const bytes = new TextEncoder().encode(`\ufeff${JSON.stringify(answer(12))}`);
const bodies = {
  text: JSON.stringify(answer(12)),
  bytes,
  "an array buffer": bytes.buffer,
  object: answer(12),
};
for (const [form, body] of Object.entries(bodies)) {
  test(`a body as ${form}`, async () => {
    const shop = new Paddlegate().points("shop", 1000, 1000);
    const permit = await shop.acquire({ estimate: 500 });
    assert.equal(permit.learnFromResponse({ body }).settlement, "settled");
    assert.ok(shop.peek({ cost: 0 }).remaining >= 988);
    assert.equal(shop.stats().corrections, 1);
  });
}

test("the usage of a stream settles its permit", async () => {
  const shop = new Paddlegate().points("stream", 1000, 60);
  const permit = await shop.acquire({ estimate: 100 });
  const usage = new StreamUsage();
  usage.feed('data: {"usage":{"total_');
  usage.feed(new TextEncoder().encode('tokens":12}}'));
  usage.feed(new TextEncoder().encode("\n\n").buffer);
  assert.deepEqual([usage.body, usage.ignored], ['{"usage":{"total_tokens":12}}', []]);
  const { settlement, cost } = permit.learnFromResponse({ status: 200, body: usage });
  assert.deepEqual([settlement, cost], ["settled", 12]);
  for (const chunk of [undefined, null, 5, {}]) {
    assert.throws(() => usage.feed(chunk), { name: "InvalidError", argument: "chunk" });
  }
});

test("a Response says its status and headers, and its body when that is given as text", async () => {
  const shop = new Paddlegate().points("shop", 1000, 1000);
  const permit = await shop.acquire({ estimate: 500 });
  const unread = new Response(JSON.stringify(answer(12)), { status: 200 });
  assert.equal(permit.learnFromResponse(unread).ignored[0], "not a rate limit answer");
  assert.equal(shop.stats().corrections, 0);
  const { status, headers } = unread;
  assert.equal(
    permit.learnFromResponse({ status, headers, body: await unread.text() }).settlement,
    "settled",
  );
  assert.equal(shop.stats().corrections, 1);
  shop.learnFromResponse(new Response(null, { status: 429, headers: { "Retry-After": "7" } }));
  assert.ok(shop.runtimeState().pausedForMs > 1000);
});

// The headers, the status, and what is left of sixty a minute or how long it pauses.
const spoken = {
  github: [{ "x-ratelimit-limit": 60, "x-ratelimit-remaining": 40 }, 200, 60, null], // of an hour
  linear: [{ "x-ratelimit-requests-remaining": 40 }, 200, 60, null], // of an hour
  openai: [
    { "x-ratelimit-limit-requests": 60, "x-ratelimit-remaining-requests": 40 },
    200,
    40,
    null,
  ],
  anthropic: [{ "anthropic-ratelimit-requests-remaining": 40 }, 200, 40, null],
  ietf: [{ RateLimit: "limit=60, remaining=40, reset=30" }, 200, 40, null],
  discord: [{ "x-ratelimit-remaining": 0, "x-ratelimit-reset-after": 1 }, 200, 0, 1000],
  stripe: [{ "retry-after": 5 }, 429, 0, 5000],
};
for (const [provider, [headers, status, remaining, pausedForMs]] of Object.entries(spoken)) {
  test(`what ${provider} says is heard`, () => {
    const api = frozen().bucket("api", 60, "minute");
    assert.equal(api.learnFromResponse({ status, headers }, { provider }).settlement, null);
    assert.equal(api.peek({ cost: 0 }).remaining, remaining);
    assert.equal(api.runtimeState().pausedForMs, pausedForMs);
  });
}

test("an answer says what was learned and what was not", () => {
  const api = frozen().bucket("api", 100, 60);
  const headers = { RateLimit: '"s";r=5;t=30', "RateLimit-Policy": '"s";q=1000000000000;w=60' };
  assert.deepEqual(api.learnFromResponse({ status: 200, headers }).ignored, [
    "limit: 1000000000000 is above max_learned, 1000 applies",
  ]);
  const { learned } = api.learnFromResponse({ status: 200, headers }, { maxLearned: 1e12 });
  assert.deepEqual(learned, ["limit", "remaining"]);
  const unsure = api.learnFromResponse({ headers: { "Retry-After": "30" } });
  assert.deepEqual(unsure.ignored, ["pause: status is missing"]);
  const discord = { "X-RateLimit-Bucket": "abcd1234", "X-RateLimit-Global": "true" };
  const refused = api.learnFromResponse({
    headers: discord,
    body: { retry_after: 2.5, global: true },
  });
  const { scope, bucket, pauseMs } = refused;
  assert.deepEqual(
    [scope, bucket, pauseMs, refused.learned],
    ["global", "abcd1234", 2500, ["pause"]],
  );
});

test("mistakes in answers are named, and change nothing", () => {
  const limiter = new Paddlegate().window("api", 10, 60);
  const cases = {
    response: [[undefined], [null], ["429"]],
    status: [[{ status: "429" }], [{ status: 1.5 }], [{ status: 70_000 }]],
    headers: [[{ headers: "a: b" }], [{ headers: [["a"]] }], [{ headers: 5 }]],
    body: [[{ body: 5 }], [{ body: { n: 1n } }]],
    provider: [
      [{}, { provider: "amazon" }],
      [{}, { provider: 5 }],
    ],
    maxPauseMs: [
      [{}, { maxPauseMs: "1s" }],
      [{}, { maxPauseMs: -1 }],
    ],
    defaultPauseMs: [
      [{}, { defaultPauseMs: "1s" }],
      [{}, { defaultPauseMs: -1 }],
    ],
    permit: [[{}, { permit: 5 }]],
    atUs: [[{}, { atUs: 1 }]],
    permitt: [[{}, { permitt: "x" }]],
  };
  for (const [argument, calls] of Object.entries(cases)) {
    for (const call of calls) {
      const thrown = { name: "InvalidError", argument };
      assert.throws(() => limiter.learnFromResponse(...call), thrown, JSON.stringify(argument));
    }
  }
  assert.equal(limiter.runtimeState().version, 0);
});

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
