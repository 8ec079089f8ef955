// The limiters and the permits of the generated module of one platform.
import { date, nativeLimits, place, request, units, withNames } from "./arguments.mjs";
import { milliseconds } from "./dist/shared/answers.mjs";
import {
  abortSignal,
  checkEstimated,
  checkOverride,
  flag,
  idOfPermit,
  limiterList,
  only,
  restoresMode,
} from "./dist/shared/arguments.mjs";
import { IN_COMMAND, IN_LIMIT, OverLimitError } from "./dist/shared/errors.mjs";
import { limitList } from "./dist/shared/limits.mjs";
import { abortable } from "./dist/shared/waiting.mjs";
import { withinLimit } from "./dist/shared/within-limit.mjs";
import { Sleeper } from "./waiting.mjs";

// `inside` gets the access of other files to private members.
export default function limiters({ Waiter }, host, inside) {
  class Limiter {
    #store;
    #inner;
    // The limiter of the last key in WebAssembly. All keys share it, so that none takes memory there.
    #ofKey;
    #hub;
    #waitTimeoutMs;
    #skips;
    #key;

    static {
      inside.run = (limiter, operation) => limiter.#deliverAfter(operation(limiter.#of()));
      inside.with = (limiter, key) => limiter.#with(key);
      inside.inner = (limiter) => limiter.#inner;
      // Returns the limiters of a list once more, for one of several limiters to take over.
      inside.shared = (limiters) => {
        const list = limiterList(limiters, (it) => #inner in it);
        return list.map((limiter) => limiter.#of().share());
      };
    }

    // `ofKey`, `key`: of the limiter of a key.
    constructor(store, inner, hub, waitTimeoutMs, skips, ofKey = undefined, key = undefined) {
      this.#store = store;
      this.#inner = inner;
      this.#ofKey = ofKey ?? (inner.keyed ? inner.share() : inner);
      this.#hub = hub;
      this.#waitTimeoutMs = waitTimeoutMs;
      this.#skips = skips;
      this.#key = key;
    }

    get name() {
      return this.#inner.name;
    }

    get limits() {
      return Object.freeze(this.#inner.entry().limits.map(Object.freeze));
    }

    get group() {
      return this.#inner.group ?? null;
    }

    get keyed() {
      return this.#inner.keyed;
    }

    get key() {
      return this.#key ?? null;
    }

    withKey(key) {
      // The core refuses a limiter that is not keyed.
      this.#ofKey.setKey(key);
      const more = [this.#waitTimeoutMs, this.#skips, this.#ofKey, key];
      return new Limiter(this.#store, this.#inner, this.#hub, ...more);
    }

    tryAcquire(options) {
      const asked = only([...NAMED, "limits"], options);
      const units = request(asked);
      const limits = flag("limits", asked.limits, false);
      const run = this.#of(asked.key);
      return this.#deliverAfter(run.acquire(asked.id, ...units, place(asked, limits)));
    }

    allow(options) {
      const asked = only(REQUEST, options);
      const units = request(asked);
      return this.#deliverAfter(this.#of(asked.key).allow(...units));
    }

    peek(options) {
      const asked = only([...REQUEST, "limits"], options);
      const units = request(asked);
      const limits = flag("limits", asked.limits, false);
      return this.#of(asked.key).peek(...units, place({}, limits));
    }

    correct(permit, actual, options) {
      const { key } = only(KEY, options);
      const cost = units("actual", actual);
      return this.#deliverAfter(this.#of(key).correct(idOf(permit), cost));
    }

    extend(permit, further, options) {
      if (permit instanceof Permit) return permit[EXTEND](this, further, options);
      const { key } = only(KEY, options);
      const more = units("units", further);
      return this.#deliverAfter(this.#of(key).extend(permit, more));
    }

    debit(cost, options) {
      const { key } = only(KEY, options);
      const charged = units("cost", cost);
      return this.#deliverAfter(this.#of(key).debit(charged));
    }

    refund(given, options) {
      const { key } = only(KEY, options);
      const back = units("units", given);
      return this.#deliverAfter(this.#of(key).refund(back));
    }

    release(permit, options) {
      const { key } = only(KEY, options);
      return this.#deliverAfter(this.#of(key).release(idOf(permit)));
    }

    renew(permit, options) {
      const { key } = only(KEY, options);
      return milliseconds(this.#deliverAfter(this.#of(key).renew(idOf(permit))));
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
      const { key } = only(KEY, options);
      return this.#deliverAfter(this.#of(key).cancel(id, gaveUp));
    }

    ready(count = 100, options = undefined) {
      const { key } = only(KEY, options);
      return this.#deliverAfter(this.#of(key).ready(count));
    }

    inspect(options) {
      const { offset = 0, count = 100, key } = only(["offset", "count", ...KEY], options);
      return this.#of(key).inspect(offset, count);
    }

    queue(options) {
      return this.inspect(options).tickets;
    }

    stats(options) {
      const { key } = only(KEY, options);
      return this.#of(key).statistics();
    }

    history(options) {
      const { key } = only(KEY, options);
      return this.#of(key).history();
    }

    reset(options) {
      const { key } = only(KEY, options);
      this.#of(key).reset();
    }

    pause(options) {
      const { forMs, until, key } = only(["forMs", "until", ...KEY], options);
      const end = date(until);
      return this.#deliverAfter(this.#of(key).pause(forMs, end));
    }

    block(options) {
      const { forMs, until, key } = only(["forMs", "until", ...KEY], options);
      const end = date(until);
      return this.#deliverAfter(this.#of(key).block(forMs, end));
    }

    resume(options) {
      const { key } = only(KEY, options);
      return this.#deliverAfter(this.#of(key).resume());
    }

    override(options) {
      const { limits, mode, expiresInMs, expiresAt, key, ...one } = only(OVERRIDE, options);
      const expires = [expiresInMs, date(expiresAt)];
      checkOverride({ mode, limits, ...one });
      if ((mode ?? null) !== null) {
        return this.#deliverAfter(this.#of(key).overrideMode(mode, ...expires));
      }
      if ((limits ?? null) === null) {
        const { label, limit, intervalMs } = one;
        return withNames(IN_COMMAND, () =>
          this.#deliverAfter(this.#of(key).override(label, limit, intervalMs, ...expires)),
        );
      }
      const list = nativeLimits(limitList(limits));
      return withNames(IN_LIMIT, () =>
        this.#deliverAfter(this.#of(key).overrideLimits(list, ...expires)),
      );
    }

    restore(options) {
      const { label, mode, key } = only(["label", "mode", ...KEY], options);
      const ofMode = restoresMode({ mode, label });
      const run = this.#of(key);
      return this.#deliverAfter(ofMode ? run.restoreMode() : run.restore(label));
    }

    runtimeState(options) {
      const { key } = only(KEY, options);
      return this.#of(key).runtimeState();
    }

    reportBudget(options) {
      const { label, remaining, permit, key, ...more } = only(REPORT_BUDGET, options);
      const { limit, intervalMs, restoreRate, resetInMs, resetAt } = more;
      const numbers = [remaining, limit, intervalMs, restoreRate, resetInMs, date(resetAt)];
      const own = permit === undefined || permit === null ? permit : idOf(permit);
      return withNames(IN_COMMAND, () =>
        this.#deliverAfter(this.#of(key).reportBudget(label, ...numbers, own)),
      );
    }

    async acquire(options) {
      const { waitTimeoutMs, signal, key, ...asked } = only(
        ["waitTimeoutMs", "signal", "limits", ...NAMED],
        options,
      );
      const limiter = this.#with(key);
      const given = waitTimeoutMs ?? undefined;
      const maxWaitMs =
        given === undefined ? this.#waitTimeoutMs : this.#store.waitTimeoutMs(given);
      const abort = abortSignal(signal);
      abort?.throwIfAborted();
      const { decision, began } =
        maxWaitMs > 0
          ? await limiter.#wait(asked, maxWaitMs, abort)
          : { began: performance.now(), decision: limiter.tryAcquire(asked) };
      if (!decision.allowed) throw new OverLimitError(this.name, decision);
      return new Permit(limiter, decision, began, (asked.estimate ?? null) !== null);
    }

    withinLimit(options, fn) {
      return withinLimit(this, this.#skips, options, fn);
    }

    #queue(id, options, queuePosition) {
      const { claimTimeoutMs, waitTimeoutMs, ...asked } = only(
        ["claimTimeoutMs", "waitTimeoutMs", ...PLACE, ...REQUEST],
        options,
      );
      const wait = [waitTimeoutMs, claimTimeoutMs, queuePosition, ""];
      return this.#acquireQueued(id, asked, request(asked), wait);
    }

    #acquireQueued(id, asked, units, wait, limits = false) {
      const how = place(asked, limits);
      return this.#deliverAfter(this.#of(asked.key).queue(id, ...units, how, ...wait));
    }

    // Waits with a ticket, first come, first served.
    async #wait(asked, maxWaitMs, signal) {
      const ownsId = (asked.id ?? null) === null;
      const id = ownsId ? this.#store.newId() : asked.id;
      // Read once: the caller may change an object while the call waits.
      const units = request(asked);
      const limits = flag("limits", asked.limits, false);
      const sleeper = new Sleeper(id);
      this.#hub.add(sleeper, this.#of());
      const { channel } = this.#hub;
      let waiter;
      let isDelivered = false;
      try {
        for (;;) {
          const began = performance.now();
          // The first attempt, which ends most calls, needs no waiter: the whole time, at the end of the queue.
          const left = waiter?.next(began, channel) ?? maxWaitMs;
          const ticket = waiter?.ticket();
          const wait = [left, undefined, ticket, channel];
          const decision = this.#acquireQueued(id, asked, units, wait, limits);
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
          const slept = sleeper.sleep(channel);
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

    // Returns the limiter of a call in WebAssembly. The next call of this method changes its key: call it last.
    #of(key) {
      const chosen = key ?? this.#key;
      if (chosen === undefined) return this.#inner;
      this.#ofKey.setKey(chosen);
      return this.#ofKey;
    }

    // Returns the limiter of a key, if there is one.
    #with(key) {
      return key === undefined || key === null ? this : this.withKey(key);
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
    #id;
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
      this.#id = decision.permit;
      this.fencingToken = decision.fencingToken;
      this.degraded = decision.degraded;
      Object.freeze(this);
    }

    get id() {
      return this.#id;
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
      checkEstimated(this.#isEstimated);
      return this.#limiter.correct(this.id, actual);
    }

    extend(units) {
      return this[EXTEND](this.#limiter, units);
    }

    // Extends the permit by the limiter that the caller chose.
    [EXTEND](limiter, units, options) {
      checkEstimated(this.#isEstimated);
      const extension = limiter.extend(this.#id, units, options);
      if (extension.allowed && extension.permit !== null) this.#id = extension.permit;
      return extension;
    }

    pointsUsed(actual) {
      return this.correct(actual);
    }
  }

  // Returns the id of a permit; an id is returned as it is.
  function idOf(permit) {
    return permit instanceof Permit ? idOfPermit(permit) : permit;
  }

  return { Limiter, Permit, idOf };
}

// The existing queue position, in place of the number of a ticket.
const EXISTING = -1;

// The internal method of a permit that extends it.
const EXTEND = Symbol("extend");

const KEY = ["key"];
const REQUEST = ["cost", "estimate", "settleWithinMs", ...KEY];
const PLACE = ["priority", "share", "weight"];
const NAMED = ["id", ...PLACE, ...REQUEST];
const OVERRIDE = [
  "limit",
  "intervalMs",
  "label",
  "limits",
  "mode",
  "expiresInMs",
  "expiresAt",
  ...KEY,
];
const REPORT_BUDGET = [
  "remaining",
  "limit",
  "intervalMs",
  "restoreRate",
  "resetInMs",
  "resetAt",
  "label",
  "permit",
  ...KEY,
];
