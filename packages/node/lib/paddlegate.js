"use strict";

const { readFileSync } = require("node:fs");

const { slots, memory, ROWS } = require("./shared-buffer.js");
const { IN_LIMIT, InvalidError, NAMES, callNative, failure } = require("./errors.js");
const { Gate } = require("./gate.js");
const { MemoryHub, RedisHub } = require("./hubs.js");
const { Limiter } = require("./limiter.js");
const { kinds, limitSpecs, only, optional, setLockTimeout } = require("./limits.js");
const native = require("./native.js");
const { json } = require("./commands.js");
const { Redis } = require("./redis.js");
const { flag, numeric, text } = require("./request.js");
const { nativeClock, follow } = require("./test-clock.js");
const { setImmediate } = require("./timers.js");

/** A store, which creates limiters. */
class Paddlegate {
  #store;
  #redis;
  #hub;
  #closing = null;

  constructor(url, options) {
    // The environment of this thread: a worker may have its own, which the addon cannot read.
    const given = url ?? (process.env.PADDLEGATE_URL || "memory://");
    if (typeof given !== "string") {
      throw new InvalidError("url", `must be a string: url=${typeof given}`);
    }
    const { timeoutMs, clock } = only(["timeoutMs", "clock"], options);
    const timeout = timeoutMs === undefined || timeoutMs === null ? undefined : numeric(timeoutMs);
    const testClock = nativeClock(clock);
    this.#store = callNative(() => new native.Store(given, timeout, memory, testClock));
    const isMemory = typeof this.#store.timeoutMs() !== "number";
    this.#redis = isMemory ? null : new Redis(this.#store);
    this.#hub = isMemory ? new MemoryHub(this.#store) : new RedisHub(this.#store);
    if (testClock !== undefined) follow(clock, this.#hub);
  }

  concurrent(name, limit, options) {
    return this.limiter(name, [kinds.concurrency(limit)], options);
  }

  bucket(name, limit, interval, options) {
    const { offset, ...others } = only(["offset", ...OPTIONS], options);
    return this.limiter(name, [kinds.bucket(limit, interval, { offset })], others);
  }

  window(name, limit, interval, options) {
    return this.#single(name, kinds.window(limit, interval), options);
  }

  leaky(name, capacity, drain, options) {
    const { refund, ...others } = only(["refund", ...OPTIONS], options);
    return this.limiter(name, [kinds.leaky(capacity, drain, { refund })], others);
  }

  points(name, capacity, refill, options) {
    const { refund, ...others } = only(["refund", ...OPTIONS], options);
    return this.limiter(name, [kinds.points(capacity, refill, { refund })], others);
  }

  quota(name, limit, per, options) {
    const { timezone, starts, ...others } = only(["timezone", "starts", ...OPTIONS], options);
    return this.limiter(name, [kinds.quota(limit, per, { timezone, starts })], others);
  }

  throttle(name, interval, options) {
    const { limit, ...others } = only(["limit", ...OPTIONS], options);
    return this.limiter(name, [kinds.throttle(interval, { limit })], others);
  }

  unlimited(name = "unlimited", options = undefined) {
    const ofKinds = ["offset", "limit", "refund", "timezone", "starts"];
    const others = only([...ofKinds, "lockTimeoutMs", ...OPTIONS], options);
    for (const name of ofKinds) delete others[name];
    return this.limiter(name, [["unlimited"]], others);
  }

  paused(name, options) {
    return this.#single(name, ["paused"], options);
  }

  limiter(name, limits, options) {
    const {
      lockTimeoutMs,
      ttl,
      group,
      keyed,
      statistics,
      mode,
      blockAfter,
      aging,
      onUnavailable,
      localSharePercent,
      ...others
    } = only([...OPTIONS, "lockTimeoutMs"], options);
    const specs = limitSpecs(limits);
    const argumentNames = setLockTimeout(specs, lockTimeoutMs) ? NAMES : IN_LIMIT;
    const keptFor = optional(ttl);
    const given = text("name", name);
    const inGroup = (group ?? null) === null ? undefined : text("group", group);
    const isKeyed = flag("keyed", keyed);
    const counts = flag("statistics", statistics);
    const variant = [
      (mode ?? null) === null ? undefined : text("mode", mode),
      blockAfterArgument(blockAfter),
      optional(aging),
    ];
    const unavailable = onUnavailableArguments(onUnavailable, localSharePercent);
    const more = [keptFor, inGroup, isKeyed, counts, ...variant, ...unavailable];
    const run = callNative(() => this.#store.limiter(given, specs, ...more), argumentNames);
    const shown = { ...others, group: inGroup };
    return new Limiter(this.#parts, given, run, shown, { keyed: isKeyed });
  }

  together(limiters, options) {
    const others = only(["waitTimeoutMs", "onLimit"], options);
    const members = Limiter.pick(limiters);
    const name = callNative(() => this.#store.together());
    const { group } = members[0];
    const run = this.#store.loaded(0);
    return new Limiter(this.#parts, name, run, { ...others, group }, { members: members.length });
  }

  limitersFromDocument(document, options) {
    const { lockTimeoutMs, tenant, group, onUnavailable, localSharePercent } = only(
      ["lockTimeoutMs", "tenant", "group", "onUnavailable", "localSharePercent"],
      options,
    );
    const mode = onUnavailableArguments(onUnavailable, localSharePercent);
    const written = typeof document === "string" ? document : json("document", document);
    const beside = [
      (lockTimeoutMs ?? null) === null ? undefined : numeric(lockTimeoutMs),
      (tenant ?? null) === null ? undefined : text("tenant", tenant),
      (group ?? null) === null ? undefined : text("group", group),
    ];
    const loaded = callNative(() => this.#store.load(written, ...beside, ...mode));
    return new Map(
      loaded.map(({ name, waitTimeoutMs, onLimit, group, keyed }, i) => {
        const action = onLimit === "ignore" ? "ignore" : "raise";
        const options = { waitTimeoutMs, onLimit: action, group };
        const run = this.#store.loaded(i);
        return [name, new Limiter(this.#parts, name, run, options, { onLimit, keyed })];
      }),
    );
  }

  load(path, options) {
    if (typeof path !== "string" && !(path instanceof URL)) {
      throw new InvalidError("path", "must be the path or the file URL of a document");
    }
    const bytes = readFileSync(path);
    let written;
    try {
      written = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      throw new InvalidError("document", "at $: must be UTF-8");
    }
    return this.limitersFromDocument(written, options);
  }

  invantiveGate(document) {
    const written = typeof document === "string" ? document : json("document", document);
    return new Gate(
      this.#parts,
      callNative(() => this.#store.invantiveGate(written)),
    );
  }

  conductorLimiter(definition, run, options) {
    const { lockTimeoutMs, onUnavailable, localSharePercent } = only(
      ["lockTimeoutMs", "onUnavailable", "localSharePercent"],
      options,
    );
    const mode = onUnavailableArguments(onUnavailable, localSharePercent);
    const lease =
      lockTimeoutMs === undefined || lockTimeoutMs === null ? undefined : numeric(lockTimeoutMs);
    const texts = [
      typeof definition === "string" ? definition : json("definition", definition),
      typeof run === "string" ? run : json("run", run),
    ];
    const { name, onLimit } = callNative(() =>
      this.#store.conductorLimiter(...texts, lease, ...mode),
    );
    return new Limiter(this.#parts, name, this.#store.loaded(0), {}, { onLimit });
  }

  /** Ends the waits, completes the pending calls, and closes the connections. */
  close() {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async limiters(options) {
    const prefix = prefixOf(only(["prefix"], options));
    this.#hub.checkOpen();
    const tickets = [];
    const parts = this.#store.parts();
    let next = 0;
    let isFailed = false;
    const readParts = async () => {
      while (next < parts && !isFailed) {
        const part = next++;
        let cursor = 0;
        do {
          const ticket = this.#store.list(part, cursor, prefix);
          tickets.push(ticket);
          try {
            cursor = ticket > 0 ? await this.#redis.send(ticket, (row) => slots[row + 2]) : 0;
          } catch (error) {
            isFailed = true;
            throw error;
          }
        } while (cursor > 0 && !isFailed);
      }
    };
    const read = await Promise.allSettled(Array.from({ length: CONCURRENT_PARTS }, readParts));
    const limiters = listed(this.#store, tickets);
    const failed = read.find(({ status }) => status === "rejected");
    if (failed) throw failed.reason;
    return limiters;
  }

  async limiterPage(options) {
    const { cursor, ...others } = only(["prefix", "cursor"], options);
    const prefix = prefixOf(others);
    let at = (cursor ?? null) === null ? undefined : text("cursor", cursor);
    const store = this.#store;
    const tickets = [];
    try {
      do {
        // Each of these calls has a time-out of its own.
        this.#hub.checkOpen();
        const ticket = store.page(prefix, at);
        if (ticket < 0) throw failure(store, 0);
        tickets.push(ticket);
        at = ticket > 0 ? await this.#redis.send(ticket, following) : following(ROWS, 0, store);
      } while (at !== undefined && !store.isPage(tickets));
    } catch (error) {
      // Nothing of a failed page stays.
      listed(store, tickets);
      throw error;
    }
    return { limiters: listed(store, tickets), cursor: at ?? null };
  }

  async #close() {
    this.#hub.close();
    // The waits end in this turn of the event loop.
    await (this.#redis?.close() ?? new Promise((resolve) => setImmediate(resolve)));
    this.#store.close();
    this.#hub.closed();
  }

  get #parts() {
    return { store: this.#store, redis: this.#redis, hub: this.#hub };
  }

  #single(name, limit, options) {
    return this.limiter(name, [limit], only(OPTIONS, options));
  }
}

/** Returns the prefix of the names to list; empty for all. */
const prefixOf = ({ prefix }) => ((prefix ?? null) === null ? "" : text("prefix", prefix));

/** Returns the limiters in the answers to these calls. */
const listed = (store, tickets) =>
  store.listed(tickets).map(({ name, group, keyed, mode, limits, lastUsed, ttl }) => ({
    name,
    group: group ?? null,
    keyed,
    mode,
    limits,
    lastUsed: lastUsed ?? null,
    ttl,
  }));

/** Returns the cursor of what follows a part of a page of the limiter list; undefined at its end. */
const following = (_row, ticket, store) => store.text(ticket) ?? undefined;

/** The number of parts of the limiter list that are read concurrently; each of them takes time on the server. */
const CONCURRENT_PARTS = 16;

// The first releases of Node 18 lack `Symbol.asyncDispose`.
if (Symbol.asyncDispose) {
  Object.defineProperty(Paddlegate.prototype, Symbol.asyncDispose, {
    value() {
      return this.close();
    },
    configurable: true,
    writable: true,
  });
}

/** The options of every limiter. */
const OPTIONS = [
  "waitTimeoutMs",
  "onLimit",
  "ttl",
  "group",
  "keyed",
  "statistics",
  "mode",
  "blockAfter",
  "aging",
  "onUnavailable",
  "localSharePercent",
];

/** Returns a rule for blocks as an argument of the addon, which checks its numbers. */
function blockAfterArgument(rule) {
  if (rule === undefined || rule === null) return undefined;
  const names = ["refusals", "withinMs", "forMs"];
  const isRule = typeof rule === "object" && Object.keys(rule).every((it) => names.includes(it));
  if (!isRule) {
    const message =
      "must be an object such as { refusals: 100, withinMs: 60_000, forMs: 3_600_000 }";
    throw new InvalidError("blockAfter", message);
  }
  const [refusals, withinMs, forMs] = names.map((name) => numeric(rule[name]));
  return { refusals, withinMs, forMs };
}

/** Returns the behaviour of a limiter whose store is unavailable, as arguments of the addon. */
const onUnavailableArguments = (mode, localSharePercent) => [
  mode === undefined || mode === null ? undefined : text("onUnavailable", mode),
  localSharePercent === undefined || localSharePercent === null
    ? undefined
    : numeric(localSharePercent),
];

module.exports = { Paddlegate };
