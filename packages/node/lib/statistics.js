"use strict";

/** Reads the statistics of a limiter, which the addon's store holds for this ticket. Returns a frozen object. */
function statistics(_row, ticket, store) {
  const { refusedBy, waits, holds, ...counts } = store.statistics(ticket);
  return Object.freeze({
    ...counts,
    immediate: counts.granted - counts.waited,
    refusedBy: Object.freeze(refusedBy),
    waits: Object.freeze(waits),
    holds: Object.freeze(holds),
  });
}

module.exports = { statistics };
