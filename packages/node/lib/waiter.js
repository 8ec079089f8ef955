"use strict";

const { AT_END } = require("./shared-buffer.js");
const { callNative } = require("./errors.js");
const { newId } = require("./native.js");
const { clearTimeout, now } = require("./timers.js");
const { abortable, after } = require("./waiting.js");

/** Internal methods of `Limiter`: sends one attempt of a waiter; returns a grant that came too late. */
const ACQUIRE_QUEUED = Symbol("acquire queued");
const RELEASE_LATE = Symbol("release late");

/** One call that waits in the queue with a ticket. */
class Waiter {
  /** The time at which the last attempt was sent; a lease counts from it. */
  began = 0;
  /** Whether no other call has this id, so that every ticket and lease of the id belongs to this call. */
  #ownsId;
  #limiter;
  #hub;
  #run;
  #asked;
  #deadline;
  #queuePosition = AT_END;
  /** The waiters of the same node, once the node is known. */
  #waiters = null;
  #call = null;
  /** The end of the sleep and the functions that end it; the time of a wake-up that arrived during an attempt. */
  #until = 0;
  #resume = null;
  #timer = null;
  #wokenAt = Number.POSITIVE_INFINITY;

  /**
   * `run` is the addon's function of the limiter, `hub` the hub of its store. If `id` is null the waiter creates a
   * unique one.
   */
  constructor(limiter, hub, run, id, asked, maxWaitMs) {
    this.id = id ?? callNative(newId);
    this.#ownsId = id === null;
    this.#limiter = limiter;
    this.#hub = hub;
    this.#run = run;
    this.#asked = asked;
    this.#deadline = now() + maxWaitMs;
  }

  /**
   * Returns the first decision that is not `"queued"`. An abort of the signal leaves neither ticket nor lease, except a
   * lease that the same id held before.
   */
  async decision() {
    const { signal } = this.#asked;
    try {
      for (;;) {
        this.#hub.checkOpen();
        const channel = this.#join(this.#hub.existing(this.#run));
        const maxWaitMs = Math.max(0, this.#deadline - now());
        this.began = now();
        const how = { maxWaitMs, queuePosition: this.#queuePosition, channel };
        this.#call = this.#limiter[ACQUIRE_QUEUED](this.id, this.#asked, how);
        const decision = await (signal ? abortable(this.#call, signal) : this.#call);
        if (decision.status !== "queued") {
          // The limiter's fallback decided, so the ticket is still in the store.
          if (decision.degraded && this.#queuePosition > 0) this.#cancel();
          return decision;
        }
        this.#queuePosition = decision.ticket;
        const opened = this.#join(this.#hub.open(this.#run));
        // A ticket without a channel, or with an old one, would get no wake-up.
        if (opened !== "" && opened !== channel) continue;
        const slept = this.#sleep(decision.retryAfterUs / 1000);
        await (signal ? abortable(slept, signal) : slept);
      }
    } catch (error) {
      this.#cleanUp(error);
      throw error;
    } finally {
      this.#join(null);
      clearTimeout(this.#timer);
    }
  }

  /** Moves the next attempt forward to `delayMs` from now, unless it is due earlier. */
  wake(delayMs) {
    const at = now() + delayMs;
    if (this.#resume === null) this.#wokenAt = Math.min(this.#wokenAt, at);
    else if (at < this.#until) this.#sleepUntil(at);
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

  #sleep(ms) {
    return new Promise((resolve) => {
      this.#resume = resolve;
      this.#sleepUntil(Math.min(now() + ms, this.#deadline, this.#wokenAt));
      this.#wokenAt = Number.POSITIVE_INFINITY;
    });
  }

  #sleepUntil(at) {
    clearTimeout(this.#timer);
    this.#until = at;
    const ms = at - now();
    const resume = () => {
      this.#resume?.();
      this.#resume = null;
    };
    if (ms > 0) this.#timer = after(ms, resume);
    else resume();
  }

  #cancel() {
    this.#limiter.cancel(this.id).catch(() => {});
  }

  /** Returns the grant or the ticket of the last attempt once its answer arrives. */
  #cleanUp(error) {
    const { signal } = this.#asked;
    const mayHold =
      this.#queuePosition > 0 || (this.#ownsId && (signal?.aborted || error?.mayHaveCounted));
    const answered = (decision) => {
      if (decision.allowed) this.#limiter[RELEASE_LATE](decision, this.#asked);
      else if (decision.status === "queued" || this.#queuePosition > 0) this.#cancel();
    };
    this.#call?.then(answered, () => mayHold && this.#cancel());
  }
}

module.exports = { Waiter, ACQUIRE_QUEUED, RELEASE_LATE };
