"use strict";

/** The errors, and the public names of arguments in them. packages/wasm has a copy of this folder, which its build makes. */

/** The base class. Each subclass is one way in which a caller can react. */
class PaddlegateError extends Error {
  constructor(name, code, message, options) {
    super(message, options);
    // A literal, because a minifier changes the names of classes.
    Object.defineProperty(this, "name", { value: name });
    this.code = code;
  }
}

/** The call was refused by a limit; retry after `retryAfterMs`. */
class OverLimitError extends PaddlegateError {
  constructor(name, decision) {
    const { reason, retryAfterMs: wait } = decision;
    // A decision of several limiters names the one that refused.
    const limiter = decision.limiter ?? name;
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

/** An argument is invalid; correct `argument`. Nothing was changed. */
class InvalidError extends PaddlegateError {
  constructor(argument, message) {
    super("InvalidError", "INVALID", message);
    this.argument = argument ?? null;
  }
}

/** The store is unavailable; the call may have been charged if `mayHaveCounted`. */
class UnavailableError extends PaddlegateError {
  constructor(message, mayHaveCounted, options) {
    super("UnavailableError", "UNAVAILABLE", message, options);
    this.mayHaveCounted = mayHaveCounted;
  }
}

/** The stored value belongs to other software or is damaged; reset the limiter or use another database. */
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

/** The public name of each argument that has another name in the core. */
const NAMES = {
  block_after: "blockAfter",
  claim_timeout: "claimTimeoutMs",
  default_pause: "defaultPauseMs",
  expires_at: "expiresAt",
  expires_in: "expiresInMs",
  for: "forMs",
  forwarded_for: "forwardedFor",
  ipv6_prefix: "ipv6Prefix",
  local_share_percent: "localSharePercent",
  lock_timeout: "lockTimeoutMs",
  max_pause: "maxPauseMs",
  max_learned: "maxLearned",
  now: "nowUs",
  on_limit: "onLimit",
  on_unavailable: "onUnavailable",
  patience: "patienceMs",
  reset_at: "resetAt",
  reset_in: "resetInMs",
  restore_rate: "restoreRate",
  runtime_state: "runtimeState",
  settle_within: "settleWithinMs",
  timeout: "timeoutMs",
  trusted_proxies: "trustedProxies",
  wait_timeout: "waitTimeoutMs",
  within: "withinMs",
};

/** The same for the arguments of one limit of a policy, and of an admin command. */
const IN_LIMIT = { ...NAMES, lock_timeout: "lockTimeout" };
const IN_COMMAND = { ...NAMES, interval: "intervalMs" };

/** The microseconds in the unit of an argument, by the end of its name; other arguments are seconds. */
const MICROSECONDS = { Us: 1, Ms: 1e3 };

/** Returns a message of the core with the public names and units of the arguments. */
function withPublicNames(message, names) {
  // Messages about a document use the names of the document.
  if (message.startsWith("at $")) return message;
  const [, argument] = message.match(/a number of seconds from .*: (\w+)=/) ?? [];
  const isMs = names[argument]?.endsWith("Ms");
  return message
    .replace(isMs ? "a number of seconds" : "", isMs ? "a number of milliseconds" : "")
    .replace(/\b([a-z_]+) is of type/g, (_, name) => `${names[name] ?? name} is of type`)
    .replace(/\b([a-z_]+)_us=(\d+)/g, (_, name, us) => {
      const given = names[name] ?? name;
      return `${given}=${us / (MICROSECONDS[given.slice(-2)] ?? 1e6)}`;
    })
    .replace(/\b([a-z0-9_]+)=(\S*)/g, (_, name, value) => {
      const seconds = Number(value.replace("inf", "Infinity"));
      return `${names[name] ?? name}=${isMs && name === argument ? seconds * 1000 : value}`;
    });
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
  IN_COMMAND,
  withPublicNames,
};
