// The public API around the generated module of one platform.
// The build converts this file to dist/bind.cjs for CommonJS: keep the one `export default` at the start of its line.

// `more` creates the additional exports of the full module and adds methods to the classes.
export default function bind(module, more) {
  const { Store, Waiter, kinds, statisticsNames } = module;

  // Access of `more` to private members.
  const inside = {};

  // The names are literals, because a minifier changes the names of classes.
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

  // The public names of the arguments of the current WebAssembly call.
  let names = NAMES;
  const withNames = (others, call) => {
    names = others;
    try {
      return call();
    } finally {
      names = NAMES;
    }
  };

  // The functions that WebAssembly calls to create public objects.
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
      const [permit, leaseUs, fencingToken, ticket, position, readyAfterUs] = more;
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
        fencingToken: fencingToken ?? null,
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
      // A copy: a WebAssembly call may move its memory and invalidate the view.
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
      new InvalidError(withPublicNames(message, names), names[argument] ?? argument),
    unavailable: (message, mayHaveCounted) => new UnavailableError(message, mayHaveCounted),
    data: (message) => new DataError(message),
    internal: (message) => new InternalError(message),
  };

  class Paddlegate {
    #store;
    #hub = new WaiterHub();

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
      const { lockTimeoutMs, ttl, onLimit, waitTimeoutMs } = only(
        ["lockTimeoutMs", ...OPTIONS],
        options,
      );
      const given = limitList(limits);
      const specs = withLockTimeout(given, lockTimeoutMs);
      const list = withNames(specs === given ? IN_LIMIT : NAMES, () =>
        specs.map(([kind, ...numbers]) => this.#store.limit(kind, numbers)),
      );
      return this.#made(this.#store.limiter(name, list, ttl), waitTimeoutMs, onLimit);
    }

    limiters() {
      return this.#store.limiters();
    }

    #made(inner, waitTimeoutMs, onLimit) {
      const timeoutMs = this.#store.waitTimeoutMs(waitTimeoutMs);
      return new Limiter(this.#store, inner, this.#hub, timeoutMs, skips(onLimit));
    }
  }

  class Limiter {
    #store;
    #inner;
    #hub;
    #waitTimeoutMs;
    #skips;

    static {
      inside.run = (limiter, operation) => limiter.#deliverAfter(operation(limiter.#inner));
    }

    constructor(store, inner, hub, waitTimeoutMs, skips) {
      this.#store = store;
      this.#inner = inner;
      this.#hub = hub;
      this.#waitTimeoutMs = waitTimeoutMs;
      this.#skips = skips;
    }

    get name() {
      return this.#inner.name;
    }

    tryAcquire(options) {
      const { id, cost, estimate, atUs } = only(["id", ...REQUEST], options);
      if (id === undefined || id === null) {
        return this.#deliverAfter(this.#inner.acquire(cost, estimate, atUs ?? now()));
      }
      return this.#deliverAfter(this.#inner.enter(id, cost, estimate, atUs ?? now()));
    }

    allow(options) {
      const { cost, estimate, atUs } = only(REQUEST, options);
      return this.#deliverAfter(this.#inner.allow(cost, estimate, atUs ?? now()));
    }

    peek(options) {
      const { cost, estimate, atUs } = only(REQUEST, options);
      return this.#inner.peek(cost, estimate, atUs ?? now());
    }

    correct(permit, actual, options) {
      return this.#deliverAfter(this.#inner.correct(idOf(permit), actual, time(options)));
    }

    release(permit, options) {
      return this.#deliverAfter(this.#inner.release(idOf(permit), time(options)));
    }

    renew(permit, options) {
      return milliseconds(this.#deliverAfter(this.#inner.renew(idOf(permit), time(options))));
    }

    // `queuePosition`: the number of a ticket before it lapsed.
    enqueue(id, options, queuePosition = undefined) {
      return this.#queue(id, options, queuePosition);
    }

    claim(id, options) {
      return this.#queue(id, options, EXISTING);
    }

    // `gaveUp`: the wait timed out, which counts as a refusal.
    cancel(id, options, gaveUp = false) {
      return this.#deliverAfter(this.#inner.cancel(id, gaveUp, time(options)));
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
      return this.#deliverAfter(this.#inner.pause(forMs, date(until), atUs ?? now()));
    }

    resume(options) {
      return this.#deliverAfter(this.#inner.resume(time(options)));
    }

    override(options) {
      const { index, limit, intervalMs, expiresInMs, expiresAt, atUs } = only(OVERRIDE, options);
      const at = atUs ?? now();
      return withNames(IN_COMMAND, () =>
        this.#deliverAfter(
          this.#inner.override(index, limit, intervalMs, expiresInMs, date(expiresAt), at),
        ),
      );
    }

    restore(options) {
      const { index, atUs } = only(["index", "atUs"], options);
      return this.#deliverAfter(this.#inner.restore(index, atUs ?? now()));
    }

    runtimeState(options) {
      return this.#inner.runtimeState(time(options));
    }

    reportBudget(options) {
      const { index, remaining, permit, atUs, ...more } = only(REPORT_BUDGET, options);
      const { limit, intervalMs, restoreRate, resetInMs, resetAt } = more;
      const numbers = [remaining, limit, intervalMs, restoreRate, resetInMs, date(resetAt)];
      const own = permit === undefined || permit === null ? permit : idOf(permit);
      return withNames(IN_COMMAND, () =>
        this.#deliverAfter(this.#inner.reportBudget(index, ...numbers, own, atUs ?? now())),
      );
    }

    async acquire(options) {
      const { waitTimeoutMs, signal, ...asked } = only(
        ["id", "waitTimeoutMs", "signal", ...REQUEST],
        options,
      );
      const given = waitTimeoutMs ?? undefined;
      const maxWaitMs =
        given === undefined ? this.#waitTimeoutMs : this.#store.waitTimeoutMs(given);
      const abort = abortSignal(signal);
      abort?.throwIfAborted();
      const waits = maxWaitMs > 0 && typeof asked.atUs !== "number";
      const { decision, began } = await (waits
        ? this.#wait(asked, maxWaitMs, abort)
        : this.#waitWithoutTicket(asked, maxWaitMs, abort));
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

    #queue(id, options, queuePosition) {
      const { claimTimeoutMs, waitTimeoutMs, ...asked } = only(
        ["claimTimeoutMs", "waitTimeoutMs", ...REQUEST],
        options,
      );
      return this.#acquireQueued(id, asked, waitTimeoutMs, claimTimeoutMs, queuePosition, "");
    }

    #acquireQueued(
      id,
      { cost, estimate, atUs },
      maxWaitMs,
      claimTimeoutMs,
      queuePosition,
      channel,
    ) {
      const at = atUs ?? now();
      return this.#deliverAfter(
        this.#inner.queue(
          id,
          cost,
          estimate,
          at,
          maxWaitMs,
          claimTimeoutMs,
          queuePosition,
          channel,
        ),
      );
    }

    // Waits with a ticket, first come, first served.
    async #wait(asked, maxWaitMs, signal) {
      const ownsId = (asked.id ?? null) === null;
      const id = ownsId ? this.#store.newId() : asked.id;
      const sleeper = this.#hub.add(id, this.#inner);
      const { channel } = this.#hub;
      let waiter;
      let isDelivered = false;
      try {
        for (;;) {
          const began = performance.now();
          // The first attempt, which ends most calls, needs no waiter: the whole time, at the end of the queue.
          const left = waiter?.next(began, channel) ?? maxWaitMs;
          const ticket = waiter?.ticket();
          const decision = this.#acquireQueued(id, asked, left, undefined, ticket, channel);
          if (decision.status !== "queued") {
            waiter?.onFinal(decision.allowed, decision.degraded);
            isDelivered = true;
            return { decision, began };
          }
          if (waiter === undefined) {
            waiter = new Waiter(host, ownsId, maxWaitMs, began);
            waiter.next(began, channel);
            sleeper.waiter = waiter;
          }
          const retryAfterMs = milliseconds(decision.retryAfterUs);
          waiter.onQueued(performance.now(), retryAfterMs, decision.ticket);
          const slept = sleeper.sleep(waiter.retryAt(channel));
          await (signal ? abortable(slept, signal) : slept);
        }
      } catch (error) {
        // The error of an attempt, or the reason of an abort: the ticket is given back after both.
        waiter?.onError(error?.mayHaveCounted === true);
        throw error;
      } finally {
        this.#hub.remove(sleeper);
        if (waiter?.mustCancel(isDelivered)) this.cancel(id);
        // The garbage collector does not see the memory of WebAssembly and may come late.
        waiter?.free();
      }
    }

    // Retries without a ticket. The caller's `atUs` advances by the time waited.
    async #waitWithoutTicket(asked, maxWaitMs, signal) {
      const deadline = performance.now() + maxWaitMs;
      for (;;) {
        const began = performance.now();
        const decision = this.tryAcquire(asked);
        const wait = decision.retryAfterUs === null ? null : decision.retryAfterUs / 1000;
        if (decision.allowed || wait === null || wait > deadline - performance.now()) {
          return { decision, began };
        }
        const slept = new Sleeper().sleep(began + wait);
        await (signal ? abortable(slept, signal) : slept);
        asked.atUs += Math.round(wait * 1000);
      }
    }

    // Delivers the wake-ups that this call has caused for other waiters.
    #deliverAfter(answer) {
      this.#hub.deliver();
      return answer;
    }
  }

  // A grant.
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
      this.fencingToken = decision.fencingToken;
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

  // Returns the id of a permit; an id is returned as it is.
  function idOf(permit) {
    if (!(permit instanceof Permit)) return permit;
    if (permit.id === null) {
      const message = "has no id: it was granted without an estimate or a lease";
      throw new InvalidError(message, "permit");
    }
    return permit.id;
  }

  // Checks the names of options: a number in their place, or a misspelt name, would otherwise be ignored.
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

  // Converts `{ window: [100, 60], throttle: 0.1 }` to `[["window", 100, 60], ["throttle", 0.1]]`.
  function limitList(limits) {
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

  // Returns the limits with the lock timeout in a concurrency limit that has none.
  function withLockTimeout(list, lockTimeoutMs) {
    if (lockTimeoutMs === undefined || lockTimeoutMs === null) return list;
    const limit = list.find(([kind]) => kind === "concurrency" || kind === "unlimited");
    if (limit === undefined) {
      throw new InvalidError("there is no concurrency limit", "lockTimeoutMs");
    }
    if (limit[0] === "unlimited" || (limit[2] ?? null) !== null) return list;
    const seconds = typeof lockTimeoutMs === "number" ? lockTimeoutMs / 1000 : Number.NaN;
    return list.map((other) => (other === limit ? ["concurrency", limit[1], seconds] : other));
  }

  // Returns whether `withinLimit` skips a refused function.
  function skips(given) {
    const onLimit = given ?? "raise";
    if (!["raise", "ignore", "skip"].includes(onLimit)) {
      throw new InvalidError("must be 'raise' or 'ignore'", "onLimit");
    }
    return onLimit !== "raise";
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

// The waiting calls of one store, and the channel for their wake-ups.
class WaiterHub {
  channel = "";
  #messages;
  #sleepers = new Set();

  add(id, limiter) {
    if (this.#messages === undefined) {
      this.#messages = limiter.listen();
      this.channel = this.#messages?.name ?? "";
    }
    const sleeper = new Sleeper(id);
    this.#sleepers.add(sleeper);
    return sleeper;
  }

  remove(sleeper) {
    this.#sleepers.delete(sleeper);
    sleeper.stop();
  }

  deliver() {
    if (this.#sleepers.size === 0 || this.#messages === undefined) return;
    for (const message of this.#messages.receive()) {
      const space = message.indexOf(" ");
      const at = performance.now() + message.slice(0, space) / 1000;
      const id = message.slice(space + 1);
      for (const sleeper of this.#sleepers) if (sleeper.id === id) sleeper.wake(at, this.channel);
    }
  }
}

// One call that sleeps until a time, or until an earlier wake-up.
class Sleeper {
  // The WebAssembly object with the rules of the call, once it is queued.
  waiter;
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

  wake(at, channel) {
    this.waiter?.onWakeup(at);
    if (this.#resume) this.#set(this.waiter.retryAt(channel));
  }

  stop() {
    clearTimeout(this.#timer);
  }

  #set(until) {
    this.stop();
    const ms = until - performance.now();
    const resume = () => {
      this.#resume?.();
      this.#resume = undefined;
    };
    // Timers count whole milliseconds from a time that may lie before now; with one more they never end early.
    // Less than a microsecond is no time: the waiter rounds, so that a wake-up for now may lie ahead.
    if (ms >= 0.001) this.#timer = setTimeout(resume, Math.min(Math.floor(ms) + 1, 2 ** 31 - 1));
    else resume();
  }
}

// Follows the promise; rejects with the reason of `signal` if it is aborted first.
function abortable(promise, signal) {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const stop = () => reject(signal.reason);
    const unsubscribe = onAbort(signal, stop);
    promise.then(resolve).finally(unsubscribe);
  });
}

// Node warns of a leak when a signal has more than ten listeners, so all calls with one signal share a listener.
const stopsBySignal = new WeakMap();

// Calls `stop` when `signal` is aborted. Returns a function that removes `stop`.
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

// The result of `withinLimit` if its function was not run; identical in all copies of this package.
const SKIPPED = Symbol.for("paddlegate.SKIPPED");

const STATUSES = ["refused", "granted", "queued", "no_ticket"];
const GRANTED = 1;

// The existing queue position, in place of the number of a ticket.
const EXISTING = -1;

const NOTHING = Object.freeze({});
const REQUEST = ["cost", "estimate", "atUs"];
const OPTIONS = ["waitTimeoutMs", "onLimit", "ttl"];
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

// The wall clock, as in Redis: unlike performance.now() it advances while a laptop sleeps.
const now = () => Date.now() * 1000;

// The public name of each argument that has another name in the core.
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

// The same for the arguments of one limit of a policy, and of an admin command.
const IN_LIMIT = { ...NAMES, lock_timeout: "lockTimeout" };
const IN_COMMAND = { ...NAMES, interval: "intervalMs" };

// Returns a message of the core with the public names and units of the arguments.
function withPublicNames(message, names) {
  // Messages about a document use the names of the document.
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

// Returns the milliseconds since 1970 of a Date; a number is returned as it is.
const date = (value) => (value instanceof Date ? value.getTime() : value);

// Rounds up to whole milliseconds, the unit of timers: a timer that ends too early would only cause another refusal.
const wholeMilliseconds = (micros) =>
  micros === undefined || micros === null ? null : Math.ceil(micros / 1000);

const milliseconds = (micros) => (micros === undefined || micros === null ? null : micros / 1000);
