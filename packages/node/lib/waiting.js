"use strict";

const { UnavailableError } = require("./errors.js");
const { clearTimeout, setTimeout } = require("./timers.js");

/** The longest delay of a Node timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Calls `then` after at least `ms`, but at the latest after the longest delay of a timer. */
function after(ms, then) {
  // Timers count whole milliseconds from a time that may lie before now; with one more they never end early.
  return setTimeout(then, Math.min(Math.floor(ms) + 1, MAX_TIMER_MS));
}

/** The pauses after which a call that gives something back is made again, in milliseconds. */
const AGAIN_AFTER_MS = [100, 400, 1_600];

/**
 * Makes a call that gives something back, and again while the store is unavailable. The caller does not wait for it, and it
 * does not keep the process alive: what was not given back expires.
 */
async function giveBack(call) {
  for (const pause of [...AGAIN_AFTER_MS, null]) {
    try {
      return await call();
    } catch (error) {
      if (pause === null || !(error instanceof UnavailableError)) return undefined;
      await new Promise((resolve) => after(pause, resolve).unref());
    }
  }
}

/** Waits `ms`; rejects with the reason of `signal` if it is aborted. */
function sleep(ms, signal) {
  let timer;
  const slept = new Promise((resolve) => {
    timer = after(ms, resolve);
  });
  return signal ? abortable(slept, signal).finally(() => clearTimeout(timer)) : slept;
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

module.exports = { after, sleep, abortable, giveBack };
