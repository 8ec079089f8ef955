"use strict";

const { adapterKit } = require("./lib/testing/adapter-kit.js");
const { inMemory } = require("./lib/testing/in-memory.js");

module.exports = { adapterKit, inMemory };
