"use strict";

/** Reads arguments as both packages take them. Their numbers are checked by the core. */

const { InvalidError } = require("./errors.js");

const NOTHING = Object.freeze({});

/** Checks that the options are an object: a number in their place would otherwise be ignored, with a cost of 1. */
function object(options = NOTHING) {
  if (typeof options !== "object" || options === null) {
    throw new InvalidError("options", "must be an object such as { cost: 2 }");
  }
  return options;
}

/** Checks the names of options, because a misspelt name would otherwise be ignored. Returns a copy of the options. */
function only(names, options) {
  for (const name in object(options)) {
    if (!names.includes(name)) throw noOption(name, names);
  }
  return { ...options };
}

/** Returns the error for a name that is none of the options. */
function noOption(name, names) {
  return new InvalidError(name, `is no option here: option=${name}; there is ${names.join(", ")}`);
}

/** Checks an option that is true or false; returns `byDefault` without one. */
function flag(argument, value, byDefault = undefined) {
  if (value === undefined || value === null) return byDefault;
  if (typeof value !== "boolean") throw new InvalidError(argument, "must be true or false");
  return value;
}

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

/** Checks that an override has a mode, whole limits, or the numbers of one limit. */
function checkOverride({ mode, limits, limit, intervalMs, label }) {
  const one = limit ?? intervalMs ?? label ?? null;
  if ((mode ?? null) !== null && (limits ?? one) !== null) {
    throw new InvalidError("mode", "give a mode or limits, not both");
  }
  if ((limits ?? null) !== null && one !== null) {
    throw new InvalidError("limits", "give whole limits or the numbers of one limit, not both");
  }
}

/** Returns whether `restore` is to restore the mode, which has no label. */
function restoresMode({ mode, label }) {
  const ofMode = flag("mode", mode, false);
  if (ofMode && (label ?? null) !== null) {
    throw new InvalidError("mode", "give a label or the mode, not both");
  }
  return ofMode;
}

/** Returns the numbers of a rule for blocks: refusals, `withinMs` and `forMs`. */
function blockAfterNumbers(rule) {
  if (rule === undefined || rule === null) return undefined;
  const names = ["refusals", "withinMs", "forMs"];
  if (typeof rule !== "object" || !Object.keys(rule).every((name) => names.includes(name))) {
    const message =
      "must be an object such as { refusals: 100, withinMs: 60_000, forMs: 3_600_000 }";
    throw new InvalidError("blockAfter", message);
  }
  return names.map((name) => rule[name]);
}

/** Checks that a cost is by label, such as `{ tpm: 900 }`. Other objects, such as a `Map`, would seem to name no limit. */
function checkByLabel(argument, cost) {
  if (isPlain(cost)) return;
  const found = cost === null ? "null" : typeof cost;
  const message = `must be a whole number or an object such as { tpm: 900 }: ${argument}=${found}`;
  throw new InvalidError(argument, message);
}

/** Returns whether a value is an object literal, also one of another realm. */
function isPlain(value) {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Returns the bytes of text or of bytes. */
function bytes(argument, value) {
  if (typeof value === "string") return new TextEncoder().encode(value);
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (!ArrayBuffer.isView(value)) throw new InvalidError(argument, "must be bytes or text");
  return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
}

/** Returns what the native function of `callerKey` takes, from what its caller gave. */
function callerArguments(address, options) {
  const { forwardedFor, trustedProxies, ipv6Prefix } = only(
    ["forwardedFor", "trustedProxies", "ipv6Prefix"],
    options,
  );
  const proxies = trustedProxies ?? [];
  if (!Array.isArray(proxies) || !proxies.every((proxy) => typeof proxy === "string")) {
    throw new InvalidError("trustedProxies", "must be a list of addresses and networks");
  }
  const forwarded = forwardedFor ?? null;
  const prefix = ipv6Prefix ?? undefined;
  return [
    bytes("address", address ?? ""),
    forwarded === null ? undefined : bytes("forwardedFor", forwarded),
    proxies,
    prefix === undefined || typeof prefix === "number" ? prefix : Number.NaN,
  ];
}

/** Returns the ids of several jobs. */
function jobIds(jobs) {
  if (!Array.isArray(jobs)) throw new InvalidError("jobs", "must be a list of ids");
  return [...jobs];
}

/** Returns the list of the limiters that decide together; `isLimiter` knows the class of the package. */
function limiterList(limiters, isLimiter) {
  const list = Array.isArray(limiters) ? [...limiters] : [null];
  if (!list.every((it) => typeof it === "object" && it !== null && isLimiter(it))) {
    throw new InvalidError("limiters", "must be a list of limiters");
  }
  return list;
}

/** Checks that a permit has an estimate, which can be corrected and extended. */
function checkEstimated(isEstimated) {
  if (!isEstimated) {
    throw new InvalidError("estimate", "nothing was estimated; acquire with an estimate");
  }
}

/** Checks that a permit has an id. */
function idOfPermit({ id }) {
  if (id === null) {
    throw new InvalidError("permit", "has no id: it was granted without an estimate or a lease");
  }
  return id;
}

module.exports = {
  object,
  only,
  noOption,
  flag,
  abortSignal,
  checkOverride,
  restoresMode,
  blockAfterNumbers,
  checkByLabel,
  isPlain,
  bytes,
  callerArguments,
  jobIds,
  limiterList,
  checkEstimated,
  idOfPermit,
};
