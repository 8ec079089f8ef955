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

/** What is called otherwise here than in the core. */
const NAMES = {
  at: "atUs",
  claim_timeout: "claimTimeoutMs",
  expires_at: "expiresAt",
  expires_in: "expiresInMs",
  for: "forMs",
  lock_timeout: "lockTimeoutMs",
  max_pause: "maxPauseMs",
  max_learned: "maxLearned",
  on_limit: "onLimit",
  on_unavailable: "onUnavailable",
  reset_at: "resetAt",
  reset_in: "resetInMs",
  restore_rate: "restoreRate",
  timeout: "timeoutMs",
  wait_timeout: "waitTimeoutMs",
};

/** The same for what belongs to one limit of a policy, and what changes one. */
const IN_LIMIT = { ...NAMES, lock_timeout: "lockTimeout" };
const IN_ORDER = { ...NAMES, interval: "intervalMs" };

/** A message of the core with the names and the units in which the caller wrote the arguments. */
function inOurWords(message, names) {
  // Those of a document stay as they are there.
  if (message.startsWith("at $")) return message;
  const [, argument] = message.match(/a number of seconds from .*: (\w+)=/) ?? [];
  const isMs = names[argument]?.endsWith("Ms");
  return message
    .replace(isMs ? "a number of seconds" : "", isMs ? "a number of milliseconds" : "")
    .replace(/\b([a-z_]+)_us=(\d+)/g, (_, name, us) => {
      const given = names[name] ?? name;
      return `${given}=${us / (given.endsWith("Ms") ? 1e3 : 1e6)}`;
    })
    .replace(/\b([a-z_]+)=(\S*)/g, (_, name, value) => {
      const seconds = Number(value.replace("inf", "Infinity"));
      return `${names[name] ?? name}=${isMs && name === argument ? seconds * 1000 : value}`;
    });
}

/** An error of the addon, whose `code` has the kind, the argument and whether the call may have counted. */
function typed(error, { cause, names = NAMES } = {}) {
  const [kind, argument, mayHaveCounted] = String(error.code).split(" ");
  switch (kind) {
    case "invalid": {
      const name = names[argument] ?? argument;
      return new InvalidError(name, inOurWords(error.message, names));
    }
    case "unavailable":
      return new UnavailableError(error.message, mayHaveCounted === "true", cause && { cause });
    case "data":
      return new DataError(error.message);
    default:
      return new InternalError(error.message, { cause: error });
  }
}

/** Why a call of the addon failed; undefined when its limiter answers all the same, in the first row. */
function failure(store, ticket, how) {
  try {
    return store.raise(ticket);
  } catch (error) {
    return typed(error, how);
  }
}

/** Calls the addon; its errors become ours, with its arguments by the names that the caller knows. */
function calling(call, names) {
  try {
    return call();
  } catch (error) {
    throw typed(error, { names });
  }
}

module.exports = {
  PaddlegateError,
  OverLimitError,
  InvalidError,
  UnavailableError,
  DataError,
  InternalError,
  NAMES,
  IN_LIMIT,
  IN_ORDER,
  failure,
  calling,
};
