"use strict";

const {
  InvalidError,
  UnavailableError,
  DataError,
  InternalError,
  NAMES,
  withPublicNames,
} = require("./shared/errors.js");

/**
 * Converts an error of the addon to the public class. Its `code` has the kind, the argument and whether the call may
 * have counted.
 */
function toPaddlegateError(error, { cause, names = NAMES } = {}) {
  const [kind, argument, mayHaveCounted] = String(error.code).split(" ");
  switch (kind) {
    case "invalid": {
      const name = names[argument] ?? argument;
      return new InvalidError(name, withPublicNames(error.message, names));
    }
    case "unavailable":
      return new UnavailableError(error.message, mayHaveCounted === "true", cause && { cause });
    case "data":
      return new DataError(error.message);
    default:
      return new InternalError(error.message, { cause: error });
  }
}

/**
 * Returns the error of a call of the addon; undefined if the limiter's fallback answered, which is in the first row.
 */
function failure(store, ticket, how) {
  try {
    return store.raise(ticket);
  } catch (error) {
    return toPaddlegateError(error, how);
  }
}

/** Calls the addon and converts its errors to the public classes, with the given public names of arguments. */
function callNative(call, names) {
  try {
    return call();
  } catch (error) {
    throw toPaddlegateError(error, { names });
  }
}

module.exports = { failure, callNative };
