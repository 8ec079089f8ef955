"use strict";

const { inspect } = require("node:util");

const NAME = "paddlegate.SKIPPED";

/** What `withinLimit` gives in place of a value when its function was not run. */
const SKIPPED = Object.freeze({
  toString: () => NAME,
  toJSON: () => NAME,
  [inspect.custom]: () => NAME,
});

module.exports = { SKIPPED };
