"use strict";

/** Reads the runtime state, which the addon's store holds for this ticket. */
function runtimeState(_row, ticket, store) {
  return fromNative(store.runtimeState(ticket));
}

/** Converts a runtime state of the addon to a frozen object. */
function fromNative({ version, inUse, pausedForMs, overrides, expiresInMs, learned }) {
  return Object.freeze({
    version,
    inUse,
    pausedForMs: pausedForMs ?? null,
    overrides: Object.freeze(overrides.map(frozen)),
    expiresInMs: expiresInMs ?? null,
    learned: Object.freeze(learned.map(frozen)),
  });
}

const frozen = (numbers) => (numbers ? Object.freeze(numbers) : null);

module.exports = { runtimeState, fromNative };
