"use strict";

const { readFileSync } = require("node:fs");

const { slots, memory } = require("./shared-buffer.js");
const { IN_LIMIT, InvalidError, NAMES, callNative } = require("./errors.js");
const { Gate } = require("./gate.js");
const { MemoryHub, RedisHub } = require("./hubs.js");
const { Limiter } = require("./limiter.js");
const native = require("./native.js");
const { json } = require("./commands.js");
const { Redis } = require("./redis.js");
const request = require("./request.js");
const { nativeClock } = require("./test-clock.js");

const { numeric, span, text } = request;

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
  }

  concurrent(name, limit, options) {
    return this.limiter(name, [["concurrency", limit]], options);
  }

  bucket(name, limit, interval, options) {
    const { offset, ...others } = only(["offset", ...OPTIONS], options);
    return this.limiter(name, [["bucket", limit, interval, offset]], others);
  }

  window(name, limit, interval, options) {
    return this.#single(name, ["window", limit, interval], options);
  }

  leaky(name, capacity, drain, options) {
    return this.#single(name, ["leaky", capacity, drain], options);
  }

  points(name, capacity, refill, options) {
    return this.#single(name, ["points", capacity, refill], options);
  }

  throttle(name, interval, options) {
    const { limit = 1, ...others } = only(["limit", ...OPTIONS], options);
    return this.limiter(name, [["throttle", limit, interval]], others);
  }

  unlimited(name = "unlimited", options = undefined) {
    const {
      offset: _,
      limit: __,
      ...others
    } = only(["offset", "limit", "lockTimeoutMs", ...OPTIONS], options);
    return this.limiter(name, [["unlimited"]], others);
  }

  paused(name, options) {
    return this.#single(name, ["paused"], options);
  }

  limiter(name, limits, options) {
    const names = [...OPTIONS, "lockTimeoutMs"];
    const { lockTimeoutMs, ttl, onUnavailable, localSharePercent, ...others } = only(
      names,
      options,
    );
    const specs = limitList(limits).map(spec);
    const argumentNames = setLockTimeout(specs, lockTimeoutMs) ? NAMES : IN_LIMIT;
    const keptFor = optional(ttl);
    const given = text("name", name);
    const mode = onUnavailableArguments(onUnavailable, localSharePercent);
    const run = callNative(
      () => this.#store.limiter(given, specs, keptFor, ...mode),
      argumentNames,
    );
    return new Limiter(this.#parts, given, run, others);
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
      loaded.map(({ name, waitTimeoutMs, onLimit }, i) => {
        const action = onLimit === "ignore" ? "ignore" : "raise";
        const options = { waitTimeoutMs, onLimit: action };
        return [name, new Limiter(this.#parts, name, this.#store.loaded(i), options, onLimit)];
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
    return new Limiter(this.#parts, name, this.#store.loaded(0), {}, onLimit);
  }

  /** Ends the waits, completes the pending calls, and closes the connections. */
  close() {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async limiters() {
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
          const ticket = this.#store.list(part, cursor);
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
    const limiters = this.#store.listed(tickets);
    const failed = read.find(({ status }) => status === "rejected");
    if (failed) throw failed.reason;
    return limiters.map((limiter) => ({ ...limiter, lastUsed: limiter.lastUsed ?? null }));
  }

  async #close() {
    this.#hub.close();
    await this.#redis?.close();
    this.#store.close();
  }

  get #parts() {
    return { store: this.#store, redis: this.#redis, hub: this.#hub };
  }

  #single(name, limit, options) {
    return this.limiter(name, [limit], only(OPTIONS, options));
  }
}

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
const OPTIONS = ["waitTimeoutMs", "onLimit", "ttl", "onUnavailable", "localSharePercent"];

/** Returns the behaviour of a limiter whose store is unavailable, as arguments of the addon. */
const onUnavailableArguments = (mode, localSharePercent) => [
  mode === undefined || mode === null ? undefined : text("onUnavailable", mode),
  localSharePercent === undefined || localSharePercent === null
    ? undefined
    : numeric(localSharePercent),
];

/** Converts `{ window: [100, 60], throttle: 0.1 }` to `[["window", 100, 60], ["throttle", 0.1]]`. */
function limitList(limits) {
  rejectFunctions(limits);
  if (typeof limits !== "object" || limits === null) {
    throw new InvalidError("limits", "must be an object or a list of limits");
  }
  if (Array.isArray(limits)) return limits;
  return Object.entries(limits).map(([kind, numbers]) =>
    numbers === true ? [kind] : [kind].concat(numbers),
  );
}

/** Converts one limit to the form that the addon takes. */
function spec(limit) {
  if (!Array.isArray(limit)) {
    throw new InvalidError("limits", "every limit is a list such as ['window', 100, 60]");
  }
  rejectFunctions(...limit);
  const [kind, ...numbers] = limit;
  const isThrottleOfOne = kind === "throttle" && numbers.length < 2;
  const [amount, interval, offset] = isThrottleOfOne ? [1, ...numbers] : numbers;
  if (numbers.length > MAX_NUMBERS[kind]) {
    throw new InvalidError("limits", `has too many numbers: kind=${kind}`);
  }
  return {
    kind: String(kind),
    amount: numeric(amount),
    interval: kind === "concurrency" ? optional(interval) : span(interval),
    offset: optional(offset),
  };
}

const MAX_NUMBERS = {
  bucket: 3,
  window: 2,
  leaky: 2,
  points: 2,
  throttle: 2,
  concurrency: 2,
  unlimited: 0,
  paused: 0,
};

/** Sets the lock timeout of a limit that has none; returns whether it set one. */
function setLockTimeout(specs, ms) {
  if (ms === undefined || ms === null) return false;
  const limit = specs.find(({ kind }) => kind === "concurrency" || kind === "unlimited");
  if (limit === undefined) throw new InvalidError("lockTimeoutMs", "there is no concurrency limit");
  if (limit.interval !== undefined) return false;
  limit.interval = numeric(ms) / 1000;
  return true;
}

const optional = (value) => (value === undefined || value === null ? undefined : span(value));

/** Checks the names of options; the error for a function points to `withinLimit`. */
function only(names, options) {
  rejectFunctions(options);
  return request.only(names, options);
}

/** Throws if a value is a function: only `withinLimit` takes one. */
function rejectFunctions(...values) {
  if (values.some((value) => typeof value === "function")) {
    throw new InvalidError(
      "fn",
      "a limiter is made without a function; call withinLimit(fn) on it",
    );
  }
}

module.exports = { Paddlegate };
