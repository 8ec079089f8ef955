"use strict";

/** Sleeps that may end early, by a wake-up or an abort. `timers` has `setTimeout`, `clearTimeout` and `now` of the package. */

/** The longest delay of a timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Calls `then` after at least `ms`, but at the latest after the longest delay of a timer. */
function after(timers, ms, then) {
  // Timers count whole milliseconds from a time that may lie before now; with one more they never end early.
  return timers.setTimeout(then, Math.min(Math.floor(ms) + 1, MAX_TIMER_MS));
}

/** One sleep at a time, until a time that wake-ups may move. */
class Alarm {
  #timers;
  #timer = null;
  /** Returns the time at which the sleep ends. */
  #due = null;
  /** Ends the sleep; null while there is none. */
  #resume = null;

  constructor(timers) {
    this.#timers = timers;
  }

  /** Sleeps until the time that `due` returns; it is called again after each timer and by `moved`. */
  sleepUntil(due) {
    return new Promise((resolve) => {
      this.#due = due;
      this.#resume = resolve;
      this.moved();
    });
  }

  /** Follows the end of the sleep, if there is one, to its new time. */
  moved() {
    if (this.#resume === null) return;
    this.stop();
    const ms = this.#due() - this.#timers.now();
    // The core rounds to microseconds, so a wake-up for now may be due a part of one later.
    if (ms >= 0.001) {
      this.#timer = after(this.#timers, ms, () => this.moved());
    } else {
      this.#resume();
      this.#resume = null;
    }
  }

  /** Ends the timer; a sleep then never ends. */
  stop() {
    this.#timers.clearTimeout(this.#timer);
  }
}

/** Follows the promise; if `signal` is aborted first, rejects with its reason and calls `stopped`. */
function abortable(promise, signal, stopped) {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const stop = () => {
      reject(signal.reason);
      stopped?.();
    };
    const unsubscribe = onAbort(signal, stop);
    promise.then(resolve, reject).finally(unsubscribe);
  });
}

/** The functions to call on abort, by signal. One listener per signal: Node warns of a leak above ten. */
const stopsBySignal = new WeakMap();

/** Calls `stop` when `signal` is aborted, with one listener for all. Returns a function that removes `stop`. */
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

module.exports = { after, Alarm, abortable };
