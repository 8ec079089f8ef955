"use strict";

const {
  slots,
  OPERATION,
  FLAGS,
  COST,
  ESTIMATE,
  SETTLE_WITHIN,
  PRIORITY,
  WEIGHT,
  ACTUAL,
  HAS_COST,
  HAS_ESTIMATE,
  HAS_SETTLE_WITHIN,
  HAS_PRIORITY,
  HAS_WEIGHT,
  BY_LABEL,
  LIMITS,
} = require("./shared-buffer.js");
const { Opcode } = require("./native.js");
const { unitsByLabel } = require("./cost.js");
const { abortSignal, flag, idOfPermit, noOption, object } = require("./shared/arguments.js");
const { InvalidError } = require("./shared/errors.js");

/** What the operation in the shared buffer has besides: the units of a cost by label, key and share, otherwise null. */
const besides = { units: null, key: null, share: null };

/** The operations whose decision may have each limit, for calls that return it. */
const DECIDES = new Set([Opcode.Acquire, Opcode.AcquireWithId, Opcode.Peek]);
const describes = (operation, others) =>
  DECIDES.has(operation) && (others?.includes("limits") ?? true);

/** The operations that may queue. */
const QUEUES = new Set([Opcode.Acquire, Opcode.AcquireWithId, Opcode.Admit]);

/**
 * Writes an operation and its options to the shared buffer. Returns the signal, if there is one; throws if it is
 * aborted. `others` are the options that the caller has already removed, for an error message.
 */
function request(operation, options, others) {
  let given = 0;
  let cost = 0;
  let estimate = 0;
  let settleWithinMs = 0;
  let priority = 0;
  let weight = 0;
  let units = null;
  let key = null;
  let share = null;
  let signal;
  for (const name in object(options)) {
    const value = options[name];
    if (value === undefined || value === null) continue;
    switch (name) {
      case "cost":
        if (typeof value === "number") cost = value;
        else units = unitsByLabel(name, value);
        given |= HAS_COST;
        break;
      case "estimate":
        if (typeof value === "number") estimate = value;
        else units = unitsByLabel(name, value);
        given |= HAS_ESTIMATE;
        break;
      case "key":
        key = text(name, value);
        break;
      case "signal":
        signal = abortSignal(value);
        break;
      case "settleWithinMs":
        settleWithinMs = numeric(value);
        given |= HAS_SETTLE_WITHIN;
        break;
      case "limits":
        if (!describes(operation, others)) throw unknown(name, operation, others);
        if (flag(name, value)) given |= LIMITS;
        break;
      default:
        if (!QUEUES.has(operation)) throw unknown(name, operation, others);
        if (name === "priority") {
          priority = numeric(value);
          given |= HAS_PRIORITY;
        } else if (name === "weight") {
          weight = numeric(value);
          given |= HAS_WEIGHT;
        } else if (name === "share") share = text(name, value);
        else throw unknown(name, operation, others);
    }
  }
  signal?.throwIfAborted();
  // Written last: a getter of the options may make a call that uses the shared buffer.
  slots[OPERATION] = operation;
  slots[FLAGS] = units === null ? given : given | BY_LABEL;
  slots[COST] = cost;
  slots[ESTIMATE] = estimate;
  slots[SETTLE_WITHIN] = settleWithinMs;
  slots[PRIORITY] = priority;
  slots[WEIGHT] = weight;
  besides.units = units;
  besides.key = key;
  besides.share = share;
  return signal;
}

/** Writes the actual cost of a correction, a number or units by label. */
function writeActual(actual) {
  const isNumber = typeof actual === "number";
  slots[FLAGS] = isNumber ? 0 : BY_LABEL;
  slots[ACTUAL] = isNumber ? actual : 0;
  besides.units = isNumber ? null : actual;
}

/** Returns the error for an option that the operation does not have. */
function unknown(name, operation, others) {
  const queue = QUEUES.has(operation) ? ["priority", "share", "weight"] : [];
  const limits = others === undefined && DECIDES.has(operation) ? ["limits"] : [];
  const given =
    others ?? (operation === Opcode.Acquire || operation === Opcode.AcquireWithId ? ["id"] : []);
  const always = ["cost", "estimate", "settleWithinMs", "key", "signal"];
  return noOption(name, [...given, ...limits, ...queue, ...always]);
}

/** Marks a permit, which is accepted in place of its id. */
const PERMIT = Symbol("permit");

function permitId(value) {
  if (value?.[PERMIT] !== true) return text("permit", value);
  return idOfPermit(value);
}

/** Replaces a value that is not a number with NaN, which the addon rejects with the name of the argument. */
const numeric = (value) => (typeof value === "number" ? value : Number.NaN);

/** The same for a duration, which may also be text. */
const span = (value) => (typeof value === "string" ? value : numeric(value));

/** Checks that a string has no lone surrogates: in UTF-8 different lone surrogates would become the same text. */
function text(argument, value) {
  if (typeof value !== "string" || !isWhole(value)) {
    const found = typeof value;
    throw new InvalidError(argument, `must be a string of whole characters: ${argument}=${found}`);
  }
  return value;
}

const LONE_SURROGATE = /\p{Surrogate}/u;
// Node 18 lacks `isWellFormed`.
const isWhole =
  typeof "".isWellFormed === "function"
    ? (value) => value.isWellFormed()
    : (value) => !LONE_SURROGATE.test(value);

/** Returns the text of an option; undefined if it is absent. */
const optionalText = (argument, value) =>
  value === undefined || value === null ? undefined : text(argument, value);

/** Returns the number of an option as `numeric` does; undefined if it is absent. */
const optionalNumber = (value) =>
  value === undefined || value === null ? undefined : numeric(value);

module.exports = {
  request,
  writeActual,
  besides,
  numeric,
  optionalNumber,
  span,
  text,
  optionalText,
  permitId,
  PERMIT,
};
