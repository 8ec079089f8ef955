// Arguments: their checks, their units and their public names, and the errors.
// The build converts this file to dist/arguments.cjs for CommonJS: keep the one `export` at the start of its line.

// The names are literals, because a minifier changes the names of classes.
class PaddlegateError extends Error {
  name = "PaddlegateError";
}

class OverLimitError extends PaddlegateError {
  name = "OverLimitError";
  code = "OVER_LIMIT";

  constructor(message, limiter, decision) {
    super(message);
    this.limiter = limiter ?? null;
    this.decision = decision ?? null;
    this.retryAfterMs = decision?.retryAfterMs ?? null;
  }
}

class InvalidError extends PaddlegateError {
  name = "InvalidError";
  code = "INVALID";

  constructor(message, argument) {
    super(message);
    this.argument = argument ?? null;
  }
}

class UnavailableError extends PaddlegateError {
  name = "UnavailableError";
  code = "UNAVAILABLE";

  constructor(message, mayHaveCounted) {
    super(message);
    this.mayHaveCounted = mayHaveCounted;
  }
}

class DataError extends PaddlegateError {
  name = "DataError";
  code = "DATA";
}

class InternalError extends PaddlegateError {
  name = "InternalError";
  code = "INTERNAL";
}

// The public name of each argument that has another name in the core.
const NAMES = {
  block_after: "blockAfter",
  claim_timeout: "claimTimeoutMs",
  default_pause: "defaultPauseMs",
  expires_at: "expiresAt",
  expires_in: "expiresInMs",
  for: "forMs",
  lock_timeout: "lockTimeoutMs",
  max_pause: "maxPauseMs",
  max_learned: "maxLearned",
  now: "nowUs",
  on_limit: "onLimit",
  reset_at: "resetAt",
  reset_in: "resetInMs",
  restore_rate: "restoreRate",
  runtime_state: "runtimeState",
  wait_timeout: "waitTimeoutMs",
  settle_within: "settleWithinMs",
  within: "withinMs",
};

// The same for the arguments of one limit of a policy, and of an admin command.
const IN_LIMIT = { ...NAMES, lock_timeout: "lockTimeout" };
const IN_COMMAND = { ...NAMES, interval: "intervalMs" };

// The public names of the arguments of the current WebAssembly call.
let names = NAMES;
const withNames = (others, call) => {
  names = others;
  try {
    return call();
  } finally {
    names = NAMES;
  }
};

// Returns the error for an argument of the current WebAssembly call.
const invalid = (message, argument) =>
  new InvalidError(withPublicNames(message), names[argument] ?? argument);

// The microseconds in the unit of an argument, by the end of its name; other arguments are seconds.
const MICROSECONDS = { Us: 1, Ms: 1e3 };

// Returns a message of the core with the public names and units of the arguments.
function withPublicNames(message) {
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
    .replace(/\b([a-z_]+)=(\S*)/g, (_, name, value) => {
      const seconds = Number(value.replace("inf", "Infinity"));
      return `${names[name] ?? name}=${isMs && name === argument ? seconds * 1000 : value}`;
    });
}

// Checks the names of options: a number in their place, or a misspelt name, would otherwise be ignored.
function only(names, options = NOTHING) {
  if (typeof options !== "object" || options === null) {
    throw new InvalidError("must be an object such as { cost: 2 }", "options");
  }
  for (const name in options) {
    if (!names.includes(name)) {
      const known = names.join(", ");
      throw new InvalidError(`is no option here: option=${name}; there is ${known}`, name);
    }
  }
  return options;
}

// Checks a switch; `byDefault` if it is absent.
function flag(argument, given, byDefault) {
  const value = given ?? byDefault;
  if (typeof value !== "boolean") throw new InvalidError("must be true or false", argument);
  return value;
}

// Returns the units of labels as a list of labels and units alternately, which WebAssembly reads, and a number as it is.
// The units of a limiter's labels are such a list in the list.
function units(argument, cost) {
  if (typeof cost !== "object" || cost === null) return cost;
  // A Map or a list has no members that are labels, and would count one of every limit.
  if (Object.prototype.toString.call(cost) !== "[object Object]") {
    const message = "must be a whole number, or an object such as { tpm: 900 }";
    throw new InvalidError(message, argument);
  }
  return Object.entries(cost).flatMap(([key, of]) => [key, units(argument, of)]);
}

// The cost and the estimate of a request, for WebAssembly.
const request = ({ cost, estimate, settleWithinMs }) => [
  units("cost", cost),
  units("estimate", estimate),
  settleWithinMs,
];

// The place of a call in the queue, and whether its decision has each limit, for WebAssembly; undefined without
// them, as most calls are.
const place = ({ priority, share, weight }, limits = false) =>
  (priority ?? share ?? weight) === undefined && !limits
    ? undefined
    : [priority, share, weight, limits];

