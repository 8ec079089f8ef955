"use strict";

/** Reads limits and policies. */

const request = require("./arguments.js");
const { InvalidError } = require("./errors.js");

/** The constructors of limits that name their kind, so that they may have any label: frozen lists, as in a policy. */
const constructors = {
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

  bucket: (limit, interval, options) =>
    named("bucket", limit, interval, ...given(only(["offset"], options).offset)),

  throttle: (interval, options) => {
    const { limit = 1 } = only(["limit"], options);
    return named("throttle", limit, interval);
  },

  concurrency: (limit, options) => {
    const { lockTimeoutMs } = only(["lockTimeoutMs"], options);
    return named("concurrency", limit, ...given(lockTimeoutMs).map(seconds));
  },
};

const named = (...limit) => Object.freeze(limit);

const given = (value) => (value === undefined || value === null ? [] : [value]);

/** Converts milliseconds; the core rejects NaN, which stands for a value that is not a number. */
const seconds = (ms) => (typeof ms === "number" ? ms / 1000 : Number.NaN);

/** The most numbers of a limit, by its kind. */
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

/**
 * Returns kind, numbers and label of each limit of a policy, `{ rpm: window(500, 60), throttle: 0.1 }` or
 * `[["window", 500, 60], ["throttle", 0.1]]`.
 */
function limitList(limits) {
  rejectFunctions(limits);
  if (typeof limits !== "object" || limits === null) {
    throw new InvalidError("limits", "must be an object or a list of limits");
  }
  if (Array.isArray(limits)) return limits.map((limit) => parts(limit));
  return Object.entries(limits).map(([label, value]) => parts(withKind(label, value), label));
}

/** Returns the limit with its kind, which is the label if the value does not name it. */
function withKind(label, value) {
  if (Array.isArray(value) && Object.hasOwn(MAX_NUMBERS, value[0])) return value;
  return value === true ? [label] : [label].concat(value);
}

function parts(limit, label) {
  if (!Array.isArray(limit)) {
    throw new InvalidError("limits", "every limit is a list such as ['window', 100, 60]");
  }
  rejectFunctions(...limit);
  const [kind, ...numbers] = limit;
  if (numbers.length > MAX_NUMBERS[kind]) {
    throw new InvalidError("limits", `has too many numbers: kind=${kind}`);
  }
  return { kind, numbers, label };
}

/** Returns the list with the lock timeout in a concurrency limit that has none; the same list if nothing changes. */
function withLockTimeout(list, lockTimeoutMs) {
  if (lockTimeoutMs === undefined || lockTimeoutMs === null) return list;
  const limit = list.find(({ kind }) => kind === "concurrency" || kind === "unlimited");
  if (limit === undefined) throw new InvalidError("lockTimeoutMs", "there is no concurrency limit");
  if (limit.kind === "unlimited" || (limit.numbers[1] ?? null) !== null) return list;
  const numbers = [limit.numbers[0], seconds(lockTimeoutMs)];
  return list.map((other) => (other === limit ? { ...limit, numbers } : other));
}

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

/**
 * Returns a class with the methods of a store that make a limiter of one limit. They call its `limiter`, which has these
 * `options` and `lockTimeoutMs`.
 */
function withFactories(options) {
  const { bucket, window, leaky, points, quota, throttle, concurrency } = constructors;
  return class Factories {
    concurrent(name, limit, options) {
      return this.limiter(name, [concurrency(limit)], options);
    }

    bucket(name, limit, interval, given) {
      const { offset, ...others } = only(["offset", ...options], given);
      return this.limiter(name, [bucket(limit, interval, { offset })], others);
    }

    window(name, limit, interval, given) {
      return this.limiter(name, [window(limit, interval)], only(options, given));
    }

    leaky(name, capacity, drain, given) {
      const { refund, ...others } = only(["refund", ...options], given);
      return this.limiter(name, [leaky(capacity, drain, { refund })], others);
    }

    points(name, capacity, refill, given) {
      const { refund, ...others } = only(["refund", ...options], given);
      return this.limiter(name, [points(capacity, refill, { refund })], others);
    }

    quota(name, limit, per, given) {
      const { timezone, starts, ...others } = only(["timezone", "starts", ...options], given);
      return this.limiter(name, [quota(limit, per, { timezone, starts })], others);
    }

    throttle(name, interval, given) {
      const { limit, ...others } = only(["limit", ...options], given);
      return this.limiter(name, [throttle(interval, { limit })], others);
    }

    unlimited(name = "unlimited", given = undefined) {
      const ofKinds = ["offset", "limit", "refund", "timezone", "starts"];
      const others = only([...ofKinds, "lockTimeoutMs", ...options], given);
      for (const option of ofKinds) delete others[option];
      return this.limiter(name, [["unlimited"]], others);
    }

    paused(name, given) {
      return this.limiter(name, [["paused"]], only(options, given));
    }
  };
}

module.exports = { constructors, limitList, withLockTimeout, only, withFactories };
