"use strict";

/** The most limiters that are kept; a store with more begins anew. */
const MAX = 1000;

/**
 * The limiters of a store that were made last, by name: to make one takes as long as ten decisions in memory, and programs
 * whose names come with the call, such as those of shops, ask for one at each.
 */
class MadeLimiters {
  #byName = new Map();

  /** Returns the limiter of the name if it was made with these arguments; else the one that `make` makes. */
  get(name, kind, first, second, options, make) {
    const made = this.#byName.get(name);
    if (
      made !== undefined &&
      made.kind === kind &&
      made.first === first &&
      made.second === second &&
      areEqual(made.options, options)
    ) {
      return made.limiter;
    }
    const limiter = make();
    // An object may change between two calls.
    if (isConstant(first) && isConstant(second) && areConstant(options)) {
      if (this.#byName.size >= MAX) this.#byName.clear();
      this.#byName.set(name, { kind, first, second, options: copy(options), limiter });
    }
    return limiter;
  }
}

const isConstant = (value) => typeof value !== "object" || value === null;

function areConstant(options) {
  for (const name in options) {
    if (!isConstant(options[name])) return false;
  }
  return true;
}

/** Copies the names that `areEqual` reads; undefined for none. */
function copy(options) {
  let made;
  for (const name in options) {
    made ??= {};
    made[name] = options[name];
  }
  return made;
}

function areEqual(known, given) {
  let count = 0;
  for (const name in given) {
    const value = given[name];
    if (known === undefined || known[name] !== value) return false;
    // An option that is undefined is no other one that is missing: {group: undefined} is not {keyed: true}.
    if (value === undefined && !Object.hasOwn(known, name)) return false;
    count += 1;
  }
  if (known === undefined)
    return given === undefined || (typeof given === "object" && given !== null);
  for (const _ in known) count -= 1;
  return count === 0;
}

module.exports = { MadeLimiters };
