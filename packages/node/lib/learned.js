"use strict";

/** Reads the result of a report, which the addon's store holds for this ticket. */
function learned(_row, ticket, store) {
  const { settlement, learned, ignored, cost, pauseMs, scope, bucket } = store.learned(ticket);
  return Object.freeze({
    settlement: settlement ?? null,
    learned: Object.freeze(learned),
    ignored: Object.freeze(ignored),
    cost: cost ?? null,
    pauseMs: pauseMs ?? null,
    scope: scope ?? null,
    bucket: bucket ?? null,
  });
}

module.exports = { learned };
