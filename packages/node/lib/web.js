"use strict";

const { callNative } = require("./call-native.js");
const native = require("./native.js");
const { bytes, callerArguments } = require("./shared/arguments.js");

/** Returns the key of a caller by the address of its connection. */
function callerKey(address, options) {
  const given = callerArguments(address, options);
  return callNative(() => native.callerKey(...given));
}

/** Returns a key for a text of a stranger. */
const plainKey = (text) => native.plainKey(bytes("text", text));

module.exports = { callerKey, plainKey };
