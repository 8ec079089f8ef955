"use strict";

const { area } = require("./area.js");
const native = require("./native.js");

const FIELDS = native.statistics();

/** What a limiter has done in all processes, and who is there now. Reads the row of the area that begins at `row`. */
function statistics(row) {
  const counts = {};
  for (const [i, field] of FIELDS.entries()) {
    const number = area[row + 2 + i];
    if (field.endsWith("_time")) counts[field.replace("_time", "TimeMs")] = number / 1000;
    else counts[field] = number;
  }
  counts.immediate = counts.granted - counts.waited;
  return Object.freeze(counts);
}

module.exports = { statistics };
