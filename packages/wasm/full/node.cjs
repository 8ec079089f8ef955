"use strict";

// Node 18 has the random numbers that permits need, but not where browsers have them.
globalThis.crypto ??= require("node:crypto").webcrypto;

const bind = require("../dist/bind.cjs");
const more = require("../dist/more.cjs");

module.exports = bind(require("../dist/full/node/paddlegate.js"), more);
