"use strict";

/**
 * Numbers shared with the addon: arguments before a call, rows after it. The layout is that of
 * `bindings/node/src/shared_buffer.rs`. No call needs its contents after it returns, so one buffer serves all stores of
 * a thread.
 */

const ROWS_END = 15 + 64 * 15;
/** The most bytes of a key in this buffer. A longer one goes as an argument, which takes no longer then. */
const MAX_KEY = 40;
const slots = new Float64Array(ROWS_END + 1 + MAX_KEY / 8);
const keyBytes = new Uint8Array(slots.buffer, 8 * (ROWS_END + 1), MAX_KEY);

/**
 * Writes a key, if it is a short one of ASCII, and returns whether it was: such a key has whole characters, and a call
 * with it needs no argument, which takes as long as to write forty characters.
 */
function putKey(key) {
  const { length } = key;
  if (length > MAX_KEY) return false;
  for (let at = 0; at < length; at++) {
    const code = key.charCodeAt(at);
    if (code > 127) return false;
    keyBytes[at] = code;
  }
  slots[ROWS_END] = length;
  return true;
}

module.exports = {
  slots,
  memory: Buffer.from(slots.buffer),
  putKey,

  OPERATION: 0,
  FLAGS: 1,
  COST: 2,
  ESTIMATE: 3,
  SETTLE_WITHIN: 4,
  ACTUAL: 5,
  MAX_WAIT: 6,
  CLAIM_TIMEOUT: 7,
  QUEUE_POSITION: 8,
  PRIORITY: 9,
  WEIGHT: 10,
  RECEIVED: 11,
  LINK: 12,
  TO_SEND: 13,
  BROKEN: 14,
  ROWS: 15,
  ROW: 15,
  MAX_ROWS: 64,

  HAS_COST: 1,
  HAS_ESTIMATE: 2,
  WAITS: 4,
  GAVE_UP: 8,
  /** The cost, the estimate or the actual cost is by label, in the fourth argument, with its limiters in the fifth. */
  BY_LABEL: 16,
  HAS_SETTLE_WITHIN: 32,
  HAS_PRIORITY: 64,
  HAS_WEIGHT: 128,
  LIMITS: 256,
  /** A job asks in its worker: the ticket stays after its claim timeout, and another run's lease is not shared. */
  KEEPS: 512,

  /** Values for `QUEUE_POSITION` other than the number of a ticket: the end of the queue, and the existing position. */
  AT_END: Number.NaN,
  EXISTING: -1,

  /** The second number of a row with a settlement, which is the text of the ticket. */
  SETTLEMENT: 1,
  /** The second number of a row that is not an answer. The fields of a row follow this number. */
  FAILED: 3,
  UNFINISHED: 4,

  /**
   * The first field of a decision is its status plus these flags: it has a permit; the store did not make it; it names
   * its limiter; only shadow made it, so that its reason is that of the refusal; it has each limit.
   */
  GRANTED: 1,
  STATUS: 3,
  WITH_PERMIT: 4,
  DEGRADED: 8,
  WITH_LIMITER: 16,
  IN_SHADOW: 32,
  WITH_LIMITS: 64,
  LOWERED: 128,
};
