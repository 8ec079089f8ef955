// Bots of @discordjs/rest that share Discord's limits, against a Discord that counts for itself: tests/discord/server.mjs.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { DefaultRestOptions, REST } from "@discordjs/rest";
import { limited } from "../discord.mjs";
import { InvalidError, OverLimitError, Paddlegate, UnavailableError } from "../index.mjs";
import native from "../lib/native.js";
import { isSoak, redis, redisServer, required, unique } from "./support.mjs";

const url = required("PADDLEGATE_TEST_URL");
const shared = (file) => fileURLToPath(new URL(`../../../tests/discord/${file}`, import.meta.url));
const cases = (file) => JSON.parse(readFileSync(shared(file), "utf8"));
const CHANNEL = "100000000000000001";
const OTHER = "100000000000000002";
const WITH_SHARED_LIMIT = "100000000000000009";
const messages = (channel) => `/channels/${channel}/messages`;
const channels = (count) =>
  Array.from({ length: count }, (_, i) => String(BigInt(CHANNEL) + BigInt(i)));

/** Starts a Discord with numbers of its own, which ends with the test. */
async function serve(t, numbers = {}) {
  const child = spawn(process.execPath, [shared("server.mjs"), JSON.stringify(numbers)]);
  child.stderr.pipe(process.stderr);
  t.after(() => child.kill());
  const [line] = await once(child.stdout, "data");
  const port = Number(String(line));
  const report = async () => (await fetch(`http://127.0.0.1:${port}/report`)).json();
  return { port, report };
}

/** A client in this process; it ends with the test. */
function client(t, { port }, options, address = url) {
  const pg = new Paddlegate(address, { timeoutMs: address === url ? 20_000 : 100 });
  t.after(() => pg.close());
  const api = `http://127.0.0.1:${port}/api`;
  return new REST({ api, retries: 0, rejectOnRateLimit: ["/"], ...limited(pg, options) }).setToken(
    "t",
  );
}

/** Counts how often this machine stands still during a test. */
function stallsOf(t) {
  let stalls = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    if (performance.now() - last > 250) stalls += 1;
    last = performance.now();
  }, 50);
  t.after(() => clearInterval(timer));
  return () => stalls;
}

/** Runs bots in processes of their own; returns the sum of how their requests ended. */
async function bots(count, { port }, given) {
  const words = JSON.stringify({ port, url, channels: [CHANNEL], ...given });
  const worker = fileURLToPath(new URL("./discord-worker.mjs", import.meta.url));
  const run = async () => {
    const child = spawn(process.execPath, [worker, words]);
    child.stderr.pipe(process.stderr);
    const out = [];
    child.stdout.on("data", (data) => out.push(data));
    await once(child, "close");
    return JSON.parse(Buffer.concat(out));
  };
  const ends = {};
  for (const one of await Promise.all(Array.from({ length: count }, run))) {
    for (const [end, number] of Object.entries(one)) ends[end] = (ends[end] ?? 0) + number;
  }
  return ends;
}

test("routes are those of all languages", () => {
  for (const { method, path, now_ms = 0, route: expected } of cases("routes.json")) {
    const found = native.discordRoute(method, path, now_ms);
    const { name, major, isGlobal, isCallback, hasToken } = found ?? {};
    assert.deepEqual(
      found && [name, major, isGlobal, isCallback, hasToken],
      expected,
      `${method} ${path}`,
    );
  }
});

test("numbers are those of all languages", () => {
  for (const { headers, numbers } of cases("numbers.json")) {
    const given = ["Limit", "Remaining", "Reset-After"].map((it) => headers[`X-RateLimit-${it}`]);
    const found = native.discordWindow(...given, 50);
    assert.deepEqual(found && [found.units, found.intervalMs / 1000], numbers, String(given));
  }
});

test("bots share the limit of a bucket", async (t) => {
  const server = await serve(t, { limit: 3, intervalMs: 1000 });
  const began = Date.now();
  const stalls = stallsOf(t);
  const messages = isSoak ? 6 : 3;
  const given = { name: unique(), channels: [CHANNEL, OTHER], messages, typing: 3 };
  const ends = await bots(3, server, given);
  const { user, global, invalid } = await server.report();
  assert.deepEqual(ends, { sent: 6 * messages, typed: 18 });
  assert.ok(Date.now() - began >= (messages - 1) * 1_000, "three a second in each channel");
  // One window of each bucket whenever a busy machine holds back requests that are on their way.
  assert.ok(user <= (isSoak ? 0 : 12 * (1 + stalls())), `user=${user} stalls=${stalls()}`);
  assert.deepEqual([global, invalid], [0, user]);
});

