"use strict";

/** What `withinLimit` gives in place of a value when its function was not run; the same in all copies of this package. */
const SKIPPED = Symbol.for("paddlegate.SKIPPED");

module.exports = { SKIPPED };
