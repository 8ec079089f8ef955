"use strict";

const { InvalidError } = require("./errors.js");
const native = require("./native.js");

/** The usage in the body of a response that is read in chunks. */
class StreamUsage {
  #native = new native.StreamUsage();

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
  if (typeof chunk === "string") return Buffer.from(chunk);
  if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk);
  if (!ArrayBuffer.isView(chunk)) throw new InvalidError("chunk", "must be bytes or text");
  return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}

module.exports = { StreamUsage };
