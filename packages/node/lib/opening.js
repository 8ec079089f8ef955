"use strict";

const native = require("./native.js");
const { memory } = require("./shared-buffer.js");

/** Opens the addon's store of a URL. */
const open = (url, timeoutMs, clock) => new native.Store(url, timeoutMs, memory, clock);

/**
 * How stores are opened. Tests of users may put another way in its place, which has a clock for stores that are opened without
 * one, and is told of the hub of each.
 */
const opening = { open, clock: undefined, opened: () => undefined };

module.exports = { opening };
