"use strict";

// Permits need random numbers; Node 18 has no global `crypto`.
globalThis.crypto ??= require("node:crypto").webcrypto;

module.exports = require("./dist/bind.cjs")(require("./dist/node/paddlegate.js"));
