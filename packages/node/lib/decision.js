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
const { callNative } = require("./call-native.js");
const native = require("./native.js");
const { optionalText } = require("./request.js");
const { decisionLimit, NO_LIMITS, STATUSES, wholeMs } = require("./shared/answers.js");

const REASONS = [null, ...native.reasons()];
/** The labels by their codes, as far as they were read. */
const LABELS = [];

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
    this.limits = code & WITH_LIMITS ? limits(store.limitsOf(ticket)) : NO_LIMITS;
    Object.freeze(this);
  }

  headers(fields) {
    const given = optionalText("fields", fields);
    const numbers = { ...withoutNulls(this), limits: this.limits.map(withoutNulls) };
    return Object.fromEntries(callNative(() => native.decisionHeaders(numbers, given)));
  }
}

/** Returns the label with this code; null for 0. */
function labelOf(code) {
  if (code === 0) return null;
  LABELS[code] ??= native.label(code);
  return LABELS[code];
}

const limits = (all) => Object.freeze(all.map(decisionLimit));

/** Returns a copy as the addon takes it. */
const withoutNulls = (object) =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));

const orNull = (value) => (Number.isNaN(value) ? null : value);

module.exports = { Decision };