// The numbers of a rule for blocks, for WebAssembly.
function blockAfter(rule) {
  if (rule === undefined || rule === null) return undefined;
  const names = ["refusals", "withinMs", "forMs"];
  if (typeof rule !== "object" || !Object.keys(rule).every((name) => names.includes(name))) {
    const message =
      "must be an object such as { refusals: 100, withinMs: 60_000, forMs: 3_600_000 }";
    throw new InvalidError(message, "blockAfter");
  }
  return names.map((name) => rule[name]);
}

// A limit that names its kind: a list of the kind and its numbers.
const named = (...limit) => Object.freeze(limit);

const given = (value) => (value === undefined || value === null ? [] : [value]);

const values = {
  bucket: (limit, interval, options) =>
    named("bucket", limit, interval, ...given(only(["offset"], options).offset)),
  window: (limit, interval) => named("window", limit, interval),
  leaky: (capacity, drain, options) =>
    named("leaky", capacity, drain, ...given(only(["refund"], options).refund)),
  points: (capacity, refill, options) =>
    named("points", capacity, refill, ...given(only(["refund"], options).refund)),
  quota: (limit, per, options) => {
    const { timezone = null, starts = null } = only(["timezone", "starts"], options);
    if (starts !== null) return named("quota", limit, per, timezone, starts);
    return named("quota", limit, per, ...given(timezone));
  },
  throttle: (interval, options) => {
    const { limit = 1 } = only(["limit"], options);
    return named("throttle", limit, interval);
  },
  concurrency: (limit, options) =>
    named(
      "concurrency",
      limit,
      ...given(only(["lockTimeoutMs"], options).lockTimeoutMs).map(seconds),
    ),
};

// Returns kind, numbers and label of each limit of `{ window: [100, 60], rpm: window(500, 60) }` or of a list.
function limitList(limits) {
  if (typeof limits !== "object" || limits === null) {
    throw new InvalidError("must be an object or a list of limits", "limits");
  }
  if (!Array.isArray(limits)) return Object.entries(limits).map(labelled);
  if (!limits.every(Array.isArray)) {
    throw new InvalidError("every limit is a list such as ['window', 100, 60]", "limits");
  }
  return limits.map(([kind, ...numbers]) => ({ kind, numbers }));
}

// The kind is the label if the value does not name it.
function labelled([label, value]) {
  if (Array.isArray(value) && KINDS.includes(value[0])) {
    return { kind: value[0], numbers: value.slice(1), label };
  }
  return { kind: label, numbers: value === true ? [] : [].concat(value), label };
}

// Returns the limits with the lock timeout in a concurrency limit that has none.
function withLockTimeout(list, lockTimeoutMs) {
  if (lockTimeoutMs === undefined || lockTimeoutMs === null) return list;
  const limit = list.find(({ kind }) => kind === "concurrency" || kind === "unlimited");
  if (limit === undefined) {
    throw new InvalidError("there is no concurrency limit", "lockTimeoutMs");
  }
  if (limit.kind === "unlimited" || (limit.numbers[1] ?? null) !== null) return list;
  const numbers = [limit.numbers[0], seconds(lockTimeoutMs)];
  return list.map((other) => (other === limit ? { ...limit, numbers } : other));
}

// The core rejects what is no number.
const seconds = (milliseconds) =>
  typeof milliseconds === "number" ? milliseconds / 1000 : Number.NaN;

// Returns limits as WebAssembly reads them.
const nativeLimits = (list) => list.map(({ kind, numbers, label }) => [kind, numbers, label]);

// Returns whether `withinLimit` skips a refused function.
function skips(given) {
  const onLimit = given ?? "raise";
  if (!["raise", "ignore", "skip"].includes(onLimit)) {
    throw new InvalidError("must be 'raise' or 'ignore'", "onLimit");
  }
  return onLimit !== "raise";
}

function abortSignal(signal) {
  if (signal === undefined || signal === null) return undefined;
  if (typeof signal.throwIfAborted !== "function") {
    throw new InvalidError("must be an AbortSignal", "signal");
  }
  return signal;
}

// Returns the milliseconds since 1970 of a Date; a number is returned as it is.
const date = (value) => (value instanceof Date ? value.getTime() : value);

// Rounds up to whole milliseconds, the unit of timers: a timer that ends too early would only cause another refusal.
const wholeMilliseconds = (micros) =>
  micros === undefined || micros === null ? null : Math.ceil(micros / 1000);

const milliseconds = (micros) => (micros === undefined || micros === null ? null : micros / 1000);

const KINDS = [
  "bucket",
  "window",
  "leaky",
  "points",
  "throttle",
  "concurrency",
  "quota",
  "unlimited",
  "paused",
];

const NOTHING = Object.freeze({});

export {
  abortSignal,
  blockAfter,
  DataError,
  date,
  flag,
  IN_COMMAND,
  IN_LIMIT,
  InternalError,
  InvalidError,
  invalid,
  limitList,
  milliseconds,
  NAMES,
  nativeLimits,
  OverLimitError,
  only,
  PaddlegateError,
  place,
  request,
  skips,
  UnavailableError,
  units,
  values,
  wholeMilliseconds,
  withLockTimeout,
  withNames,
};
