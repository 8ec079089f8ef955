"use strict";

/**
 * LimitSettings that both sides see: arguments before a call of the addon, rows after it. The layout is that of
 * `bindings/node/src/area.rs`. A call uses it up at once, so one serves all stores of a thread.
 */

const SLOTS = 13 + 64 * 15;
const area = new Float64Array(SLOTS);

module.exports = {
  area,
  memory: Buffer.from(area.buffer),

  OPERATION: 0,
  GIVEN: 1,
  COST: 2,
  ESTIMATE: 3,
  AT: 4,
  ACTUAL: 5,
  PATIENCE: 6,
  GRACE: 7,
  PLACE: 8,
  RECEIVED: 9,
  LINK: 10,
  TO_SEND: 11,
  BROKEN: 12,
  ROWS: 13,
  ROW: 15,
  MAX_ROWS: 64,

  ACQUIRE: 1,
  PEEK: 2,
  CORRECT: 3,
  RESET: 4,
  ALLOW: 5,
  ENTER: 6,
  RELEASE: 7,
  RENEW: 8,
  CANCEL: 9,
  STATISTICS: 10,
  /** Asked of a limiter beside its operations: where its waiters hear of their turn, and their channel in memory. */
  WHERE: 11,
  LISTEN: 12,
  /** With an order beside the area: see `commands.js`. */
  PAUSE: 13,
  RESUME: 14,
  OVERRIDE: 15,
  RESTORE: 16,
  CONTROLS: 17,
  REPORT_BUDGET: 18,
  LEARN: 19,
  /** With what becomes of a job that is refused in place of the channel. */
  ADMIT: 20,
  /** With an order too; what takes several operations. */
  APPLY_OJS_OVERRIDE: 21,
  SIGNAL: 22,
  ADMIT_ALL: 23,

  HAS_COST: 1,
  HAS_ESTIMATE: 2,
  HAS_AT: 4,
  WAITS: 8,
  GAVE_UP: 16,

  /** For `PLACE`, beside the number of a ticket. */
  AT_END: Number.NaN,
  KEPT: -1,

  /** The second number of a row, where that is no answer; its fields begin after it. */
  FAILED: 3,
  MOVED: 4,
  LATER: 5,

  /** The first field of a decision is its status, and these: it has a permit, it was not made by the store. */
  GRANTED: 1,
  STATUS: 3,
  WITH_PERMIT: 4,
  DEGRADED: 8,
};
