"use strict";

const { clearTimeout, setImmediate, setTimeout } = require("node:timers");

/** The timers and the clock of sockets, whatever a test puts in their place later. */
module.exports = {
  clearTimeout,
  setImmediate,
  setTimeout,
  now: performance.now.bind(performance),
};
