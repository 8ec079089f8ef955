"use strict";

const { InvalidError } = require("./errors.js");

/** The units of a cost by label, in the form that the addon takes. */
class UnitsByLabel {
  constructor(labels, units) {
    this.labels = labels;
    this.units = units;
  }
}

/**
 * Converts a cost by label, such as `{ tpm: 900 }`. Other objects, such as a `Map`, would seem to name no limit. The
 * addon checks labels and numbers.
 */
function unitsByLabel(argument, value) {
  if (value instanceof UnitsByLabel) return value;
  if (!isPlain(value)) {
    const found = value === null ? "null" : typeof value;
    const message = `must be a whole number or an object such as { tpm: 900 }: ${argument}=${found}`;
    throw new InvalidError(argument, message);
  }
  const units = Object.values(value).map((of) => (typeof of === "number" ? of : Number.NaN));
  return new UnitsByLabel(Object.keys(value), units);
}

/** Returns whether a value is an object literal, also one of another realm. */
function isPlain(value) {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Returns options whose costs stay as they are now, for a call that sends them again while it waits. */
function withKeptCosts(options) {
  for (const name of ["cost", "estimate"]) {
    const value = options[name];
    if (typeof value === "object" && value !== null) options[name] = unitsByLabel(name, value);
  }
  return options;
}

module.exports = { unitsByLabel, withKeptCosts };
