"use strict";

const { InvalidError } = require("./errors.js");

/** The usage in the body of a response that is read in chunks; the class `StreamUsage` of a package gives it the native reader. */
class BodyUsage {
  #native;

  constructor(native) {
    this.#native = native;
  }

  feed(chunk) {
    this.#native.feed(bytes(chunk));
  }

  get body() {
    return this.#native.body();
  }

  get ignored() {
    return this.#native.ignored();
  }
}

function bytes(chunk) {
  if (typeof chunk === "string") return new TextEncoder().encode(chunk);
  if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk);
  if (!ArrayBuffer.isView(chunk)) throw new InvalidError("chunk", "must be bytes or text");
  return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}

module.exports = { BodyUsage };
