"use strict";

/** What is in force beside the policy, kept by the store for this ticket. */
function runtimeState(_row, ticket, store) {
  return shown(store.runtimeState(ticket));
}

/** The same as the addon gives it, frozen. */
function shown({ version, inUse, pausedForMs, overrides, expiresInMs, learned }) {
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

module.exports = { runtimeState, shown };
