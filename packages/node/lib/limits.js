"use strict";

const { InvalidError } = require("./errors.js");
const request = require("./request.js");

const { numeric, span, text } = request;

/**
 * Limits that name their kind, so that they may have any label: frozen lists, as a policy as a list has them. The addon
 * checks the numbers.
 */

const window = (limit, interval) => named("window", limit, interval);

function leaky(capacity, drain, options) {
  return named("leaky", capacity, drain, ...given(only(["refund"], options).refund));
}

function points(capacity, refill, options) {
  return named("points", capacity, refill, ...given(only(["refund"], options).refund));
}

function quota(limit, per, options) {
  const { timezone = null, starts = null } = only(["timezone", "starts"], options);
  if (starts !== null) return named("quota", limit, per, timezone, starts);
  return named("quota", limit, per, ...given(timezone));
}

function bucket(limit, interval, options) {
  const { offset } = only(["offset"], options);
  return named("bucket", limit, interval, ...given(offset));
}

function throttle(interval, options) {
  const { limit = 1 } = only(["limit"], options);
  return named("throttle", limit, interval);
}

function concurrency(limit, options) {
  const { lockTimeoutMs } = only(["lockTimeoutMs"], options);
  return named("concurrency", limit, ...given(lockTimeoutMs).map((ms) => numeric(ms) / 1000));
}

const named = (...limit) => Object.freeze(limit);

const given = (value) => (value === undefined || value === null ? [] : [value]);

/**
 * Converts a policy, `{ rpm: window(500, 60), throttle: 0.1 }` or `[["window", 500, 60], ["throttle", 0.1]]`, to the
 * form that the addon takes.
 */
function limitSpecs(limits) {
  rejectFunctions(limits);
  if (typeof limits !== "object" || limits === null) {
    throw new InvalidError("limits", "must be an object or a list of limits");
  }
  if (Array.isArray(limits)) return limits.map((limit) => spec(limit));
  return Object.entries(limits).map(([label, value]) => spec(withKind(label, value), label));
}

/** Returns the limit with its kind, which is the label if the value does not name it. */
function withKind(label, value) {
  if (Array.isArray(value) && Object.hasOwn(MAX_NUMBERS, value[0])) return value;
  return value === true ? [label] : [label].concat(value);
}

function spec(limit, label) {
  if (!Array.isArray(limit)) {
    throw new InvalidError("limits", "every limit is a list such as ['window', 100, 60]");
  }
  rejectFunctions(...limit);
  const [kind, ...numbers] = limit;
  const isThrottleOfOne = kind === "throttle" && numbers.length < 2;
  const [amount, interval, third, starts] = isThrottleOfOne ? [1, ...numbers] : numbers;
  if (numbers.length > MAX_NUMBERS[kind]) {
    throw new InvalidError("limits", `has too many numbers: kind=${kind}`);
  }
  const made = { label, kind: String(kind), amount: numeric(amount) };
  if (kind === "quota") {
    const per = text("per", interval);
    return { ...made, per, timezone: word("timezone", third), starts: word("starts", starts) };
  }
  made.interval = kind === "concurrency" ? optional(interval) : span(interval);
  if (kind === "leaky" || kind === "points") made.refund = word("refund", third);
  else made.offset = optional(third);
  return made;
}

/** Checks a text that may be absent. */
const word = (argument, value) =>
  value === undefined || value === null ? undefined : text(argument, value);

const MAX_NUMBERS = {
  bucket: 3,
  window: 2,
  leaky: 3,
  points: 3,
  throttle: 2,
  concurrency: 2,
  quota: 4,
  unlimited: 0,
  paused: 0,
};

/** Sets the lock timeout of a limit that has none; returns whether it set one. */
function setLockTimeout(specs, ms) {
  if (ms === undefined || ms === null) return false;
  const limit = specs.find(({ kind }) => kind === "concurrency" || kind === "unlimited");
  if (limit === undefined) throw new InvalidError("lockTimeoutMs", "there is no concurrency limit");
  if (limit.interval !== undefined) return false;
  limit.interval = numeric(ms) / 1000;
  return true;
}

const optional = (value) => (value === undefined || value === null ? undefined : span(value));

/** Checks the names of options; the error for a function points to `withinLimit`. */
function only(names, options) {
  rejectFunctions(options);
  return request.only(names, options);
}

/** Throws if a value is a function: only `withinLimit` takes one. */
function rejectFunctions(...values) {
  if (values.some((value) => typeof value === "function")) {
    throw new InvalidError(
      "fn",
      "a limiter is made without a function; call withinLimit(fn) on it",
    );
  }
}

module.exports = {
  kinds: { bucket, window, leaky, points, throttle, concurrency, quota },
  limitSpecs,
  setLockTimeout,
  optional,
  only,
};
