"use strict";

/** Reads what a limiter contains, which the addon's store holds for this ticket. Returns a frozen object. */
function inspection(_row, ticket, store) {
  const { limits, leases, tickets, ...more } = store.inspection(ticket);
  const { atUs, pausedForMs = null, blockedForMs = null, mode, leaseCount, ticketCount } = more;
  return Object.freeze({
    atUs,
    limits: frozen(limits, { nextAfterMs: null }),
    pausedForMs,
    blockedForMs,
    mode,
    leases: frozen(leases, { heldForMs: null, fencingToken: null }),
    leaseCount,
    tickets: frozen(tickets, { share: null }),
    ticketCount,
  });
}

/** Freezes a list and its objects, which get these values where they have none. */
const frozen = (list, unknown) =>
  Object.freeze(list.map((entry) => Object.freeze({ ...unknown, ...entry })));

module.exports = { inspection };
