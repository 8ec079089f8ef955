"use strict";

const { UnavailableError } = require("./shared/errors.js");
const shared = require("./shared/waiting.js");
const timers = require("./timers.js");

const { abortable } = shared;

/** Calls `then` after at least `ms`, or after the longest delay of a timer. */
const after = (ms, then) => shared.after(timers, ms, then);

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
  return signal ? abortable(slept, signal).finally(() => timers.clearTimeout(timer)) : slept;
}

module.exports = { after, sleep, giveBack };
