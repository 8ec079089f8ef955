"use strict";

const { AT_END } = require("./shared-buffer.js");
const { callNative } = require("./call-native.js");
const { Waiter: Rules, newId } = require("./native.js");
const { abortable, Alarm } = require("./shared/waiting.js");
const timers = require("./timers.js");
const { giveBack } = require("./waiting.js");

const { now } = timers;

/** Internal methods of `Limiter`: sends one attempt of a waiter; returns a grant that came too late. */
const ACQUIRE_QUEUED = Symbol("acquire queued");
const RELEASE_LATE = Symbol("release late");
/** An internal method of `Limiter` for job systems: waits for the turn of a job in its worker. */
const ACQUIRE_JOB = Symbol("acquire job");

/**
 * One call that waits in the queue with a ticket. The core has the rules: when to retry, with which ticket, and what to
 * cancel. This package has the timer, the signal and the wake-ups.
 */
class Waiter {
  /** The time at which the last attempt was sent; a lease counts from it. */
  began = 0;
  /** Whether no other call has this id, so that every ticket and lease of the id belongs to this call. */
  #ownsId;
  #limiter;
  #hub;
  #run;
  #asked;
  #maxWaitMs;
  /** The waiter of the core; null until `#rules` needs it. */
  #native = null;
  /** The waiters of the same node, once the node is known, and the channel of the last attempt. */
  #waiters = null;
  #channel = "";
  #call = null;
  #alarm = new Alarm(timers);

  /**
   * `run` is the addon's function of the limiter, `hub` the hub of its store. If `id` is null the waiter creates a
   * unique one. A `job` waits in its worker for up to `patienceMs`, and then keeps its ticket.
   */
  constructor(limiter, hub, run, id, asked, maxWaitMs, job = null) {
    this.id = id ?? callNative(newId);
    this.#ownsId = id === null;
    this.#limiter = limiter;
    this.#hub = hub;
    this.#run = run;
    this.#asked = asked;
    this.#maxWaitMs = maxWaitMs;
    if (job !== null) {
      const { claimTimeoutMs, patienceMs } = job;
      this.#native = callNative(() => Rules.ofJob(claimTimeoutMs, patienceMs, now()));
    }
  }

  /**
   * Returns the first decision that is final: not `"queued"`, except for a job to be put away. An abort of the signal leaves neither ticket nor lease, except a
   * lease that the same id held before.
   */
  async decision() {
    const { signal } = this.#asked;
    try {
      for (;;) {
        this.#hub.checkOpen();
        this.#channel = this.#join(this.#hub.existing(this.#run));
        this.began = now();
        // The first attempt needs no rules: it waits at the end of the queue, for the whole time.
        const next = this.#native?.next(this.began, this.#channel);
        const how = {
          maxWaitMs: next?.maxWaitMs ?? this.#maxWaitMs,
          claimTimeoutMs: next?.claimTimeoutMs,
          keeps: next?.keeps,
          queuePosition: next?.ticket ?? AT_END,
          channel: next?.channel ?? this.#channel,
        };
        this.#call = this.#limiter[ACQUIRE_QUEUED](this.id, this.#asked, how);
        const decision = await (signal ? abortable(this.#call, signal) : this.#call);
        if (this.#evaluate(decision)) {
          // After a decision of the limiter's fallback the ticket is still in the store.
          this.#cancel(true);
          return decision;
        }
        this.#join(this.#hub.open(this.#run));
        // Meanwhile another call of this process may poll for this one too.
        const slept = this.#alarm.sleepUntil(() => this.#native.retryAt(this.#waiters.channel));
        await (signal ? abortable(slept, signal) : slept);
      }
    } catch (error) {
      this.#giveBack();
      throw error;
    } finally {
      this.#join(null);
      this.#alarm.stop();
    }
  }

  /** Moves the next attempt forward to `delayMs` from now, unless it is due earlier. */
  wake(delayMs) {
    this.#rules().onWakeup(now() + delayMs);
    this.#alarm.moved();
  }

  /** Joins the waiters of a node, or none. Returns the channel for their wake-ups; empty if there is none. */
  #join(waiters = null) {
    if (waiters !== this.#waiters) {
      this.#waiters?.remove(this);
      waiters?.add(this);
      this.#waiters = waiters;
    }
    return waiters === null ? "" : waiters.channel;
  }

  /**
   * Returns the waiter of the core. It is created late, as it would be after the first attempt was sent: most calls end
   * with that attempt and need none.
   */
  #rules() {
    if (this.#native === null) {
      this.#native = callNative(() => new Rules(this.#ownsId, this.#maxWaitMs, this.began));
      this.#native.next(this.began, this.#channel);
    }
    return this.#native;
  }

  /** Evaluates the decision of the last attempt. Returns whether it is final. */
  #evaluate({ status, allowed, degraded, retryAfterUs, ticket }) {
    if (status === "queued") return this.#rules().onQueued(now(), retryAfterUs, ticket);
    this.#native?.onFinal(allowed, degraded);
    return true;
  }

  /** Cancels what the call left in the store; with `isDelivered` not a grant, which the caller or the limiter has. */
  #cancel(isDelivered) {
    if (this.#native?.mustCancel(isDelivered)) giveBack(() => this.#limiter.cancel(this.id));
  }

  /** Returns the grant or the ticket of the last attempt once its answer arrives. */
  #giveBack() {
    const answered = (decision) => {
      if (decision.allowed) this.#limiter[RELEASE_LATE](decision, this.#asked);
      this.#evaluate(decision);
      this.#cancel(decision.allowed);
    };
    const failed = ({ mayHaveCounted = false }) => {
      this.#rules().onError(mayHaveCounted);
      this.#cancel(false);
    };
    this.#call?.then(answered, failed);
  }
}

module.exports = { Waiter, ACQUIRE_JOB, ACQUIRE_QUEUED, RELEASE_LATE };
