"use strict";

const { ROWS } = require("./area.js");
const { Decision, wholeMs } = require("./decision.js");
const { Permit } = require("./permit.js");

/** Reads what is done with a job of `limiter`, which was asked about at `began`. */
function admission(limiter, began, { estimate }) {
  const isEstimated = estimate !== undefined && estimate !== null;
  return (row, ticket, store) => {
    const decision = new Decision(row, ticket, store);
    const { action, afterMs } = store.admission(ticket);
    const permit = decision.allowed ? new Permit(limiter, decision, began, isEstimated) : null;
    return Object.freeze({ action, afterMs: wholeMs(afterMs), decision, permit });
  };
}

/** Reads what is done with several jobs; when all or none run, each may be given back. */
function admissions(limiter, began, store, partial) {
  const read = admission(limiter, began, { estimate: partial ? null : 1 });
  return (course) =>
    Array.from({ length: course.admissions() }, (_, index) => {
      course.admission(index);
      return read(ROWS, 0, store);
    });
}

module.exports = { admission, admissions };
