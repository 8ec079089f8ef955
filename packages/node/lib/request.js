"use strict";

const {
  area,
  OPERATION,
  GIVEN,
  COST,
  ESTIMATE,
  AT,
  HAS_COST,
  HAS_ESTIMATE,
  HAS_AT,
  ACQUIRE,
  ENTER,
} = require("./area.js");
const { InvalidError } = require("./errors.js");

/**
 * Writes an operation and its options into the area. Gives the signal, if there is one; throws if it is aborted.
 * `others` are options that the caller took out before.
 */
function request(operation, options, others) {
  let given = 0;
  let cost = 0;
  let estimate = 0;
  let at = 0;
  let signal;
  for (const name in object(options)) {
    const value = options[name];
    if (value === undefined || value === null) continue;
    switch (name) {
      case "cost":
        cost = numeric(value);
        given |= HAS_COST;
        break;
      case "estimate":
        estimate = numeric(value);
        given |= HAS_ESTIMATE;
        break;
      case "atUs":
        at = numeric(value);
        given |= HAS_AT;
        break;
      case "signal":
        signal = abortSignal(value);
        break;
      default:
        throw new InvalidError(name, `is no option here; there are ${names(operation, others)}`);
    }
  }
  signal?.throwIfAborted();
  // Written when nobody's getter can use the area any more.
  area[OPERATION] = operation;
  area[GIVEN] = given;
  area[COST] = cost;
  area[ESTIMATE] = estimate;
  area[AT] = at;
  return signal;
}

/** The options there are. */
function names(operation, others = operation === ACQUIRE || operation === ENTER ? ["id"] : []) {
  return [...others, "cost, estimate, signal and atUs"].join(", ");
}

/** What marks a permit; it may stand for its id. */
const PERMIT = Symbol("permit");

function permitId(value) {
  if (value?.[PERMIT] !== true) return text("permit", value);
  if (value.id === null) {
    throw new InvalidError("permit", "has no id: it was granted without an estimate or a lease");
  }
  return value.id;
}

/** The addon refuses NaN and says which argument it was. */
const numeric = (value) => (typeof value === "number" ? value : Number.NaN);

/** A string of whole characters: UTF-8 has no form for others, and two of them would become one. */
function text(argument, value) {
  if (typeof value !== "string" || LONE_SURROGATE.test(value)) {
    const found = typeof value;
    throw new InvalidError(argument, `must be a string of whole characters: ${argument}=${found}`);
  }
  return value;
}

const LONE_SURROGATE = /\p{Surrogate}/u;

function abortSignal(signal) {
  if (signal === undefined || signal === null) return undefined;
  if (
    typeof signal.throwIfAborted !== "function" ||
    typeof signal.addEventListener !== "function"
  ) {
    throw new InvalidError("signal", "must be an AbortSignal");
  }
  return signal;
}

/** A number in place of the options is a mistake that would otherwise cost 1. */
function object(options = NOTHING) {
  if (typeof options !== "object" || options === null) {
    throw new InvalidError("options", "must be an object such as { cost: 2 }");
  }
  return options;
}

const NOTHING = Object.freeze({});

/** Options by name; a name that is misspelt would otherwise do nothing. */
function only(names, options) {
  for (const name in object(options)) {
    if (!names.includes(name)) {
      throw new InvalidError(name, `is no option; there is ${names.join(", ")}`);
    }
  }
  return { ...options };
}

module.exports = { request, numeric, text, permitId, PERMIT, abortSignal, object, only };
