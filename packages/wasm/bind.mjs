// The public API around the generated module of one platform.
// The build makes dist/bind.cjs of this file for CommonJS: keep the one `export default` at the start of its line.

// `more` makes what the larger module has besides, and adds to the classes.
export default function bind(module, more) {
  const { Store, kinds, statisticsNames } = module;

  // How it reaches what is private here.
  const inside = {};

  // The names are spelled out: a minifier changes those of classes.
  class PaddlegateError extends Error {
    name = "PaddlegateError";
  }

  class OverLimitError extends PaddlegateError {
    name = "OverLimitError";
    code = "OVER_LIMIT";

    constructor(message, limiter, decision) {
      super(message);
      this.limiter = limiter ?? null;
      this.decision = decision ?? null;
      this.retryAfterMs = decision?.retryAfterMs ?? null;
    }
  }

  class InvalidError extends PaddlegateError {
    name = "InvalidError";
    code = "INVALID";

    constructor(message, argument) {
      super(message);
      this.argument = argument ?? null;
    }
  }

  class UnavailableError extends PaddlegateError {
    name = "UnavailableError";
    code = "UNAVAILABLE";

    constructor(message, mayHaveCounted) {
      super(message);
      this.mayHaveCounted = mayHaveCounted;
    }
  }

  class DataError extends PaddlegateError {
    name = "DataError";
    code = "DATA";
  }

  class InternalError extends PaddlegateError {
    name = "InternalError";
    code = "INTERNAL";
  }

  // By what names the caller knows the arguments of the call of WebAssembly that is under way.
  let names = NAMES;
  const called = (others, call) => {
    names = others;
    try {
      return call();
    } finally {
      names = NAMES;
    }
  };

  // What WebAssembly calls to make the objects that users see.
  const host = {
    decision: (
      status,
      limit,
      remaining,
      retryAfterUs,
      resetAfterUs,
      reason,
      index,
      atUs,
      ...more
    ) => {
      const [permit, leaseUs, fence, ticket, position, readyAfterUs] = more;
      return Object.freeze({
        status: STATUSES[status],
        allowed: status === GRANTED,
        limit: limit ?? null,
        remaining: remaining ?? null,
        retryAfterMs: wholeMilliseconds(retryAfterUs),
        resetAfterMs: wholeMilliseconds(resetAfterUs),
        reason: reason ?? null,
        index,
        atUs,
        permit: permit ?? null,
        leaseMs: milliseconds(leaseUs),
        fence: fence ?? null,
        ticket: ticket ?? null,
        position: position ?? null,
        readyAfterMs: wholeMilliseconds(readyAfterUs),
        retryAfterUs: retryAfterUs ?? null,
        resetAfterUs: resetAfterUs ?? null,
        readyAfterUs: readyAfterUs ?? null,
        degraded: false,
      });
    },
    listed: (name, view) => {
      // A copy: a call of WebAssembly may move its memory away from under the view.
      const numbers = [...view];
      const limits = [];
      for (let i = 0; i + 4 < numbers.length; i += 4) {
        const [kind, amount, interval, offset] = numbers.slice(i, i + 4);
        limits.push({
          kind: kinds()[kind],
          amount,
          interval: interval / 1e6,
          offset: offset / 1e6,
        });
      }
      return { name, limits, lastUsed: null, ttl: numbers.at(-1) / 1e6 };
    },
    runtimeState: (version, inUse, pausedForUs, expiresInUs, view) => {
      const numbers = [...view];
      const limits = [];
      for (let i = 0; i < numbers.length; i += 3) {
        const [kind, limit, interval] = numbers.slice(i, i + 3);
        const one = { kind: kinds()[kind], limit, intervalMs: interval / 1000 };
        limits.push(kind < 0 ? null : Object.freeze(one));
      }
      const learned = Object.freeze(limits.splice(limits.length / 2));
      return Object.freeze({
        version,
        inUse,
        pausedForMs: milliseconds(pausedForUs),
        overrides: Object.freeze(limits),
        expiresInMs: milliseconds(expiresInUs),
        learned,
      });
    },
    learned: (settlement, learned, ignored, cost, pauseUs, scope, bucket) =>
      Object.freeze({
        settlement: settlement ?? null,
        learned: Object.freeze([...learned]),
        ignored: Object.freeze([...ignored]),
        cost: cost ?? null,
        pauseMs: milliseconds(pauseUs),
        scope: scope ?? null,
        bucket: bucket ?? null,
      }),
    overLimit: (message) => new OverLimitError(message),
    invalid: (message, argument) =>
      new InvalidError(inOurWords(message, names), names[argument] ?? argument),
    unavailable: (message, mayHaveCounted) => new UnavailableError(message, mayHaveCounted),
    data: (message) => new DataError(message),
    internal: (message) => new InternalError(message),
  };

  class Paddlegate {
    #store;
    #inbox = new Inbox();

    static {
      inside.store = (pg) => pg.#store;
      inside.limiter = (pg, ...made) => pg.#made(...made);
    }

    constructor(url) {
      this.#store = new Store(host, url);
    }

    concurrent(name, limit, options) {
      return this.limiter(name, [["concurrency", limit]], options);
    }

    bucket(name, limit, interval, options) {
      const { offset, ...others } = only(["offset", ...OPTIONS], options);
      return this.limiter(name, [["bucket", limit, interval, offset]], others);
    }

    window(name, limit, interval, options) {
      return this.limiter(name, [["window", limit, interval]], only(OPTIONS, options));
    }

    leaky(name, capacity, drain, options) {
      return this.limiter(name, [["leaky", capacity, drain]], only(OPTIONS, options));
    }

    points(name, capacity, refill, options) {
      return this.limiter(name, [["points", capacity, refill]], only(OPTIONS, options));
    }

    throttle(name, interval, options) {
      return this.limiter(name, [["throttle", interval]], only(OPTIONS, options));
    }

    unlimited(name = "unlimited", options = undefined) {
      const { offset: _, ...others } = only(["offset", "lockTimeoutMs", ...OPTIONS], options);
      return this.limiter(name, [["unlimited"]], others);
    }

    paused(name, options) {
      return this.limiter(name, [["paused"]], only(OPTIONS, options));
    }

    limiter(name, limits, options) {
      const { lockTimeoutMs, ttl, policy, waitTimeoutMs } = only(
        ["lockTimeoutMs", ...OPTIONS],
        options,
      );
      const given = listed(limits);
      const specs = leased(given, lockTimeoutMs);
      const list = called(specs === given ? IN_LIMIT : NAMES, () =>
        specs.map(([kind, ...numbers]) => this.#store.limit(kind, numbers)),
      );
      return this.#made(this.#store.limiter(name, list, ttl), waitTimeoutMs, policy);
    }

    limiters() {
      return this.#store.limiters();
    }

    #made(inner, waitTimeoutMs, policy) {
      const timeoutMs = this.#store.waitTimeoutMs(waitTimeoutMs);
      return new Limiter(this.#store, inner, this.#inbox, timeoutMs, skips(policy));
    }
  }

  class Limiter {
    #store;
    #inner;
    #inbox;
    #waitTimeoutMs;
    #skips;

    static {
      inside.ask = (limiter, question) => limiter.#told(question(limiter.#inner));
    }

    constructor(store, inner, inbox, waitTimeoutMs, skips) {
      this.#store = store;
      this.#inner = inner;
      this.#inbox = inbox;
      this.#waitTimeoutMs = waitTimeoutMs;
      this.#skips = skips;
    }

    get name() {
      return this.#inner.name;
    }

    tryAcquire(options) {
      const { id, cost, estimate, atUs } = only(["id", ...REQUEST], options);
      if (id === undefined || id === null) {
        return this.#told(this.#inner.acquire(cost, estimate, atUs ?? now()));
      }
      return this.#told(this.#inner.enter(id, cost, estimate, atUs ?? now()));
    }

    allow(options) {
      const { cost, estimate, atUs } = only(REQUEST, options);
      return this.#told(this.#inner.allow(cost, estimate, atUs ?? now()));
    }

    peek(options) {
      const { cost, estimate, atUs } = only(REQUEST, options);
      return this.#inner.peek(cost, estimate, atUs ?? now());
    }

    correct(permit, actual, options) {
      return this.#told(this.#inner.correct(idOf(permit), actual, time(options)));
    }

    release(permit, options) {
      return this.#told(this.#inner.release(idOf(permit), time(options)));
    }

    renew(permit, options) {
      return milliseconds(this.#told(this.#inner.renew(idOf(permit), time(options))));
    }

    // `place`: the number that a ticket had before it lapsed.
    enqueue(id, options, place = undefined) {
      return this.#queue(id, options, place);
    }

    claim(id, options) {
      return this.#queue(id, options, KEPT);
    }

    // `gaveUp`: its time was up, which counts as a refusal.
    cancel(id, options, gaveUp = false) {
      return this.#told(this.#inner.cancel(id, gaveUp, time(options)));
    }

    stats(options) {
      const counts = {};
      const numbers = this.#inner.statistics(time(options));
      statisticsNames().forEach((name, i) => {
        if (name.endsWith("_time")) counts[name.replace("_time", "TimeMs")] = numbers[i] / 1000;
        else counts[name] = numbers[i];
      });
      return Object.freeze({ ...counts, immediate: counts.granted - counts.waited });
    }

    reset() {
      this.#inner.reset();
    }

    pause(options) {
      const { forMs, until, atUs } = only(["forMs", "until", "atUs"], options);
      return this.#told(this.#inner.pause(forMs, date(until), atUs ?? now()));
    }

    resume(options) {
      return this.#told(this.#inner.resume(time(options)));
    }

    override(options) {
      const { index, limit, intervalMs, expiresInMs, expiresAt, atUs } = only(OVERRIDE, options);
      const at = atUs ?? now();
      return called(IN_ORDER, () =>
        this.#told(
          this.#inner.override(index, limit, intervalMs, expiresInMs, date(expiresAt), at),
        ),
      );
    }

    restore(options) {
      const { index, atUs } = only(["index", "atUs"], options);
      return this.#told(this.#inner.restore(index, atUs ?? now()));
    }

    runtimeState(options) {
      return this.#inner.runtimeState(time(options));
    }

    reportBudget(options) {
      const { index, remaining, permit, atUs, ...more } = only(REPORT_BUDGET, options);
      const { limit, intervalMs, restoreRate, resetInMs, resetAt } = more;
      const numbers = [remaining, limit, intervalMs, restoreRate, resetInMs, date(resetAt)];
      const own = permit === undefined || permit === null ? permit : idOf(permit);
      return called(IN_ORDER, () =>
        this.#told(this.#inner.reportBudget(index, ...numbers, own, atUs ?? now())),
      );
    }

    async acquire(options) {
      const { waitTimeoutMs, signal, ...asked } = only(
        ["id", "waitTimeoutMs", "signal", ...REQUEST],
        options,
      );
      const given = waitTimeoutMs ?? undefined;
      const patienceMs =
        given === undefined ? this.#waitTimeoutMs : this.#store.waitTimeoutMs(given);
      const abort = abortSignal(signal);
      abort?.throwIfAborted();
      const waits = patienceMs > 0 && typeof asked.atUs !== "number";
      const { decision, began } = await (waits
        ? this.#wait(asked, patienceMs, abort)
        : this.#waitByItself(asked, patienceMs, abort));
      if (!decision.allowed) {
        const { name } = this;
        const message = `over the limit: name=${JSON.stringify(name)} retry_after_ms=${decision.retryAfterMs}`;
        throw new OverLimitError(message, name, decision);
      }
      return new Permit(this, decision, began, (asked.estimate ?? null) !== null);
    }

    async withinLimit(options, fn) {
      const body = typeof options === "function" ? options : fn;
      if (typeof body !== "function") {
        throw new InvalidError("must be the function to call within the limit", "fn");
      }
      let permit;
      try {
        permit = await this.acquire(options === body ? undefined : options);
      } catch (error) {
        if (this.#skips && error instanceof OverLimitError) return SKIPPED;
        throw error;
      }
      try {
        return await body(permit);
      } finally {
        permit.release();
        if (permit.lost) warn(this.name);
      }
    }

    #queue(id, options, place) {
      const { claimTimeoutMs, waitTimeoutMs, ...asked } = only(
        ["claimTimeoutMs", "waitTimeoutMs", ...REQUEST],
        options,
      );
      return this.#look(id, asked, waitTimeoutMs, claimTimeoutMs, place, "");
    }

    #look(id, { cost, estimate, atUs }, patienceMs, graceMs, place, channel) {
      const at = atUs ?? now();
      return this.#told(
        this.#inner.queue(id, cost, estimate, at, patienceMs, graceMs, place, channel),
      );
    }

    // First come, first served: with a ticket.
    async #wait(asked, patienceMs, signal) {
      const id = asked.id ?? this.#store.newId();
      const deadline = performance.now() + patienceMs;
      const waiter = this.#inbox.add(id, this.#inner);
      let place;
      try {
        for (;;) {
          const began = performance.now();
          const left = Math.max(0, deadline - began);
          const { channel } = this.#inbox;
          const decision = this.#look(id, asked, left, undefined, place, channel);
          if (decision.status !== "queued") return { decision, began };
          place = decision.ticket;
          const slept = waiter.sleep(Math.min(began + decision.retryAfterUs / 1000, deadline));
          await (signal ? abortable(slept, signal) : slept);
        }
      } catch (error) {
        if (place !== undefined) this.cancel(id);
        throw error;
      } finally {
        this.#inbox.remove(waiter);
      }
    }

    // At a time that was given, which goes on while we wait; or not at all.
    async #waitByItself(asked, patienceMs, signal) {
      const deadline = performance.now() + patienceMs;
      for (;;) {
        const began = performance.now();
        const decision = this.tryAcquire(asked);
        const wait = decision.retryAfterUs === null ? null : decision.retryAfterUs / 1000;
        if (decision.allowed || wait === null || wait > deadline - performance.now()) {
          return { decision, began };
        }
        const slept = new Waiter().sleep(began + wait);
        await (signal ? abortable(slept, signal) : slept);
        asked.atUs += Math.round(wait * 1000);
      }
    }

    // Others may have been told of their turn by this call.
    #told(answer) {
      this.#inbox.deliver();
      return answer;
    }
  }

  // What a grant hands over.
  class Permit {
    #limiter;
    #isEstimated;
    #deadline;
    #isLost = false;
    #settlement = null;

    static {
      inside.limiterOf = (permit) => permit.#limiter;
    }

    constructor(limiter, decision, began, isEstimated) {
      this.#limiter = limiter;
      this.#isEstimated = isEstimated;
      this.#deadline = decision.leaseMs === null ? null : began + decision.leaseMs;
      this.decision = decision;
      this.id = decision.permit;
      this.fence = decision.fence;
      this.degraded = decision.degraded;
      Object.freeze(this);
    }

    get expiresInMs() {
      return this.#deadline === null ? null : Math.max(0, this.#deadline - performance.now());
    }

    get lost() {
      return this.#isLost || (this.#settlement === null && this.expiresInMs === 0);
    }

    release() {
      if (this.#deadline === null) return "unknown";
      if (this.#settlement === null) {
        const isLate = this.lost;
        this.#settlement = this.#limiter.release(this.id);
        this.#isLost = isLate || this.#settlement !== "released";
      }
      return this.#settlement;
    }

    renew() {
      if (this.#deadline === null || this.#settlement !== null) return false;
      const began = performance.now();
      const leaseMs = this.#limiter.renew(this.id);
      if (leaseMs === null) this.#isLost = true;
      else this.#deadline = began + leaseMs;
      return leaseMs !== null;
    }

    pointsUsed(actual) {
      if (!this.#isEstimated) {
        throw new InvalidError("nothing was estimated; acquire with an estimate", "estimate");
      }
      return this.#limiter.correct(this.id, actual);
    }
  }

  // The id of a permit, which may stand for it.
  function idOf(permit) {
    if (!(permit instanceof Permit)) return permit;
    if (permit.id === null) {
      const message = "has no id: it was granted without an estimate or a lease";
      throw new InvalidError(message, "permit");
    }
    return permit.id;
  }

  // A number in place of the options, or a misspelt name, would otherwise cost 1.
  function only(names, options = NOTHING) {
    if (typeof options !== "object" || options === null) {
      throw new InvalidError("must be an object such as { cost: 2 }", "options");
    }
    for (const name in options) {
      if (!names.includes(name)) {
        throw new InvalidError(`is no option; there is ${names.join(", ")}`, name);
      }
    }
    return options;
  }

  // `{ window: [100, 60], throttle: 0.1 }` as `[["window", 100, 60], ["throttle", 0.1]]`.
  function listed(limits) {
    if (typeof limits !== "object" || limits === null) {
      throw new InvalidError("must be an object or a list of limits", "limits");
    }
    const list = Array.isArray(limits)
      ? limits
      : Object.entries(limits).map(([kind, numbers]) =>
          numbers === true ? [kind] : [kind].concat(numbers),
        );
    if (!list.every(Array.isArray)) {
      throw new InvalidError("every limit is a list such as ['window', 100, 60]", "limits");
    }
    return list;
  }

  // Says how long leases last where the limit does not.
  function leased(list, lockTimeoutMs) {
    if (lockTimeoutMs === undefined || lockTimeoutMs === null) return list;
    const limit = list.find(([kind]) => kind === "concurrency" || kind === "unlimited");
    if (limit === undefined) {
      throw new InvalidError("there is no concurrency limit", "lockTimeoutMs");
    }
    if (limit[0] === "unlimited" || (limit[2] ?? null) !== null) return list;
    const seconds = typeof lockTimeoutMs === "number" ? lockTimeoutMs / 1000 : Number.NaN;
    return list.map((other) => (other === limit ? ["concurrency", limit[1], seconds] : other));
  }

  // Whether a refused function is skipped.
  function skips(given) {
    const policy = given ?? "raise";
    if (!["raise", "ignore", "skip"].includes(policy)) {
      throw new InvalidError("must be 'raise' or 'ignore'", "policy");
    }
    return policy !== "raise";
  }

  function time(options) {
    return only(["atUs"], options).atUs ?? now();
  }

  function abortSignal(signal) {
    if (signal === undefined || signal === null) return undefined;
    if (typeof signal.throwIfAborted !== "function") {
      throw new InvalidError("must be an AbortSignal", "signal");
    }
    return signal;
  }

  return {
    Paddlegate,
    SKIPPED,
    PaddlegateError,
    OverLimitError,
    InvalidError,
    UnavailableError,
    DataError,
    InternalError,
    ...more?.(module, host, {
      Paddlegate,
      Limiter,
      Permit,
      InvalidError,
      inside,
      only,
      now,
      idOf,
      wholeMilliseconds,
    }),
  };
}

// The waiters of one store, and the channel on which they are told that their turn has come.
class Inbox {
  channel = "";
  #messages;
  #waiters = new Set();

  add(id, limiter) {
    if (this.#messages === undefined) {
      const messages = limiter.listen();
      this.channel = messages.name;
      this.#messages = messages;
    }
    const waiter = new Waiter(id);
    this.#waiters.add(waiter);
    return waiter;
  }

  remove(waiter) {
    this.#waiters.delete(waiter);
    waiter.stop();
  }

  deliver() {
    if (this.#waiters.size === 0) return;
    for (const message of this.#messages.receive()) {
      const space = message.indexOf(" ");
      const at = performance.now() + message.slice(0, space) / 1000;
      const id = message.slice(space + 1);
      for (const waiter of this.#waiters) if (waiter.id === id) waiter.wake(at);
    }
  }
}

// One call that sleeps until a time, or an earlier one that it is told.
class Waiter {
  #until = 0;
  #timer;
  #resume;

  constructor(id) {
    this.id = id;
  }

  sleep(until) {
    return new Promise((resolve) => {
      this.#resume = resolve;
      this.#set(until);
    });
  }

  wake(at) {
    if (this.#resume && at < this.#until) this.#set(at);
  }

  stop() {
    clearTimeout(this.#timer);
  }

  #set(until) {
    this.stop();
    this.#until = until;
    const ms = until - performance.now();
    const resume = () => {
      this.#resume?.();
      this.#resume = undefined;
    };
    // Timers count in whole milliseconds that began before now; one more is never early.
    if (ms > 0) this.#timer = setTimeout(resume, Math.min(Math.floor(ms) + 1, 2 ** 31 - 1));
    else resume();
  }
}

// The promise, or a rejection with the reason of `signal` as soon as that is aborted.
function abortable(promise, signal) {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const stop = () => reject(signal.reason);
    const forget = onAbort(signal, stop);
    promise.then(resolve).finally(forget);
  });
}

// Node warns of a leak when a signal has more than ten listeners, so all calls with one share a listener.
const stopsBySignal = new WeakMap();

// Calls `stop` when `signal` is aborted. Gives what undoes that.
function onAbort(signal, stop) {
  let stops = stopsBySignal.get(signal);
  if (stops === undefined) {
    const all = new Set();
    const aborted = () => {
      for (const stop of all) stop();
    };
    signal.addEventListener("abort", aborted, { once: true });
    stops = { all, aborted };
    stopsBySignal.set(signal, stops);
  }
  stops.all.add(stop);
  return () => {
    stops.all.delete(stop);
    if (stops.all.size > 0 || stopsBySignal.get(signal) !== stops) return;
    stopsBySignal.delete(signal);
    signal.removeEventListener("abort", stops.aborted);
  };
}

function warn(name) {
  const message = `the lease of ${JSON.stringify(name)} ended before its function did; others may have run meanwhile`;
  if (typeof globalThis.process?.emitWarning === "function") {
    globalThis.process.emitWarning(message, "LeaseLostWarning");
  } else {
    console.warn(`LeaseLostWarning: ${message}`);
  }
}

// What `withinLimit` gives in place of a value when its function was not run; the same in all copies of this package.
const SKIPPED = Symbol.for("paddlegate.SKIPPED");

const STATUSES = ["refused", "granted", "queued", "gone"];
const GRANTED = 1;

// In place of the number of a ticket: the one that it has.
const KEPT = -1;

const NOTHING = Object.freeze({});
const REQUEST = ["cost", "estimate", "atUs"];
const OPTIONS = ["waitTimeoutMs", "policy", "ttl"];
const OVERRIDE = ["limit", "intervalMs", "index", "expiresInMs", "expiresAt", "atUs"];
const REPORT_BUDGET = [
  "remaining",
  "limit",
  "intervalMs",
  "restoreRate",
  "resetInMs",
  "resetAt",
  "index",
];
REPORT_BUDGET.push("permit", "atUs");

// The clock on the wall, as in Redis: it goes on while a laptop sleeps, unlike performance.now().
const now = () => Date.now() * 1000;

// What is called otherwise here than in the core.
const NAMES = {
  at: "atUs",
  claim_timeout: "claimTimeoutMs",
  expires_at: "expiresAt",
  expires_in: "expiresInMs",
  for: "forMs",
  lock_timeout: "lockTimeoutMs",
  max_pause: "maxPauseMs",
  max_learned: "maxLearned",
  on_limit: "onLimit",
  reset_at: "resetAt",
  reset_in: "resetInMs",
  restore_rate: "restoreRate",
  wait_timeout: "waitTimeoutMs",
};

// The same for what belongs to one limit of a policy, and what changes one.
const IN_LIMIT = { ...NAMES, lock_timeout: "lockTimeout" };
const IN_ORDER = { ...NAMES, interval: "intervalMs" };

// A message of the core with the names and the units in which the caller wrote the arguments.
function inOurWords(message, names) {
  // Those of a document stay as they are there.
  if (message.startsWith("at $")) return message;
  const [, argument] = message.match(/a number of seconds from .*: (\w+)=/) ?? [];
  const isMs = names[argument]?.endsWith("Ms");
  return message
    .replace(isMs ? "a number of seconds" : "", isMs ? "a number of milliseconds" : "")
    .replace(/\b([a-z_]+) is of type/g, (_, name) => `${names[name] ?? name} is of type`)
    .replace(/\b([a-z_]+)_us=(\d+)/g, (_, name, us) => {
      const given = names[name] ?? name;
      return `${given}=${us / (given.endsWith("Ms") ? 1e3 : 1e6)}`;
    })
    .replace(/\b([a-z_]+)=(\S*)/g, (_, name, value) => {
      const seconds = Number(value.replace("inf", "Infinity"));
      return `${names[name] ?? name}=${isMs && name === argument ? seconds * 1000 : value}`;
    });
}

// Milliseconds since 1970; a number is that already.
const date = (value) => (value instanceof Date ? value.getTime() : value);

// Timers count in these; one that ends earlier would ask again in vain.
const wholeMilliseconds = (micros) =>
  micros === undefined || micros === null ? null : Math.ceil(micros / 1000);

const milliseconds = (micros) => (micros === undefined || micros === null ? null : micros / 1000);
