"use strict";

/** `withinLimit`, which runs a function with a permit. */

const { InvalidError, OverLimitError } = require("./errors.js");

/** The result of `withinLimit` if its function was not run; identical in all copies of the packages. */
const SKIPPED = Symbol.for("paddlegate.SKIPPED");

/** Returns whether `withinLimit` skips a refused function. */
function skips(onLimit) {
  if (!["raise", "ignore", "skip"].includes(onLimit ?? "raise")) {
    throw new InvalidError("onLimit", "must be 'raise' or 'ignore'");
  }
  return (onLimit ?? "raise") !== "raise";
}

/** Returns the options and the function of a call, which may have no options. */
function optionsAndBody(options, fn) {
  const [given, body] = typeof options === "function" ? [undefined, options] : [options, fn];
  if (typeof body !== "function") {
    throw new InvalidError("fn", "must be the function to call within the limit");
  }
  return [given, body];
}

async function withinLimit(limiter, isSkipping, options, fn) {
  const [given, body] = optionsAndBody(options, fn);
  let permit;
  try {
    permit = await limiter.acquire(given);
  } catch (error) {
    if (isSkipping && error instanceof OverLimitError) return SKIPPED;
    throw error;
  }
  try {
    return await body(permit);
  } finally {
    if (permit.fencingToken !== null) await release(permit, limiter.name);
  }
}

async function release(permit, name) {
  try {
    await permit.release();
  } catch {
    // A lease that cannot be released expires.
  }
  if (permit.lost) warn(name);
}

function warn(name) {
  const message = `the lease of ${JSON.stringify(name)} ended before its function did; others may have run meanwhile`;
  if (typeof globalThis.process?.emitWarning === "function") {
    globalThis.process.emitWarning(message, "LeaseLostWarning");
  } else {
    console.warn(`LeaseLostWarning: ${message}`);
  }
}

module.exports = { SKIPPED, skips, optionsAndBody, withinLimit };
