"use strict";

const { Paddlegate } = require("./paddlegate.js");
const { InvalidError } = require("./shared/errors.js");

/** The limiters of an application by their names, of a store of its own or of one that it is given. */
class NamedLimits {
  #isOwn;
  #limiters = new Map();

  constructor({ store, limits = {}, options, guard, url, ...opened }) {
    this.#isOwn = store === undefined;
    this.store = store ?? new Paddlegate(url, opened);
    this.guard = guard;
    for (const [name, given] of Object.entries(limits)) {
      this.#limiters.set(name, this.#made(name, given, { keyed: true, ...options }));
    }
  }

  /** Returns the limiter of a name; a limiter, or a function that returns one, as it is. */
  limiter(given) {
    if (typeof given !== "string") return given;
    const limiter = this.#limiters.get(given);
    if (limiter !== undefined) return limiter;
    const known = [...this.#limiters.keys()].join(", ");
    throw new InvalidError(
      "limiter",
      `there is none of this name: limiter=${given} there=${known}`,
    );
  }

  async close() {
    if (this.#isOwn) await this.store.close();
  }

  #made(name, given, options) {
    if (typeof given?.acquire === "function") return given;
    const isOne = Array.isArray(given) && typeof given[0] === "string";
    return this.store.limiter(name, isOne ? [given] : given, options);
  }
}

module.exports = { NamedLimits };
