"use strict";

const { clearTimeout, setImmediate, setTimeout } = require("node:timers");
const { isDate } = require("node:util/types");

const { nextTick } = process;

/**
 * Calls `connect` while Node's own modules find the real `process.nextTick`: with a faked one a socket to an address
 * never begins to connect.
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
 * The timers and the clock as they were when this package was loaded, and all of it uses only these: a test that fakes
 * those of the process later does not stop the store's clock, which is that of a server.
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