test("a refusal whose body breaks is learned", async (t) => {
  const head = ["HTTP/1.1 429 Too Many Requests", "Content-Type: application/json"];
  head.push("Retry-After: 60", "X-RateLimit-Scope: user", "Content-Length: 100");
  let requests = 0;
  const server = createServer((socket) =>
    socket.once("data", () => {
      requests += 1;
      socket.end(`${head.join("\r\n")}\r\n\r\n{"retry_af`);
    }),
  );
  t.after(() => server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const rest = client(t, server.address(), { name: unique(), waitTimeoutMs: 1000 });
  const isBroken = (error) => !(error instanceof OverLimitError);
  await assert.rejects(rest.post(messages(CHANNEL), { body: {} }), isBroken);
  await assert.rejects(rest.post(messages(CHANNEL), { body: {} }), OverLimitError);
  assert.equal(requests, 1);
});

test("two clients of the library alone are refused", async (t) => {
  const server = await serve(t, { limit: 1, intervalMs: 600_000 });
  const name = unique();
  for (const [limit, refusals] of [
    [(options) => limited(new Paddlegate(url, { timeoutMs: 20_000 }), options), 0],
    [() => ({}), 1],
  ]) {
    const given = {
      retries: 0,
      rejectOnRateLimit: ["/"],
      api: `http://127.0.0.1:${server.port}/api`,
    };
    const clients = [1, 2].map(() => new REST({ ...given, ...limit({ name }) }).setToken("t"));
    const channel = refusals === 0 ? CHANNEL : OTHER;
    await clients[0].post(messages(channel), { body: {} });
    await assert.rejects(clients[1].post(messages(channel), { body: {} }));
    assert.equal((await server.report()).user, refusals);
  }
});

test("bots share the global limit", async (t) => {
  const server = await serve(t, { limit: 1000, global: 20 });
  const began = Date.now();
  const stalls = stallsOf(t);
  const count = isSoak ? 30 : 15;
  const given = { name: unique(), channels: channels(count), messages: 1 };
  const ends = await bots(3, server, { ...given, options: { perSecond: 18 } });
  assert.deepEqual(ends, { sent: 3 * count });
  assert.ok(Date.now() - began >= (count / 6 - 1) * 1_000, "18 a second");
  // Requests that a machine holds back which stalls come with those of the next second.
  const { global } = await server.report();
  assert.ok(global <= 20 * (1 + stalls()), `global=${global} stalls=${stalls()}`);
});

test("invalid requests stop all bots", async (t) => {
  const server = await serve(t, { banAfter: 100, forbid: true });
  const options = { invalidLimit: 12 };
  const name = unique();
  const ends = await bots(2, server, { name, channels: channels(20), messages: 3, options });
  const { invalid, banned } = await server.report();
  assert.ok(invalid >= 12 && invalid < 100 && banned === 0, `invalid=${invalid} banned=${banned}`);
  assert.deepEqual([ends["403"], ends.held], [invalid, 120 - invalid]);
  // A process that starts later is held back too, at its first request.
  const late = client(t, server, { name, ...options });
  await assert.rejects(late.get("/users/@me"), OverLimitError);
});

test("a refusal of the bot pauses all its processes", async (t) => {
  const server = await serve(t, { global: 1, globalMs: 600_000 });
  const name = unique();
  const [rest, elsewhere] = [client(t, server, { name }), client(t, server, { name })];
  await rest.post(messages(CHANNEL), { body: {} });
  await assert.rejects(rest.post(messages(OTHER), { body: {} }), { name: /RateLimitError/ });
  await assert.rejects(elsewhere.get("/users/@me"), OverLimitError);
  assert.equal((await server.report()).requests, 2);
  // Discord does not count the answers to interactions, and those of webhooks, for the bot.
  await elsewhere.post(`/interactions/${CHANNEL}/a-token/callback`, { body: {}, auth: false });
  await elsewhere.post(`/webhooks/${CHANNEL}/a-token`, { body: {}, auth: false });
});

test("a refusal of a shared resource pauses only that", async (t) => {
  const server = await serve(t, { sharedMs: 600_000 });
  const name = unique();
  const [rest, elsewhere] = [client(t, server, { name }), client(t, server, { name })];
  await assert.rejects(rest.post(messages(WITH_SHARED_LIMIT), { body: {} }), {
    scope: "shared",
  });
  await assert.rejects(elsewhere.post(messages(WITH_SHARED_LIMIT), { body: {} }), OverLimitError);
  await elsewhere.post(messages(CHANNEL), { body: {} });
  assert.equal((await server.report()).invalid, 0);
});

test("without a server onUnavailable decides", async (t) => {
  const server = await serve(t);
  const away = "redis://127.0.0.1:1";
  await assert.rejects(client(t, server, {}, away).get("/users/@me"), UnavailableError);
  const open = client(t, server, { onUnavailable: "fail_open" }, away);
  assert.equal((await open.get("/users/@me")).username, "bot");
});

test("a request that Discord has got does not fail, whatever happens to Redis", async (t) => {
  const server = await serve(t);
  const poison = (own) => {
    for (const key of redis(own.url, "keys", "*").split("\n")) {
      redis(own.url, "set", key, "poison");
    }
  };
  for (const [i, gone] of [(own) => own.stop(), poison, (_, pg) => pg.close()].entries()) {
    const own = await redisServer(t);
    const pg = new Paddlegate(own.url, { timeoutMs: 10_000 });
    const makeRequest = async (...request) => {
      const response = await DefaultRestOptions.makeRequest(...request);
      await gone(own, pg);
      return response;
    };
    const api = `http://127.0.0.1:${server.port}/api`;
    const rest = new REST({ api, retries: 0, ...limited(pg, { makeRequest }) }).setToken("t");
    await rest.post(messages(String(BigInt(CHANNEL) + BigInt(i))), { body: {} });
    assert.equal((await server.report()).requests, i + 1);
  }
});

test("bad input is named", () => {
  const pg = new Paddlegate("memory://");
  const wrong = (argument, options, store = pg) =>
    assert.throws(
      () => limited(store, options),
      (error) => error instanceof InvalidError && error.argument === argument,
      argument,
    );
  wrong("paddlegate", {}, "redis://localhost");
  for (const name of ["", 7, "x".repeat(129)]) wrong("name", { name });
  for (const perSecond of [0, 1.5, "50", 10_001]) wrong("perSecond", { perSecond });
  wrong("invalidLimit", { invalidLimit: -1 });
  wrong("waitTimeoutMs", { waitTimeoutMs: -1 });
  wrong("onUnavailable", { onUnavailable: "open" });
  wrong("makeRequest", { makeRequest: "fetch" });
  wrong("token", { token: "x" });
});
