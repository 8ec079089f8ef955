"use strict";

// Permits need random numbers; Node 18 has no global `crypto`.
globalThis.crypto ??= require("node:crypto").webcrypto;

const bind = require("../dist/bind.cjs");
const more = require("../dist/more.cjs");

module.exports = bind(require("../dist/full/node/paddlegate.js"), more);
