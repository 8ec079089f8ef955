"use strict";

const { PaddlegateError } = require("./shared/errors.js");
const { clearTimeout } = require("./timers.js");
const { after } = require("./waiting.js");

/** Milliseconds between two renewals at least. */
const SHORTEST_MS = 100;

/**
 * Renews a lease, if the permit has one, when half of its time is over. After a failure it tries again when half of what is
 * left is over. Returns a function that ends it.
 */
function renewing(permit) {
  let timer;
  let isStopped = false;
  const plan = () => {
    const left = permit.expiresInMs;
    if (isStopped || !left) return;
    timer = after(Math.max(left / 2, SHORTEST_MS), renew).unref();
  };
  const renew = async () => {
    try {
      if (!(await permit.renew())) return;
    } catch (error) {
      // The server may be back before the lease ends.
      if (!(error instanceof PaddlegateError)) throw error;
    }
    plan();
  };
  plan();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

module.exports = { renewing };
