"use strict";

const { readFileSync } = require("node:fs");

const { slots, ROWS } = require("./shared-buffer.js");
const { callNative, failure } = require("./call-native.js");
const { Gate } = require("./gate.js");
const { MemoryHub, RedisHub } = require("./hubs.js");
const { Limiter } = require("./limiter.js");
const { limitSpec, optionalSpan } = require("./limits.js");
const { opening } = require("./opening.js");
const { Redis } = require("./redis.js");
const { numeric, optionalNumber, optionalText, text } = require("./request.js");
const { listedLimiter } = require("./shared/answers.js");
const { blockAfterNumbers, flag } = require("./shared/arguments.js");
const { IN_LIMIT, InvalidError, NAMES } = require("./shared/errors.js");
const { limitList, only, withFactories, withLockTimeout } = require("./shared/limits.js");
const { jsonText } = require("./shared/response.js");
const { nativeClock, follow } = require("./test-clock.js");
const { setImmediate } = require("./timers.js");

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

/** A store, which creates limiters. */
class Paddlegate extends withFactories(OPTIONS) {
  #store;
  #redis;
  #hub;
  #closing = null;

  constructor(url, options) {
    super();
    // The environment of this thread: a worker may have its own, which the addon cannot read.
    const given = url ?? (process.env.PADDLEGATE_URL || "memory://");
    if (typeof given !== "string") {
      throw new InvalidError("url", `must be a string: url=${typeof given}`);
    }
    const { timeoutMs, clock } = only(["timeoutMs", "clock"], options);
    const timeout = optionalNumber(timeoutMs);
    const ruling = clock ?? opening.clock;
    const testClock = nativeClock(ruling);
    this.#store = callNative(() => opening.open(given, timeout, testClock));
    const isMemory = typeof this.#store.timeoutMs() !== "number";
    this.#redis = isMemory ? null : new Redis(this.#store);
    this.#hub = isMemory ? new MemoryHub(this.#store) : new RedisHub(this.#store);
    if (testClock !== undefined) follow(ruling, this.#hub);
    opening.opened(this.#hub);
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
    const list = limitList(limits);
    const timed = withLockTimeout(list, lockTimeoutMs);
    const argumentNames = timed === list ? IN_LIMIT : NAMES;
    const specs = timed.map(limitSpec);
    const keptFor = optionalSpan(ttl);
    const given = text("name", name);
    const inGroup = optionalText("group", group);
    const isKeyed = flag("keyed", keyed);
    const counts = flag("statistics", statistics);
    const variant = [
      optionalText("mode", mode),
      blockAfterArgument(blockAfter),
      optionalSpan(aging),
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
    const written = jsonText("document", document);
    const beside = [
      optionalNumber(lockTimeoutMs),
      optionalText("tenant", tenant),
      optionalText("group", group),
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
    const written = jsonText("document", document);
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
    const lease = optionalNumber(lockTimeoutMs);
    const texts = [jsonText("definition", definition), jsonText("run", run)];
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
    let at = optionalText("cursor", cursor);
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
}

/** Returns the prefix of the names to list; empty for all. */
const prefixOf = ({ prefix }) => optionalText("prefix", prefix) ?? "";

/** Returns the limiters in the answers to these calls. */
const listed = (store, tickets) => store.listed(tickets).map(listedLimiter);

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

/** Returns a rule for blocks as an argument of the addon, which checks its numbers. */
function blockAfterArgument(rule) {
  const [refusals, withinMs, forMs] = blockAfterNumbers(rule)?.map(numeric) ?? [];
  return refusals === undefined ? undefined : { refusals, withinMs, forMs };
}

/** Returns the behaviour of a limiter whose store is unavailable, as arguments of the addon. */
const onUnavailableArguments = (mode, localSharePercent) => [
  optionalText("onUnavailable", mode),
  optionalNumber(localSharePercent),
];

module.exports = { Paddlegate };
