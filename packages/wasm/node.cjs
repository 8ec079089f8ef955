"use strict";

// Node 18 has the random numbers that permits need, but not where browsers have them.
globalThis.crypto ??= require("node:crypto").webcrypto;

module.exports = require("./dist/bind.cjs")(require("./dist/node/paddlegate.js"));
