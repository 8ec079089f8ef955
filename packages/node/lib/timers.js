"use strict";

const { clearTimeout, setImmediate, setTimeout } = require("node:timers");
const { isDate } = require("node:util/types");

const { nextTick } = process;

/**
 * Calls `connect` with the original `process.nextTick` in place: with a faked one a socket to an address never starts
 * to connect.
 */
function withRealTicks(connect) {
  const current = process.nextTick;
  if (current === nextTick) return connect();
  process.nextTick = nextTick;
  try {
    return connect();
  } finally {
    process.nextTick = current;
  }
}

/**
 * The timers and the clock as of the load of this package, which uses no others: a test that fakes them later must not stop
 * this package, because the store reads the clock of a server.
 */
module.exports = {
  clearTimeout,
  setImmediate,
  setTimeout,
  nextTick: nextTick.bind(process),
  now: performance.now.bind(performance),
  isDate,
  withRealTicks,
};
