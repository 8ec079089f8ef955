"use strict";

const { area, STATUS, WITH_PERMIT, DEGRADED } = require("./area.js");
const { kinds } = require("./native.js");

const KINDS = [null, ...kinds()];
const STATUSES = ["refused", "granted", "queued", "gone"];

/** The answer to one call, with the numbers of the limit that is the tightest. */
class Decision {
  /** Reads the row of the area that begins at `row`; the permit is a text of the store. */
  constructor(row, ticket, store) {
    const code = area[row + 2];
    this.status = STATUSES[code & STATUS];
    this.allowed = this.status === "granted";
    this.limit = orNull(area[row + 3]);
    this.remaining = orNull(area[row + 4]);
    this.retryAfterMs = wholeMs(area[row + 5] / 1000);
    this.resetAfterMs = wholeMs(area[row + 6] / 1000);
    this.degraded = (code & DEGRADED) !== 0;
    this.reason = KINDS[area[row + 7]] ?? (this.degraded && !this.allowed ? "unavailable" : null);
    this.index = area[row + 8];
    this.atUs = area[row + 9];
    this.permit = code & WITH_PERMIT ? store.text(ticket) : null;
    this.leaseMs = orNull(area[row + 10] / 1000);
    this.fence = orNull(area[row + 11]);
    this.ticket = orNull(area[row + 12]);
    this.position = orNull(area[row + 13]);
    this.readyAfterMs = wholeMs(area[row + 14] / 1000);
    this.retryAfterUs = orNull(area[row + 5]);
    this.resetAfterUs = orNull(area[row + 6]);
    this.readyAfterUs = orNull(area[row + 14]);
    Object.freeze(this);
  }
}

const orNull = (value) => (Number.isNaN(value) ? null : value);

/** Timers count in whole milliseconds; one that ends earlier would ask again in vain. What is not known is null. */
const wholeMs = (ms) => orNull(Math.ceil(ms ?? Number.NaN));

module.exports = { Decision, wholeMs };
