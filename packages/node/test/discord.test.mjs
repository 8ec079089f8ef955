// Bots of @discordjs/rest that share Discord's limits, against a Discord that counts for itself: tests/discord/server.mjs.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { REST } from "@discordjs/rest";
import { limited } from "../discord.mjs";
import { InvalidError, OverLimitError, Paddlegate, UnavailableError } from "../index.mjs";
import native from "../lib/native.js";
import { required, unique } from "./support.mjs";

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
  const given = { name: unique(), channels: [CHANNEL, OTHER], messages: 6, typing: 3 };
  const ends = await bots(3, server, given);
  const { user, global, invalid } = await server.report();
  assert.deepEqual(ends, { sent: 36, typed: 18 });
  assert.ok(Date.now() - began >= 5_000, "18 messages, three a second");
  // One window of each bucket, when the machine stalls while requests are on their way.
  assert.ok(user <= (process.env.PADDLEGATE_SOAK === "1" ? 0 : 12), `user=${user}`);
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

test("the library alone is refused", async (t) => {
  const server = await serve(t, { limit: 3, intervalMs: 1000 });
  await bots(3, server, { name: "", channels: [CHANNEL, OTHER], messages: 6, typing: 3 });
  assert.ok((await server.report()).user > 12);
});

test("bots share the global limit", async (t) => {
  const server = await serve(t, { limit: 1000, global: 20 });
  const began = Date.now();
  const given = { name: unique(), channels: channels(30), messages: 1 };
  const ends = await bots(3, server, { ...given, options: { perSecond: 18 } });
  assert.deepEqual(ends, { sent: 90 });
  assert.ok(Date.now() - began >= 4_000, "18 a second");
  // Requests that a machine holds back which stalls come with those of the next second.
  assert.ok((await server.report()).global <= 40);
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
