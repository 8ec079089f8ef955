"use strict";

const assert = require("node:assert/strict");
const { resolve } = require("node:path");
const { pathToFileURL } = require("node:url");
const { newId } = require("../native.js");
const { Process, ask, leaving, open, until } = require("./processes.js");

/** The requests at once of which exactly the limit may pass. */
const REQUESTS = 200;
const LIMIT = 50;
/** A lease of a second is renewed after half of it. */
const LEASE_MS = 1_000;
/** Where nothing listens. */
const NOWHERE = "redis://127.0.0.1:1";
const FIELDS = {
  draft: ["ratelimit-policy", "ratelimit"],
  "draft-6": ["ratelimit-policy", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"],
  x: ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"],
};
const ALL_FIELDS = [...new Set(Object.values(FIELDS).flat())];

/** Returns the cases that an adapter must pass, as `{ name, run }`. */
function adapterKit(module, { url } = {}) {
  const isUrl = module instanceof URL || module.startsWith("file:");
  const href = isUrl ? String(module) : pathToFileURL(resolve(module)).href;
  const kit = new Kit(href);
  const stores = { memory: "memory://", ...(url !== undefined && { Redis: url }) };
  const cases = [];
  for (const [store, address] of Object.entries(stores)) {
    for (const [name, run] of Object.entries(CASES)) {
      cases.push({ name: `${name}, in ${store}`, run: () => run(kit.on(address)) });
    }
  }
  for (const [mode, status] of Object.entries({ raise: 503, fail_open: 200, fail_closed: 429 })) {
    const run = () => withoutRedis(kit.on(NOWHERE), mode, status);
    cases.push({ name: `while Redis is away, ${mode} is ${status}`, run });
  }
  cases.push({ name: "nothing is left that keeps a process alive", run: () => kit.end() });
  return cases;
}

/** The processes of a host; the second one is needed only where a store is shared. */
class Kit {
  #href;
  #processes = [];

  constructor(href) {
    this.#href = href;
  }

  on(url) {
    /** Serves a limiter in one process or several, calls `use` with them, and checks that nothing is open afterwards. */
    return async (setup, use) => {
      const { limits, keyed = false, mode, onUnavailable, processes = 1, keys = [null] } = setup;
      const { asked = [], options = {}, isChosen = false } = setup;
      const count = url === "memory://" ? 1 : processes;
      const members = Array.from({ length: count }, (_, i) => this.#process(i));
      const named = { name: `kit-${newId()}`, limits, isChosen, asked, options };
      const limiterOptions = { keyed, mode, onUnavailable, statistics: false };
      // Of a store that cannot be reached no clock matters.
      const nowUs = url === NOWHERE ? undefined : Date.now() * 1_000;
      const given = { url, nowUs, ...named, limiterOptions };
      const ports = await Promise.all(members.map((it) => it.ask("serve", given)));
      const [first] = members;
      const inspect = (key) => first.ask("inspect", key);
      try {
        await use({
          ports,
          port: ports[0],
          inspect,
          leases: async () => (await inspect()).leaseCount,
          tickets: async () => (await inspect()).ticketCount,
          advance: (seconds) => first.ask("advance", seconds),
          endStreams: () => first.ask("endStreams"),
        });
        if (url === NOWHERE) return;
        for (const key of keyed ? keys : [undefined]) {
          await until(async () => {
            const { leaseCount, ticketCount } = await inspect(key);
            return leaseCount === 0 && ticketCount === 0;
          });
        }
      } finally {
        const used = url === NOWHERE ? [] : keys;
        for (const member of members) await member.ask("close", used);
      }
    };
  }

  async end() {
    const codes = await Promise.all(this.#processes.map((it) => it.end()));
    assert.ok(
      codes.every((code) => code === 0),
      `something keeps a process alive: ${codes}`,
    );
  }

  #process(i) {
    this.#processes[i] ??= new Process(this.#href);
    return this.#processes[i];
  }
}

const many = (count, ports) =>
  Promise.all(Array.from({ length: count }, (_, i) => ask(ports[i % ports.length])));
const counted = (answers, status) => answers.filter((it) => it.status === status).length;
const hour = (limit) => ({ window: [limit, "hour"] });

/** Each case serves what it needs with `host`. */
const CASES = {
  async [`of ${REQUESTS} requests at once exactly the limit pass`](host) {
    await host({ limits: hour(LIMIT), processes: 2 }, async ({ ports }) => {
      const answers = await many(REQUESTS, ports);
      assert.equal(counted(answers, 200), LIMIT);
      assert.equal(counted(answers, 429), REQUESTS - LIMIT);
      for (const { status, body } of answers) if (status === 200) assert.equal(body, "ok");
    });
  },

  async "each key has a limit of its own, and without one nothing is limited"(host) {
    // Too long, not ASCII, with an escape, and twice the same field.
    const strange = ["k".repeat(5_000), "\xff\xfe\x80", "a\tb", ["a", "b"]];
    const setup = { limits: hour(1), keyed: true, keys: ["a", "b"], asked: ["key"] };
    await host(setup, async ({ port }) => {
      const status = async (key) => (await ask(port, "/", { headers: { "x-key": key } })).status;
      assert.deepEqual([await status("a"), await status("b"), await status("a")], [200, 200, 429]);
      for (const key of strange) {
        assert.deepEqual([await status(key), await status(key)], [200, 429], `key=${key}`);
      }
      assert.equal(counted(await many(3, [port]), 200), 3);
    });
  },

  async "without a key each address has a limit, and a proxy is trusted by name"(host) {
    const of = (port, forwarded) =>
      ask(port, "/", { headers: { "x-forwarded-for": forwarded } }).then(({ status }) => status);
    const setup = { limits: hour(1), keyed: true, keys: ["127.0.0.1"] };
    await host(setup, async ({ port }) => {
      assert.deepEqual([await of(port, "192.0.2.1"), await of(port, "192.0.2.2")], [200, 429]);
    });
    const options = { trustedProxies: ["127.0.0.1"] };
    await host({ ...setup, keys: ["192.0.2.1"], options }, async ({ port }) => {
      assert.deepEqual([await of(port, "192.0.2.1"), await of(port, "192.0.2.2")], [200, 200]);
      assert.equal(await of(port, "192.0.2.9, 192.0.2.1"), 429);
    });
  },

  async "a refusal is 429 with its fields and a problem, and a grant has the fields too"(host) {
    for (const fields of [undefined, "draft-6", "x", false]) {
      const names = fields === false ? [] : FIELDS[fields ?? "draft"];
      await host({ limits: hour(1), options: { fields } }, async ({ port }) => {
        const [granted, refused] = [await ask(port), await ask(port)];
        assert.deepEqual([granted.status, refused.status], [200, 429]);
        for (const { headers } of [granted, refused]) {
          assert.deepEqual(
            ALL_FIELDS.filter((name) => name in headers),
            ALL_FIELDS.filter((name) => names.includes(name)),
          );
        }
        assert.ok(!("retry-after" in granted.headers));
        assert.equal(refused.headers["retry-after"], "3600");
        assert.match(refused.headers["content-type"], /^application\/problem\+json/);
        const { status, retry_after } = JSON.parse(refused.body);
        assert.deepEqual({ status, retry_after }, { status: 429, retry_after: 3600 });
      });
    }
  },

  async "status and body of a refusal are those of the options"(host) {
    const setup = { limits: hour(1), asked: ["overLimit"], options: { status: 420 } };
    await host(setup, async ({ port }) => {
      await ask(port);
      const { status, headers, body } = await ask(port);
      assert.equal(status, 420);
      assert.match(headers["content-type"], /^application\/json/);
      assert.match(JSON.parse(body).over, /^kit-/);
    });
  },

  async "cost, skip, refund and a limiter of the request"(host) {
    await host({ limits: hour(10), asked: ["cost"] }, async ({ port, inspect }) => {
      assert.equal((await ask(port, "/", { headers: { "x-cost": "4" } })).status, 200);
      assert.equal((await inspect()).limits[0].taken, 4);
    });
    const setup = { limits: hour(10), asked: ["cost", "skip", "refundIf"], isChosen: true };
    await host(setup, async ({ port, inspect }) => {
      const of = async (path, headers) => (await ask(port, path, { headers })).status;
      const taken = async (units) => until(async () => (await inspect()).limits[0].taken === units);
      assert.equal(await of("/", { "x-cost": "4" }), 200);
      await taken(4);
      assert.equal(await of("/missing", { "x-cost": "5" }), 404);
      await taken(4);
      assert.equal(await of("/", { "x-cost": "6" }), 200);
      assert.equal(await of("/"), 429);
      assert.equal(await of("/", { "x-skip": "1" }), 200);
      assert.equal(await of("/", { "x-free": "1" }), 200);
    });
  },

  async "a lease lasts, renewed, until the body ends or the client goes"(host) {
    const setup = { limits: { concurrency: [1, LEASE_MS / 1_000] } };
    await host(setup, async ({ port, inspect, leases, advance, endStreams }) => {
      const held = await open(port, "/stream");
      assert.equal(await leases(), 1);
      assert.equal((await ask(port)).status, 429);
      await advance(0.9);
      const endsInMs = async () => (await inspect()).leases[0].endsInMs;
      await until(async () => (await endsInMs()) > LEASE_MS / 2);
      await endStreams();
      let body = "";
      for await (const part of held.setEncoding("utf8")) body += part;
      assert.equal(body, "begun\nended\n");
      await until(async () => (await leases()) === 0);

      const left = await open(port, "/stream");
      assert.equal(await leases(), 1);
      left.destroy();
      await until(async () => (await leases()) === 0);

      const ends = { "/": 200, "/missing": 404, "/fails": 500 };
      for (const [path, status] of Object.entries(ends)) {
        assert.equal((await ask(port, path)).status, status);
        await until(async () => (await leases()) === 0);
      }
      // Not every server answers a HEAD as a GET.
      for (const path of ["/", "/missing"]) {
        assert.notEqual((await ask(port, path, { method: "HEAD" })).status, 429);
        await until(async () => (await leases()) === 0);
      }
    });
  },

  async "a request waits for its turn, and one whose client goes leaves the queue"(host) {
    const setup = { limits: { concurrency: [1, 60] }, options: { wait: 60_000 } };
    await host(setup, async ({ port, tickets, endStreams }) => {
      const held = await open(port, "/stream");
      const waits = ask(port);
      await until(async () => (await tickets()) === 1);
      const leave = leaving(port, "/");
      await until(async () => (await tickets()) === 2);
      leave();
      await until(async () => (await tickets()) === 1);
      await endStreams();
      held.resume();
      assert.equal((await waits).status, 200);
    });
  },

  async "in shadow all requests pass"(host) {
    await host({ limits: hour(5), mode: "shadow" }, async ({ port, inspect }) => {
      assert.equal(counted(await many(20, [port]), 200), 20);
      assert.equal((await inspect()).limits[0].taken, 5);
    });
    const leased = { limits: { concurrency: 1 }, mode: "shadow" };
    await host(leased, async ({ port, endStreams }) => {
      const bodies = [await open(port, "/stream"), await open(port, "/stream")];
      for (const body of bodies) assert.equal(body.statusCode, 200);
      await endStreams();
      for (const body of bodies) for await (const _ of body);
    });
  },
};

async function withoutRedis(host, onUnavailable, expected) {
  await host({ limits: hour(1), onUnavailable }, async ({ port }) => {
    for (let i = 0; i < 2; i += 1) {
      const { status, headers } = await ask(port);
      assert.equal(status, expected);
      if (status >= 400) assert.match(headers["content-type"], /^application\/problem\+json/);
    }
  });
}

module.exports = { adapterKit };
