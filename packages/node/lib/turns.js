"use strict";

const { callNative } = require("./call-native.js");
const { newId } = require("./native.js");
const { abortable, Alarm } = require("./shared/waiting.js");
const timers = require("./timers.js");

const { now } = timers;

/**
 * A loop over the turns of queued jobs: it sleeps until the next turn comes. The core says for how long; this package has the
 * timer, the signal and the wake-ups.
 */
class Turns {
  /** The id that the wake-ups name. */
  id = callNative(newId);
  #hub;
  #run;
  #ask;
  #waitTimeoutMs;
  #signal;
  /** The waiters of the limiter's node, and the channel of the last question. */
  #waiters = null;
  #channel = "";
  /** When the next question is due. */
  #due = 0;
  #alarm = new Alarm(timers);

  /** `hub` is the hub of the store, `run` the addon's function of the limiter; `ask(id, channel)` asks once. */
  constructor(hub, run, ask, { waitTimeoutMs, signal }) {
    this.#hub = hub;
    this.#run = run;
    this.#ask = ask;
    this.#waitTimeoutMs = waitTimeoutMs;
    this.#signal = signal;
  }

  /** Yields the ids of jobs, each when its turn comes, until none has come for the time to wait. */
  async *ids() {
    try {
      for (;;) {
        const ids = await this.#next();
        if (ids === null) return;
        yield* ids;
      }
    } finally {
      this.#join();
      this.#alarm.stop();
    }
  }

  /** Moves the next question forward to `delayMs` from now, unless it is due earlier. */
  wake(delayMs) {
    this.#due = Math.min(this.#due, now() + delayMs);
    this.#alarm.moved();
  }

  /** Returns the turns that come next; null if none has come in time. */
  async #next() {
    const end = this.#waitTimeoutMs === undefined ? Infinity : now() + this.#waitTimeoutMs;
    for (;;) {
      this.#signal?.throwIfAborted();
      if (this.#join(this.#hub.open(this.#run)) !== this.#channel) this.#due = 0;
      if (this.#due - now() >= 0.001) {
        if (end <= now()) return null;
        const slept = this.#alarm.sleepUntil(() => Math.min(this.#due, end));
        await (this.#signal ? abortable(slept, this.#signal) : slept);
        continue;
      }
      this.#channel = this.#waiters?.channel ?? "";
      this.#due = Infinity;
      const { ids, afterMs } = await this.#ask(this.id, this.#channel);
      this.wake(afterMs);
      if (ids.length > 0) return ids;
    }
  }

  #join(waiters = null) {
    if (waiters !== this.#waiters) {
      this.#waiters?.remove(this);
      waiters?.add(this);
      this.#waiters = waiters;
    }
    return waiters?.channel ?? "";
  }
}

module.exports = { Turns };
