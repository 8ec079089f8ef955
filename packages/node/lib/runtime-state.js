"use strict";

/** Reads the runtime state, which the addon's store holds for this ticket. */
function runtimeState(_row, ticket, store) {
  return fromNative(store.runtimeState(ticket));
}

/** Converts a runtime state of the addon to a frozen object. */
function fromNative(state) {
  return Object.freeze({
    version: state.version,
    inUse: state.inUse,
    pausedForMs: state.pausedForMs ?? null,
    blockedForMs: state.blockedForMs ?? null,
    mode: state.mode ?? null,
    overrides: byLabel(state.overrides),
    expiresInMs: state.expiresInMs ?? null,
    learned: byLabel(state.learned),
  });
}

const byLabel = (limits) =>
  Object.freeze(
    Object.fromEntries(limits.map(({ label, ...settings }) => [label, Object.freeze(settings)])),
  );

module.exports = { runtimeState, fromNative };
