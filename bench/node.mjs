// The share of Node: `node.mjs redis` and `node.mjs memory`.
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import Redis from "ioredis";
import { RateLimiterMemory } from "rate-limiter-flexible";
import { Paddlegate } from "../packages/node/index.mjs";
import { compare, fastest } from "./measure.mjs";

const URL = process.env.PADDLEGATE_URL;
const MANY = 64;
const HUGE = 1e9; // Nothing is refused: a refusal is less work.
const PATIENCE_MS = 20_000; // A busy machine may stop for a while; that is no failure here.

async function withRedis() {
  const lua = readFileSync(new globalThis.URL("gcra.lua", import.meta.url), "utf8");
  const client = new Redis(URL);
  const pipelining = new Redis(URL, { enableAutoPipelining: true });
  const digest = await client.script("LOAD", lua);
  const limiter = new Paddlegate(URL, { timeoutMs: PATIENCE_MS }).leaky("node", HUGE, 1);

  client.defineCommand("gcra", { numberOfKeys: 1, lua });
  const forms = {
    evalsha: () => client.evalsha(digest, 1, "gcra", 1, 1e12),
    defineCommand: () => client.gcra("gcra", 1, 1e12),
    "evalsha with auto pipelining": () => pipelining.evalsha(digest, 1, "gcra", 1, 1e12),
  };
  const ours = () => limiter.tryAcquire();
  for (const [variant, tasks, unit] of [
    ["one", 1, "us"],
    ["many", MANY, "k/s"],
  ]) {
    const contestants = Object.entries(forms).map(([name, call]) => [name, atOnce(tasks, call)]);
    await compare("node", variant, unit, await fastest(contestants), atOnce(tasks, ours));
  }
  assert((await limiter.tryAcquire()).allowed);
  client.disconnect();
  pipelining.disconnect();
}

function atOnce(tasks, call) {
  async function task(calls) {
    for (let i = 0; i < calls; i++) await call();
  }
  return (calls) => Promise.all(Array.from({ length: tasks }, () => task(calls / tasks)));
}

async function inMemory() {
  const pg = new Paddlegate("memory://");
  const limiter = pg.leaky("node", HUGE, 1);
  const perUser = pg.leaky("users", HUGE, 1, { keyed: true });
  const flexible = new RateLimiterMemory({ points: HUGE, duration: 3600 });
  async function reference(calls) {
    for (let i = 0; i < calls; i++) await flexible.consume("node");
  }
  async function ours(calls) {
    for (let i = 0; i < calls; i++) await limiter.allow();
  }
  function oursSync(calls) {
    for (let i = 0; i < calls; i++) limiter.allowSync();
  }
  function byHand(calls) {
    for (let i = 0; i < calls; i++) gcra("node");
  }
  async function byKey(calls) {
    for (let i = 0; i < calls; i++) await perUser.allow({ key: "ada" });
  }
  await compare("node memory", "allow", "ns", reference, ours);
  await compare("node memory", "by hand", "ns", byHand, oursSync);
  await compare("node memory", "keyed", "ns", ours, byKey);
  assert(await limiter.allow());
}

const meters = new Map();

/** What one writes by hand, as in python.py. */
function gcra(key, interval = 1e-6, burst = 1000) {
  const now = Date.now();
  const empty = Math.max(meters.get(key) ?? now, now) + interval;
  if (empty - burst > now) return false;
  meters.set(key, empty);
  return true;
}

await { redis: withRedis, memory: inMemory }[process.argv[2]]();
