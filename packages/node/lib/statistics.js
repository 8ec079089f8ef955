"use strict";

const { slots } = require("./shared-buffer.js");
const native = require("./native.js");

const FIELDS = native.statistics();

/** Reads the statistics of a limiter from the row of the shared buffer that begins at `row`. */
function statistics(row) {
  const counts = {};
  for (const [i, field] of FIELDS.entries()) {
    const number = slots[row + 2 + i];
    if (field.endsWith("_time")) counts[field.replace("_time", "TimeMs")] = number / 1000;
    else if (field === "shadow_refused") counts.shadowRefused = number;
    else counts[field] = number;
  }
  counts.immediate = counts.granted - counts.waited;
  return Object.freeze(counts);
}

module.exports = { statistics };
