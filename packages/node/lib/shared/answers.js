"use strict";

/** The frozen objects that callers get. Where the core has no value they have null. */

/** The statuses of a decision by their numbers in the core. */
const STATUSES = ["refused", "granted", "queued", "no_ticket"];

/** The limits of a decision that names none. */
const NO_LIMITS = Object.freeze([]);

/**
 * Rounds up to whole milliseconds, the unit of timers: a timer that ends too early would only cause another refusal.
 * Returns null for an unknown value.
 */
function wholeMs(ms) {
  const whole = Math.ceil(ms ?? Number.NaN);
  return Number.isNaN(whole) ? null : whole;
}

/** Converts microseconds to milliseconds; null stays. */
const milliseconds = (us) => (us === undefined || us === null ? null : us / 1000);

/** Returns one limit of a decision. */
function decisionLimit({ limiter, label, kind, limit, intervalUs, remaining, ...times }) {
  const { retryAfterUs = null, resetAfterUs = null } = times;
  return Object.freeze({
    limiter: limiter ?? null,
    label,
    kind,
    limit,
    intervalMs: intervalUs / 1000,
    remaining,
    retryAfterMs: wholeMs(milliseconds(retryAfterUs)),
    resetAfterMs: wholeMs(milliseconds(resetAfterUs)),
    retryAfterUs,
    resetAfterUs,
  });
}

/** Returns an entry of the list of limiters, which callers may change. */
const listedLimiter = ({ name, group, keyed, mode, limits, lastUsed, ttl }) => ({
  name,
  group: group ?? null,
  keyed,
  mode,
  limits,
  lastUsed: lastUsed ?? null,
  ttl,
});

/** Returns a runtime state; its overrides and what was learned are lists of limits with their labels. */
function runtimeState({ overrides, learned, ...state }) {
  return Object.freeze({
    version: state.version,
    inUse: state.inUse,
    pausedForMs: state.pausedForMs ?? null,
    blockedForMs: state.blockedForMs ?? null,
    mode: state.mode ?? null,
    overrides: byLabel(overrides),
    expiresInMs: state.expiresInMs ?? null,
    learned: byLabel(learned),
  });
}

function byLabel(limits) {
  const entries = limits.map(({ label, ...settings }) => [label, Object.freeze(settings)]);
  return Object.freeze(Object.fromEntries(entries));
}

/** Returns the statistics of a limiter. */
function statistics({ refusedBy, waits, holds, ...counts }) {
  return Object.freeze({
    ...counts,
    immediate: counts.granted - counts.waited,
    refusedBy: Object.freeze(refusedBy),
    waits: Object.freeze(waits),
    holds: Object.freeze(holds),
  });
}

/** Returns the history of a limiter. The arguments have the five numbers of each entry, one entry after another. */
const history = (minutes, hours) =>
  Object.freeze({ minutes: historyEntries(minutes), hours: historyEntries(hours) });

function historyEntries(numbers) {
  const entries = [];
  for (let i = 0; i < numbers.length; i += 5) {
    const [start, granted, refused, waited, units] = numbers.slice(i, i + 5);
    entries.push(Object.freeze({ start, granted, refused, waited, units }));
  }
  return Object.freeze(entries);
}

/** Returns what a limiter contains. */
function inspection({ limits, leases, tickets, ...more }) {
  const { atUs, pausedForMs = null, blockedForMs = null, mode, leaseCount, ticketCount } = more;
  return Object.freeze({
    atUs,
    limits: frozenList(limits, { nextAfterMs: null }),
    pausedForMs,
    blockedForMs,
    mode,
    leases: frozenList(leases, { heldForMs: null, fencingToken: null }),
    leaseCount,
    tickets: frozenList(tickets, { share: null }),
    ticketCount,
  });
}

/** Freezes a list and its objects, which get these values where they have none. */
const frozenList = (list, unknown) =>
  Object.freeze(list.map((entry) => Object.freeze({ ...unknown, ...entry })));

/** Returns the result of a report or a response. */
function learnedReport({ settlement, learned, ignored, cost, pauseMs, scope, bucket }) {
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

/** Returns the decision about a request at a gate. */
function gateDecision({ allowed, delayMs, slot, level, retryAfterMs, reason }) {
  return Object.freeze({
    allowed,
    delayMs: wholeMs(delayMs),
    slot: slot ?? null,
    level: level ?? null,
    retryAfterMs: wholeMs(retryAfterMs),
    reason: reason ?? null,
  });
}

module.exports = {
  STATUSES,
  NO_LIMITS,
  wholeMs,
  milliseconds,
  decisionLimit,
  listedLimiter,
  runtimeState,
  statistics,
  history,
  inspection,
  learnedReport,
  gateDecision,
};
