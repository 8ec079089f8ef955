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
    overrides: byLabel(overrides),
    expiresInMs: expiresInMs ?? null,
    learned: byLabel(learned),
  });
}

const byLabel = (limits) =>
  Object.freeze(
    Object.fromEntries(limits.map(({ label, ...settings }) => [label, Object.freeze(settings)])),
  );

module.exports = { runtimeState, fromNative };
