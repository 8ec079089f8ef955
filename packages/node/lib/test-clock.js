"use strict";

const { callNative } = require("./call-native.js");
const { InvalidError } = require("./shared/errors.js");
const native = require("./native.js");
const { numeric, span } = require("./request.js");

/** Returns the addon's clock for the option `clock` of a store; undefined without one. */
let nativeClock;
/** Lets the hub of a store deliver the wake-ups that the clock causes when it is moved. */
let follow;

/** The clock of stores in tests, which moves only when a test moves it. */
class TestClock {
  #native;
  #hubs = [];

  static {
    nativeClock = (clock) => {
      if (clock === undefined || clock === null) return undefined;
      if (typeof clock !== "object" || !(#native in clock)) {
        throw new InvalidError("clock", "must be a TestClock");
      }
      return clock.#native;
    };
    follow = (clock, hub) => {
      clock.#hubs.push(new WeakRef(hub));
    };
  }

  constructor(nowUs = 0) {
    this.#native = callNative(() => new native.TestClock(numeric(nowUs)));
  }

  get nowUs() {
    return this.#native.now();
  }

  set nowUs(nowUs) {
    callNative(() => this.#native.set(numeric(nowUs)));
  }

  advance(given) {
    callNative(() => this.#native.advance(span(given)));
    this.#hubs = this.#hubs.filter((hub) => hub.deref() !== undefined);
    for (const hub of this.#hubs) hub.deref()?.deliver();
  }
}

module.exports = { TestClock, nativeClock, follow };
