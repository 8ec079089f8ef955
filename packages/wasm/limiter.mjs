// The limiters and the permits of the generated module of one platform.
// The build converts this file to dist/limiter.cjs for CommonJS: keep the `export default` at the start of its line.
import {
  abortSignal,
  date,
  IN_COMMAND,
  InvalidError,
  limitList,
  milliseconds,
  nativeLimits,
  OverLimitError,
  only,
  request,
  units,
  withNames,
} from "./arguments.mjs";
import { abortable } from "./waiting.mjs";

// `inside` gets the access of other files to private members.
export default function limiters({ Waiter, statisticsNames }, host, inside) {
  class Limiter {
    #store;
    #inner;
    #hub;
    #waitTimeoutMs;
    #skips;

    static {
      inside.run = (limiter, operation) => limiter.#deliverAfter(operation(limiter.#inner));
      // Returns the limiters of a list once more, for one of several limiters to take over.
      inside.shared = (limiters) => {
        const list = Array.isArray(limiters) ? [...limiters] : [null];
        if (!list.every((it) => typeof it === "object" && it !== null && #inner in it)) {
          throw new InvalidError("must be a list of limiters", "limiters");
        }
        return list.map((limiter) => limiter.#inner.share());
      };
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

    get group() {
      return this.#inner.group ?? null;
    }

    tryAcquire(options) {
      const { id, ...asked } = only(["id", ...REQUEST], options);
      if (id === undefined || id === null) {
        return this.#deliverAfter(this.#inner.acquire(...request(asked)));
      }
      return this.#deliverAfter(this.#inner.enter(id, ...request(asked)));
    }

    allow(options) {
      return this.#deliverAfter(this.#inner.allow(...request(only(REQUEST, options))));
    }

    peek(options) {
      return this.#inner.peek(...request(only(REQUEST, options)));
    }

    correct(permit, actual) {
      return this.#deliverAfter(this.#inner.correct(idOf(permit), units("actual", actual)));
    }

    debit(cost) {
      return this.#deliverAfter(this.#inner.debit(units("cost", cost)));
    }

    release(permit) {
      return this.#deliverAfter(this.#inner.release(idOf(permit)));
    }

    renew(permit) {
      return milliseconds(this.#deliverAfter(this.#inner.renew(idOf(permit))));
    }

    // `queuePosition`: the number of a ticket before it lapsed.
    enqueue(id, options, queuePosition = undefined) {
      return this.#queue(id, options, queuePosition);
    }

    claim(id, options) {
      return this.#queue(id, options, EXISTING);
    }

    // `gaveUp`: the wait timed out, which counts as a refusal.
    cancel(id, gaveUp = false) {
      return this.#deliverAfter(this.#inner.cancel(id, gaveUp));
    }

    stats() {
      const counts = {};
      const numbers = this.#inner.statistics();
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
      const { forMs, until } = only(["forMs", "until"], options);
      return this.#deliverAfter(this.#inner.pause(forMs, date(until)));
    }

    resume() {
      return this.#deliverAfter(this.#inner.resume());
    }

    override(options) {
      const { limits, expiresInMs, expiresAt, ...one } = only(OVERRIDE, options);
      const expires = [expiresInMs, date(expiresAt)];
      if ((limits ?? null) === null) {
        const { label, limit, intervalMs } = one;
        return withNames(IN_COMMAND, () =>
          this.#deliverAfter(this.#inner.override(label, limit, intervalMs, ...expires)),
        );
      }
      if (Object.values(one).some((given) => (given ?? null) !== null)) {
        throw new InvalidError("give limits, or the values of one limit, not both", "limits");
      }
      const list = nativeLimits(this.#store, limitList(limits));
      return this.#deliverAfter(this.#inner.overrideLimits(list, ...expires));
    }

    restore(options) {
      return this.#deliverAfter(this.#inner.restore(only(["label"], options).label));
    }

    runtimeState() {
      return this.#inner.runtimeState();
    }

    reportBudget(options) {
      const { label, remaining, permit, ...more } = only(REPORT_BUDGET, options);
      const { limit, intervalMs, restoreRate, resetInMs, resetAt } = more;
      const numbers = [remaining, limit, intervalMs, restoreRate, resetInMs, date(resetAt)];
      const own = permit === undefined || permit === null ? permit : idOf(permit);
      return withNames(IN_COMMAND, () =>
        this.#deliverAfter(this.#inner.reportBudget(label, ...numbers, own)),
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
      const { decision, began } =
        maxWaitMs > 0
          ? await this.#wait(asked, maxWaitMs, abort)
          : { began: performance.now(), decision: this.tryAcquire(asked) };
      if (!decision.allowed) {
        // That of several limiters which refused.
        const name = decision.limiter ?? this.name;
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

    #acquireQueued(id, asked, maxWaitMs, claimTimeoutMs, queuePosition, channel) {
      return this.#deliverAfter(
        this.#inner.queue(id, ...request(asked), maxWaitMs, claimTimeoutMs, queuePosition, channel),
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

    correct(actual) {
      if (!this.#isEstimated) {
        throw new InvalidError("nothing was estimated; acquire with an estimate", "estimate");
      }
      return this.#limiter.correct(this.id, actual);
    }

    pointsUsed(actual) {
      return this.correct(actual);
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

  return { Limiter, Permit, SKIPPED, idOf };
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

// The existing queue position, in place of the number of a ticket.
const EXISTING = -1;

const REQUEST = ["cost", "estimate"];
const OVERRIDE = ["limit", "intervalMs", "label", "limits", "expiresInMs", "expiresAt"];
const REPORT_BUDGET = [
  "remaining",
  "limit",
  "intervalMs",
  "restoreRate",
  "resetInMs",
  "resetAt",
  "label",
  "permit",
];
