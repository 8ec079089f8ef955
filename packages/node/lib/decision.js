"use strict";

const {
  slots,
  STATUS,
  WITH_PERMIT,
  DEGRADED,
  WITH_LIMITER,
  IN_SHADOW,
  WITH_LIMITS,
  LOWERED,
} = require("./shared-buffer.js");
const native = require("./native.js");

const REASONS = [null, ...native.reasons()];
/** The labels by their codes, as far as they were read. */
const LABELS = [];
const STATUSES = ["refused", "granted", "queued", "no_ticket"];

/** The decision about one call, with the values of the tightest limit. */
class Decision {
  /** Reads the row of the shared buffer that begins at `row`; permit and limiter are texts of the store. */
  constructor(row, ticket, store) {
    const code = slots[row + 2];
    this.status = STATUSES[code & STATUS];
    this.allowed = this.status === "granted";
    this.limit = orNull(slots[row + 3]);
    this.remaining = orNull(slots[row + 4]);
    this.retryAfterMs = wholeMs(slots[row + 5] / 1000);
    this.resetAfterMs = wholeMs(slots[row + 6] / 1000);
    this.degraded = (code & DEGRADED) !== 0;
    this.isLowered = (code & LOWERED) !== 0;
    const reason = REASONS[slots[row + 7]];
    const inShadow = (code & IN_SHADOW) !== 0;
    this.reason = inShadow
      ? null
      : (reason ?? (this.degraded && !this.allowed ? "unavailable" : null));
    this.wouldRefuse = inShadow ? reason : null;
    this.label = labelOf(slots[row + 8]);
    this.limiter = code & WITH_LIMITER ? store.limiterOf(ticket) : null;
    this.atUs = slots[row + 9];
    this.permit = code & WITH_PERMIT ? store.text(ticket) : null;
    this.leaseMs = orNull(slots[row + 10] / 1000);
    this.fencingToken = orNull(slots[row + 11]);
    this.ticket = orNull(slots[row + 12]);
    this.position = orNull(slots[row + 13]);
    this.readyAfterMs = wholeMs(slots[row + 14] / 1000);
    this.retryAfterUs = orNull(slots[row + 5]);
    this.resetAfterUs = orNull(slots[row + 6]);
    this.readyAfterUs = orNull(slots[row + 14]);
    this.limits = code & WITH_LIMITS ? limits(store.limitsOf(ticket)) : NONE;
    Object.freeze(this);
  }
}

const NONE = Object.freeze([]);

/** Returns the limits of a decision, frozen. */
function limits(all) {
  const each = all.map(({ limiter = null, label, limit, remaining, ...times }) => {
    const { intervalUs, retryAfterUs = null, resetAfterUs = null } = times;
    const retryAfterMs = wholeMs((retryAfterUs ?? Number.NaN) / 1000);
    const resetAfterMs = wholeMs((resetAfterUs ?? Number.NaN) / 1000);
    const inUs = { retryAfterUs, resetAfterUs };
    return Object.freeze({
      limiter,
      label,
      limit,
      intervalMs: intervalUs / 1000,
      remaining,
      retryAfterMs,
      resetAfterMs,
      ...inUs,
    });
  });
  return Object.freeze(each);
}

/** Returns the label with this code; null for 0. */
function labelOf(code) {
  if (code === 0) return null;
  LABELS[code] ??= native.label(code);
  return LABELS[code];
}

const orNull = (value) => (Number.isNaN(value) ? null : value);

/**
 * Rounds up to whole milliseconds, the unit of timers: a timer that ends too early would only cause another refusal.
 * Returns null for an unknown value.
 */
const wholeMs = (ms) => orNull(Math.ceil(ms ?? Number.NaN));

module.exports = { Decision, wholeMs };
