"use strict";

const { opening } = require("../opening.js");
const { slots, OPERATION } = require("../shared-buffer.js");
const { InvalidError } = require("../shared/errors.js");
const { only } = require("../shared/arguments.js");
const { Opcode } = require("../native.js");
const { TestClock } = require("../test-clock.js");

const given = { ...opening };
let current = null;

/** From now on every store that is opened is in memory, with a clock that only the test moves. */
function inMemory(options) {
  if (current !== null) {
    throw new InvalidError("inMemory", "is in use: call restore() of the one before");
  }
  const { nowUs = 0 } = only(["nowUs"], options);
  const clock = new TestClock(nowUs);
  const stores = [];
  opening.clock = clock;
  opening.open = (url, timeoutMs, ownClock) => {
    // A wrong URL is an error in a test too. Nothing is connected.
    given.open(url, timeoutMs);
    const store = new EmptiedStore(() => given.open("memory://", undefined, ownClock));
    stores.push({ store, hub: null });
    return store.proxy;
  };
  opening.opened = (hub) => {
    stores.at(-1).hub = hub;
  };
  current = {
    clock,
    reset() {
      for (const { store, hub } of stores) {
        store.empty();
        hub?.forget();
      }
      clock.nowUs = nowUs;
    },
    restore() {
      if (current?.clock !== clock) return;
      Object.assign(opening, given);
      current = null;
    },
  };
  return Object.freeze({ ...current });
}

/** What makes functions of limiters, which must be made again in the next store. */
const MAKERS = new Set(["limiter", "loaded"]);
/** What the makers below read, in the order of the calls. */
const PREPARES = new Set(["together", "load", "conductorLimiter"]);

/** A store of the addon that can be emptied: another one is put in its place, with the same limiters. */
class EmptiedStore {
  #open;
  #store;
  /** Makes again what `loaded` reads: the members picked, and the call that prepared it. */
  #prepared = null;
  #picked = [];

  constructor(open) {
    this.#open = open;
    this.#store = open();
    this.proxy = new Proxy(this, {
      get: (_, name) =>
        typeof this.#store[name] !== "function"
          ? this.#store[name]
          : (...args) => this.#call(name, args),
    });
  }

  empty() {
    this.#store = this.#open();
  }

  #call(name, args) {
    const picked = this.#picked;
    if (!MAKERS.has(name)) this.#picked = [];
    if (PREPARES.has(name)) {
      this.#prepared = (store) => {
        for (const run of picked) {
          slots[OPERATION] = Opcode.Pick;
          run();
        }
        return store[name](...args);
      };
      // The members were picked already.
      return this.#store[name](...args);
    }
    if (!MAKERS.has(name)) return this.#store[name](...args);
    const prepare = name === "loaded" ? this.#prepared : undefined;
    return this.#made(this.#store[name](...args), (store) => {
      prepare?.(store);
      return store[name](...args);
    });
  }

  /** Returns a function of a limiter that is made again when the store is another one. */
  #made(first, make) {
    let [run, store] = [first, this.#store];
    const again = (...args) => {
      if (store !== this.#store) {
        // Making it must not write over the arguments of the call.
        const kept = slots.slice();
        store = this.#store;
        run = make(store);
        slots.set(kept);
      }
      if (slots[OPERATION] === Opcode.Pick) this.#picked.push(again);
      return run(...args);
    };
    return again;
  }
}

module.exports = { inMemory };
