"use strict";

const { readFileSync } = require("node:fs");

const { area, memory } = require("./area.js");
const { IN_LIMIT, InvalidError, NAMES, calling } = require("./errors.js");
const { Gate } = require("./gate.js");
const { Inbox, Subscriptions } = require("./hubs.js");
const { Limiter } = require("./limiter.js");
const native = require("./native.js");
const { json } = require("./commands.js");
const { Redis } = require("./redis.js");
const request = require("./request.js");

const { numeric, text } = request;

/** A store to make limiters on. */
class Paddlegate {
  #store;
  #redis;
  #hub;
  #closing = null;

  constructor(url, options) {
    // The environment of this thread: a worker may have one of its own, which the addon does not see.
    const given = url ?? (process.env.PADDLEGATE_URL || "memory://");
    if (typeof given !== "string") {
      throw new InvalidError("url", `must be a string: url=${typeof given}`);
    }
    const { timeoutMs } = only(["timeoutMs"], options);
    const timeout = timeoutMs === undefined || timeoutMs === null ? undefined : numeric(timeoutMs);
    this.#store = calling(() => new native.Store(given, timeout, memory));
    const isMemory = typeof this.#store.timeoutMs() !== "number";
    this.#redis = isMemory ? null : new Redis(this.#store);
    this.#hub = isMemory ? new Inbox(this.#store) : new Subscriptions(this.#store);
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
    return this.#single(name, ["throttle", interval], options);
  }

  unlimited(name = "unlimited", options = undefined) {
    const { offset: _, ...others } = only(["offset", "lockTimeoutMs", ...OPTIONS], options);
    return this.limiter(name, [["unlimited"]], others);
  }

  paused(name, options) {
    return this.#single(name, ["paused"], options);
  }

  limiter(name, limits, options) {
    const names = [...OPTIONS, "lockTimeoutMs"];
    const { lockTimeoutMs, ttl, onUnavailable, share, ...others } = only(names, options);
    const specs = listed(limits).map(spec);
    const called = lease(specs, lockTimeoutMs) ? NAMES : IN_LIMIT;
    const keptFor = optional(ttl);
    const given = text("name", name);
    const mode = degrading(onUnavailable, share);
    const run = calling(() => this.#store.limiter(given, specs, keptFor, ...mode), called);
    return new Limiter(this.#parts, given, run, others);
  }

  limitersFromDocument(document, options) {
    const { lockTimeoutMs, tenant, group, onUnavailable, share } = only(
      ["lockTimeoutMs", "tenant", "group", "onUnavailable", "share"],
      options,
    );
    const mode = degrading(onUnavailable, share);
    const written = typeof document === "string" ? document : json("document", document);
    const beside = [
      (lockTimeoutMs ?? null) === null ? undefined : numeric(lockTimeoutMs),
      (tenant ?? null) === null ? undefined : text("tenant", tenant),
      (group ?? null) === null ? undefined : text("group", group),
    ];
    const loaded = calling(() => this.#store.load(written, ...beside, ...mode));
    return new Map(
      loaded.map(({ name, waitTimeoutMs, onLimit }, i) => {
        const policy = onLimit === "ignore" ? "ignore" : "raise";
        const options = { waitTimeoutMs, policy };
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
      calling(() => this.#store.invantiveGate(written)),
    );
  }

  conductorLimiter(definition, run, options) {
    const { lockTimeoutMs, onUnavailable, share } = only(
      ["lockTimeoutMs", "onUnavailable", "share"],
      options,
    );
    const mode = degrading(onUnavailable, share);
    const lease =
      lockTimeoutMs === undefined || lockTimeoutMs === null ? undefined : numeric(lockTimeoutMs);
    const texts = [
      typeof definition === "string" ? definition : json("definition", definition),
      typeof run === "string" ? run : json("run", run),
    ];
    const { name, onLimit } = calling(() => this.#store.conductorLimiter(...texts, lease, ...mode));
    return new Limiter(this.#parts, name, this.#store.loaded(0), {}, onLimit);
  }

  /** Ends the waits, lets the calls that are under way end, and closes the connections. */
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
            cursor = ticket > 0 ? await this.#redis.carry(ticket, (row) => area[row + 2]) : 0;
          } catch (error) {
            isFailed = true;
            throw error;
          }
        } while (cursor > 0 && !isFailed);
      }
    };
    const read = await Promise.allSettled(Array.from({ length: PARTS_AT_ONCE }, readParts));
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

/** How many parts of the list of limiters are asked for at a time: each keeps the server busy for a while. */
const PARTS_AT_ONCE = 16;

// Node 18 has no `await using` at first.
if (Symbol.asyncDispose) {
  Object.defineProperty(Paddlegate.prototype, Symbol.asyncDispose, {
    value() {
      return this.close();
    },
    configurable: true,
    writable: true,
  });
}

/** What every limiter may have. */
const OPTIONS = ["waitTimeoutMs", "policy", "ttl", "onUnavailable", "share"];

/** What a limiter answers while its store cannot decide, as the addon takes it. */
const degrading = (mode, share) => [
  mode === undefined || mode === null ? undefined : text("onUnavailable", mode),
  share === undefined || share === null ? undefined : numeric(share),
];

/** `{ window: [100, 60], throttle: 0.1 }` as `[["window", 100, 60], ["throttle", 0.1]]`. */
function listed(limits) {
  refuseFunctions(limits);
  if (typeof limits !== "object" || limits === null) {
    throw new InvalidError("limits", "must be an object or a list of limits");
  }
  if (Array.isArray(limits)) return limits;
  return Object.entries(limits).map(([kind, numbers]) =>
    numbers === true ? [kind] : [kind].concat(numbers),
  );
}

/** One limit by the names that the addon knows. */
function spec(limit) {
  if (!Array.isArray(limit)) {
    throw new InvalidError("limits", "every limit is a list such as ['window', 100, 60]");
  }
  refuseFunctions(...limit);
  const [kind, ...numbers] = limit;
  const [amount, interval, offset] = kind === "throttle" ? [0, ...numbers] : numbers;
  if (numbers.length > MOST_NUMBERS[kind]) {
    throw new InvalidError("limits", `has too many numbers: kind=${kind}`);
  }
  return {
    kind: String(kind),
    amount: numeric(amount),
    interval: kind === "concurrency" ? optional(interval) : span(interval),
    offset: optional(offset),
  };
}

const MOST_NUMBERS = {
  bucket: 3,
  window: 2,
  leaky: 2,
  points: 2,
  throttle: 1,
  concurrency: 2,
  unlimited: 0,
  paused: 0,
};

/** Says how long leases last where the limit does not; gives whether it did. */
function lease(specs, ms) {
  if (ms === undefined || ms === null) return false;
  const limit = specs.find(({ kind }) => kind === "concurrency" || kind === "unlimited");
  if (limit === undefined) throw new InvalidError("lockTimeoutMs", "there is no concurrency limit");
  if (limit.interval !== undefined) return false;
  limit.interval = numeric(ms) / 1000;
  return true;
}

const span = (value) => (typeof value === "string" ? value : numeric(value));
const optional = (value) => (value === undefined || value === null ? undefined : span(value));

/** As for any call; but a function in their place is told what to do. */
function only(names, options) {
  refuseFunctions(options);
  return request.only(names, options);
}

/** `withinLimit` takes the function, and only when all is known. */
function refuseFunctions(...values) {
  if (values.some((value) => typeof value === "function")) {
    throw new InvalidError(
      "fn",
      "a limiter is made without a function; call withinLimit(fn) on it",
    );
  }
}

module.exports = { Paddlegate };
