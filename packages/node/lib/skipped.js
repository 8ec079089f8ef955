"use strict";

/** The result of `withinLimit` if its function was not run; identical in all copies of this package. */
const SKIPPED = Symbol.for("paddlegate.SKIPPED");

module.exports = { SKIPPED };
