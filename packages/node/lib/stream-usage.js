"use strict";

const native = require("./native.js");
const { BodyUsage } = require("./shared/stream-usage.js");

class StreamUsage extends BodyUsage {
  constructor() {
    super(new native.StreamUsage());
  }
}

module.exports = { StreamUsage };
