// What the vectors of header fields and keys of callers cannot say.
import assert from "node:assert/strict";
import test from "node:test";
import {
  callerKey,
  concurrency,
  Paddlegate,
  plainKey,
  quota,
  TestClock,
  window,
} from "../index.mjs";

const pg = new Paddlegate("memory://", { clock: new TestClock(1_000_000_000) });
const rpm = { label: "rpm", kind: "window", amount: 5, interval: 60, offset: 0 };

test("a limiter shows its policy", () => {
  const month = quota(9, "month", { timezone: "Europe/Berlin", starts: "2" });
  const limiter = pg.limiter("api", { rpm: window(5, 60), month, slots: concurrency(3) });
  assert.deepEqual(limiter.limits, [
    rpm,
    {
      label: "month",
      kind: "quota",
      amount: 9,
      interval: 2_678_400,
      offset: 0,
      per: "month",
      timezone: "Europe/Berlin",
      starts: "2",
    },
    { label: "slots", kind: "concurrency", amount: 3, interval: 30, offset: 0 },
  ]);
  assert.ok(Object.isFrozen(limiter.limits) && Object.isFrozen(limiter.limits[0]));
  assert.deepEqual(pg.unlimited().limits, []);
  const keyed = pg.limiter("keyed", { rpm: window(5, 60) }, { keyed: true });
  assert.deepEqual(keyed.limits, [rpm]);
  const both = pg.together([keyed.withKey("a"), limiter]);
  assert.deepEqual(both.limits, [rpm, ...limiter.limits]);
});

test("a decision has the fields of the newest draft by default, also of a wait", async () => {
  const limiter = pg.window("waits", 2, 60);
  const { decision } = await limiter.acquire({ cost: 2, limits: true });
  assert.deepEqual(decision.headers(), decision.headers("draft"));
  assert.equal(decision.headers(null)["RateLimit-Policy"], '"window";q=2;w=60');
  const refused = limiter.acquire({ limits: true, waitTimeoutMs: 0 });
  await assert.rejects(refused, (error) => {
    assert.equal(error.decision.headers("x")["Retry-After"], "60");
    return error.name === "OverLimitError";
  });
});

test("text and bytes give a key", () => {
  const bytes = (text) => new TextEncoder().encode(text);
  const none = plainKey("");
  for (const address of [undefined, null, "", bytes("")]) assert.equal(callerKey(address), none);
  assert.equal(
    callerKey(bytes("192.0.2.1"), { forwardedFor: null, ipv6Prefix: null }),
    "192.0.2.1",
  );
  const forwardedFor = bytes("a, 192.0.2.1");
  assert.equal(callerKey("10.0.0.1", { forwardedFor, trustedProxies: ["10.0.0.1"] }), "192.0.2.1");
  assert.equal(plainKey(bytes("a").buffer), "a");
  assert.equal(plainKey(Buffer.from("a")), "a");
});

test("other types are refused by name", async () => {
  const decision = await pg.window("types", 2, 60).peek();
  for (const [argument, call] of [
    ["fields", () => decision.headers(5)],
    ["address", () => callerKey(5)],
    ["forwardedFor", () => callerKey("", { forwardedFor: 5 })],
    ["trustedProxies", () => callerKey("", { trustedProxies: "10.0.0.1" })],
    ["trustedProxies", () => callerKey("", { trustedProxies: [5] })],
    ["ipv6Prefix", () => callerKey("", { ipv6Prefix: "64" })],
    ["ipv6Prefix", () => callerKey("", { ipv6Prefix: 1.5 })],
    ["prefix", () => callerKey("", { prefix: 64 })],
    ["text", () => plainKey(null)],
  ]) {
    assert.throws(call, { name: "InvalidError", argument }, argument);
  }
  assert.throws(() => callerKey("", { ipv6Prefix: 0 }), {
    message: "must be from 1 to 128: ipv6Prefix=0",
  });
});
