"use strict";

/** What went wrong, by what the caller can do about it: one class each. */
class PaddlegateError extends Error {
  constructor(name, code, message, options) {
    super(message, options);
    // Spelt out: a minifier changes the names of classes.
    Object.defineProperty(this, "name", { value: name });
    this.code = code;
  }
}

/** Over the limit; come back after `retryAfterMs`. */
class OverLimitError extends PaddlegateError {
  constructor(limiter, decision) {
    const { reason, retryAfterMs: wait } = decision;
    super(
      "OverLimitError",
      "OVER_LIMIT",
      `over the limit: name=${JSON.stringify(limiter)} reason=${reason} retry_after_ms=${wait}`,
    );
    this.limiter = limiter;
    this.decision = decision;
    this.reason = reason;
    this.retryAfterMs = wait;
  }
}

/** The call is wrong; fix the `argument`. Nothing was changed. */
class InvalidError extends PaddlegateError {
  constructor(argument, message) {
    super("InvalidError", "INVALID", message);
    this.argument = argument;
  }
}

/** The store cannot decide now; the call may have been charged if `mayHaveCounted`. */
class UnavailableError extends PaddlegateError {
  constructor(message, mayHaveCounted, options) {
    super("UnavailableError", "UNAVAILABLE", message, options);
    this.mayHaveCounted = mayHaveCounted;
  }
}

/** The stored value is not ours or is damaged; reset the limiter or use another database. */
class DataError extends PaddlegateError {
  constructor(message) {
    super("DataError", "DATA", message);
  }
}

/** A defect of this library; please report it. */
class InternalError extends PaddlegateError {
  constructor(message, options) {
    super("InternalError", "INTERNAL", message, options);
  }
}

/** An error of the addon, whose `code` has the kind, the argument and whether the call may have counted. */
function typed(error, cause) {
  const [kind, argument, mayHaveCounted] = String(error.code).split(" ");
  switch (kind) {
    case "invalid":
      return new InvalidError(argument, error.message);
    case "unavailable":
      return new UnavailableError(error.message, mayHaveCounted === "true", cause && { cause });
    case "data":
      return new DataError(error.message);
    default:
      return new InternalError(error.message, { cause: error });
  }
}

/** Why a call of the addon failed; undefined when its limiter answers all the same, in the first row. */
function failure(store, ticket, cause) {
  try {
    return store.raise(ticket);
  } catch (error) {
    return typed(error, cause);
  }
}

/** Calls the addon; its errors become ours. */
function calling(call) {
  try {
    return call();
  } catch (error) {
    throw typed(error);
  }
}

module.exports = {
  PaddlegateError,
  OverLimitError,
  InvalidError,
  UnavailableError,
  DataError,
  InternalError,
  failure,
  calling,
};
