"use strict";

const { bytes } = require("./arguments.js");

/** The usage in the body of a response that is read in chunks; the class `StreamUsage` of a package gives it the native reader. */
class BodyUsage {
  #native;

  constructor(native) {
    this.#native = native;
  }

  feed(chunk) {
    this.#native.feed(bytes("chunk", chunk));
  }

  get body() {
    return this.#native.body();
  }

  get ignored() {
    return this.#native.ignored();
  }
}

module.exports = { BodyUsage };
