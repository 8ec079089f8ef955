"use strict";

const { clearTimeout, setTimeout } = require("./timers.js");

/** The longest time that a timer of Node can be set to. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Calls `then` after at least `ms`, but not later than a timer can. */
function after(ms, then) {
  // Timers count in whole milliseconds that began before now; one more is never early.
  return setTimeout(then, Math.min(Math.floor(ms) + 1, MAX_TIMER_MS));
}

/** Waits; rejects with the reason of `signal` when that is aborted. */
function sleep(ms, signal) {
  let timer;
  const slept = new Promise((resolve) => {
    timer = after(ms, resolve);
  });
  return signal ? abortable(slept, signal).finally(() => clearTimeout(timer)) : slept;
}

/** The promise, or a rejection with the reason of `signal` as soon as that is aborted; then `stopped` is called. */
function abortable(promise, signal, stopped) {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const stop = () => {
      reject(signal.reason);
      stopped?.();
    };
    const forget = onAbort(signal, stop);
    promise.then(resolve, reject).finally(forget);
  });
}

/** What is to be called when a signal is aborted. Node warns of a leak when one has more than ten listeners. */
const stopsBySignal = new WeakMap();

/** Calls `stop` when `signal` is aborted, by one listener for all. Gives what undoes that. */
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

module.exports = { after, sleep, abortable };
