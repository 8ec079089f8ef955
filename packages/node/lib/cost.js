"use strict";

const { checkByLabel, isPlain } = require("./shared/arguments.js");

/** The units of a cost by label, in the form that the addon takes. */
class UnitsByLabel {
  /** `limiters`: the name of the limiter for each label, or null; null if there is none at all. */
  constructor(labels, units, limiters) {
    this.labels = labels;
    this.units = units;
    this.limiters = limiters;
  }
}

/**
 * Converts a cost by label, such as `{ tpm: 900 }`, or by limiter and label. The addon checks names and numbers.
 */
function unitsByLabel(argument, value) {
  if (value instanceof UnitsByLabel) return value;
  checkByLabel(argument, value);
  // Read once: a getter may return something else each time.
  const values = Object.values(value);
  if (values.some(isPlain)) return unitsByLimiter(Object.keys(value), values);
  return new UnitsByLabel(Object.keys(value), values.map(numeric), null);
}

/** Converts a cost by limiter and label, such as `{ "openai:gpt-5": { tpm: 900 }, team: 3 }`. */
function unitsByLimiter(keys, values) {
  const leaves = keys.flatMap((key, i) =>
    isPlain(values[i])
      ? Object.entries(values[i]).map(([label, units]) => [key, label, units])
      : [[null, key, values[i]]],
  );
  return new UnitsByLabel(
    leaves.map(([, label]) => label),
    leaves.map(([, , units]) => numeric(units)),
    leaves.map(([limiter]) => limiter),
  );
}

/** Replaces a value that is not a number with NaN, which the addon rejects. */
const numeric = (value) => (typeof value === "number" ? value : Number.NaN);

/** Returns options whose costs stay as they are now, for a call that sends them again while it waits. */
function withKeptCosts(options) {
  for (const name of ["cost", "estimate"]) {
    const value = options[name];
    if (typeof value === "object" && value !== null) options[name] = unitsByLabel(name, value);
  }
  return options;
}

module.exports = { unitsByLabel, withKeptCosts };
