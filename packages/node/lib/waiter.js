"use strict";

const { AT_END } = require("./area.js");
const { calling } = require("./errors.js");
const { newId } = require("./native.js");
const { clearTimeout, now } = require("./timers.js");
const { abortable, after } = require("./waiting.js");

/** How a waiter looks at its place in the queue, and gives back what it was granted too late: methods of limiters. */
const LOOK = Symbol("look");
const GIVE_BACK = Symbol("give back");

/** One call that waits for its turn, with a ticket. */
class Waiter {
  /** When the last look was sent; a lease counts from there. */
  began = 0;
  /** Whether nobody else has its id: what there is under it is its own. */
  #isAlone;
  #limiter;
  #hub;
  #run;
  #asked;
  #deadline;
  #place = AT_END;
  /** Those who wait at the same place, once it is known. */
  #others = null;
  #look = null;
  /** Until when it sleeps and what ends that; until when a message said that it would, if it came during a look. */
  #until = 0;
  #resume = null;
  #timer = null;
  #told = Number.POSITIVE_INFINITY;

  /**
   * `run` is the limiter's function, `hub` where the waiters of its store hear of their turn. `id` may be null: then it
   * gets one that nobody else has.
   */
  constructor(limiter, hub, run, id, asked, patienceMs) {
    this.id = id ?? calling(newId);
    this.#isAlone = id === null;
    this.#limiter = limiter;
    this.#hub = hub;
    this.#run = run;
    this.#asked = asked;
    this.#deadline = now() + patienceMs;
  }

  /**
   * The decision that is no place in the queue. Whoever aborts the signal leaves neither ticket nor lease, but for a
   * lease that was there under the same id before.
   */
  async decision() {
    const { signal } = this.#asked;
    try {
      for (;;) {
        this.#hub.checkOpen();
        const channel = this.#join(this.#hub.known(this.#run));
        const patienceMs = Math.max(0, this.#deadline - now());
        this.began = now();
        const how = { patienceMs, place: this.#place, channel };
        this.#look = this.#limiter[LOOK](this.id, this.#asked, how);
        const decision = await (signal ? abortable(this.#look, signal) : this.#look);
        if (decision.status !== "queued") {
          // What the store has not decided leaves the ticket there.
          if (decision.degraded && this.#place > 0) this.#cancel();
          return decision;
        }
        this.#place = decision.ticket;
        const opened = this.#join(this.#hub.open(this.#run));
        // A ticket that names no channel, or an old one, would not be told.
        if (opened !== "" && opened !== channel) continue;
        const slept = this.#sleep(decision.retryAfterUs / 1000);
        await (signal ? abortable(slept, signal) : slept);
      }
    } catch (error) {
      this.#leave(error);
      throw error;
    } finally {
      this.#join(null);
      clearTimeout(this.#timer);
    }
  }

  /** It may look after `delayMs`, if it would not before. */
  wake(delayMs) {
    const at = now() + delayMs;
    if (this.#resume === null) this.#told = Math.min(this.#told, at);
    else if (at < this.#until) this.#sleepUntil(at);
  }

  /** Waits with the others at a place. Gives the channel on which they are told. */
  #join(others = null) {
    if (others !== this.#others) {
      this.#others?.remove(this);
      others?.add(this);
      this.#others = others;
    }
    return others === null ? "" : others.channel;
  }

  #sleep(ms) {
    return new Promise((resolve) => {
      this.#resume = resolve;
      this.#sleepUntil(Math.min(now() + ms, this.#deadline, this.#told));
      this.#told = Number.POSITIVE_INFINITY;
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

  /** Gives back what the last look took, as soon as that is known. */
  #leave(error) {
    const { signal } = this.#asked;
    const mayHold =
      this.#place > 0 || (this.#isAlone && (signal?.aborted || error?.mayHaveCounted));
    const answered = (decision) => {
      if (decision.allowed) this.#limiter[GIVE_BACK](decision, this.#asked);
      else if (decision.status === "queued" || this.#place > 0) this.#cancel();
    };
    this.#look?.then(answered, () => mayHold && this.#cancel());
  }
}

module.exports = { Waiter, LOOK, GIVE_BACK };
