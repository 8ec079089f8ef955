"use strict";

const { ROWS } = require("./shared-buffer.js");
const { Decision } = require("./decision.js");
const { Permit } = require("./permit.js");
const { wholeMs } = require("./shared/answers.js");

/** Returns a function that reads the action for a job of `limiter`. `began` is the time at which the call was sent. */
function admission(limiter, began, { estimate }) {
  const isEstimated = estimate !== undefined && estimate !== null;
  return (row, ticket, store) => {
    const decision = new Decision(row, ticket, store);
    const { action, afterMs } = store.admission(ticket);
    const permit = decision.allowed ? new Permit(limiter, decision, began, isEstimated) : null;
    return Object.freeze({ action, afterMs: wholeMs(afterMs), decision, permit });
  };
}

/**
 * Returns a function that reads the actions for several jobs. Without `partial` every cost is a correctable estimate.
 */
function admissions(limiter, began, store, partial) {
  const read = admission(limiter, began, { estimate: partial ? null : 1 });
  return (steps) =>
    Array.from({ length: steps.admissions() }, (_, index) => {
      steps.admission(index);
      return read(ROWS, 0, store);
    });
}

module.exports = { admission, admissions };
