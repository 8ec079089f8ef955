"use strict";

const { InvalidError } = require("./errors.js");
const { isDate } = require("./timers.js");
const { numeric, object, only, permitId, text } = require("./request.js");

/**
 * What changes a limiter while it runs, as the addon takes it (`bindings/node/src/order.rs`), from what the user says.
 * Each gives the order and the options that every call has.
 */

const pause = (options) => read(["forMs", "until"], options);

const resume = (options) => read([], options);

const runtimeState = resume;

const override = (options) =>
  read(["limit", "intervalMs", "index", "expiresInMs", "expiresAt"], options);

const restore = (options) => read(["index"], options);

const reportBudget = (options) =>
  read(
    ["remaining", "limit", "intervalMs", "restoreRate", "resetInMs", "resetAt", "index", "permit"],
    options,
  );

function learnFromResponse(response, options) {
  const { order, call } = read(["provider", "maxPauseMs", "maxLearned", "permit"], options);
  if (typeof response !== "object" || response === null) {
    throw new InvalidError("response", "must be an object such as { status, headers, body }");
  }
  // Node's own answers say `statusCode`.
  const status = response.status ?? response.statusCode;
  if (status !== undefined && status !== null) order.status = numeric(status);
  order.headers = pairs(response.headers);
  order.body = body(response.body);
  return { order, call };
}

/** A document of Open Job Spec, as text or as its object. */
function written(document, options) {
  const { order, call } = read([], options);
  order.document = typeof document === "string" ? document : json("document", document);
  return { order, call };
}

/** Several jobs; `known` is what becomes of those over the limit when the call does not say. */
function jobs(ids, options, known) {
  const { onLimit, partial, signal } = only(["onLimit", "partial", "signal"], options);
  if (!Array.isArray(ids)) throw new InvalidError("jobs", "must be a list of ids");
  if (partial !== undefined && partial !== null && typeof partial !== "boolean") {
    throw new InvalidError("partial", "must be true or false");
  }
  const order = {
    jobs: ids.map((id) => text("jobs", id)),
    onLimit: text("onLimit", onLimit ?? known ?? "wait"),
    partial: partial === true,
  };
  return { order, call: { signal } };
}

/** By the user's names: how the addon names it, and what it must be. */
const FIELDS = {
  forMs: ["afterMs", numeric],
  until: ["atMs", time],
  expiresInMs: ["afterMs", numeric],
  expiresAt: ["atMs", time],
  resetInMs: ["afterMs", numeric],
  resetAt: ["atMs", time],
  limit: ["limit", numeric],
  intervalMs: ["intervalMs", numeric],
  index: ["index", numeric],
  remaining: ["remaining", numeric],
  restoreRate: ["restoreRate", numeric],
  maxPauseMs: ["maxPauseMs", numeric],
  maxLearned: ["maxLearned", numeric],
  provider: ["provider", (value) => text("provider", value)],
  permit: ["permit", permitId],
};

/** What all calls may have. */
const CALL = ["atUs", "signal"];

function read(names, options) {
  const order = {};
  const call = {};
  for (const name in object(options)) {
    const value = options[name];
    if (CALL.includes(name)) call[name] = value;
    else if (!names.includes(name)) {
      throw new InvalidError(name, `is no option; there is ${[...names, ...CALL].join(", ")}`);
    } else if (value !== undefined && value !== null) {
      const [field, convert] = FIELDS[name];
      order[field] = convert(value);
    }
  }
  return { order, call };
}

/** A `Date`, or milliseconds since 1970 as `Date.now()` tells them. */
function time(value) {
  return isDate(value) ? value.getTime() : numeric(value);
}

/** Names and values in turn, of `Headers`, a `Map`, a list of pairs or a plain object. A value may be a list. */
function pairs(headers) {
  if (headers === undefined || headers === null) return [];
  if (typeof headers !== "object") throw new InvalidError("headers", NO_HEADERS);
  const isIterable = typeof headers[Symbol.iterator] === "function";
  const flat = [];
  for (const pair of isIterable ? headers : Object.entries(headers)) {
    if (!Array.isArray(pair) || pair.length !== 2) throw new InvalidError("headers", NO_HEADERS);
    const [name, values] = pair;
    for (const value of Array.isArray(values) ? values : [values]) {
      if (value !== undefined && value !== null) flat.push(String(name), String(value));
    }
  }
  return flat;
}

const NO_HEADERS = "must be Headers, an object, a Map or a list of pairs of a name and a value";

/** The text of a body. What is still a stream cannot be read here, and says nothing. */
function body(given) {
  if (given === undefined || given === null) return "";
  if (typeof given === "string") return given;
  if (typeof given === "object") {
    if (ArrayBuffer.isView(given) || given instanceof ArrayBuffer) {
      return new TextDecoder().decode(given);
    }
    if (typeof given.getReader === "function" || typeof given.pipe === "function") return "";
  }
  return json("body", given);
}

/** The JSON text of an object. */
function json(argument, value) {
  if (typeof value === "object" && value !== null) {
    try {
      const written = JSON.stringify(value);
      if (written !== undefined) return written;
    } catch {
      // A circle, or a bigint.
    }
  }
  throw new InvalidError(argument, `must be a text or an object that JSON can hold: ${argument}`);
}

module.exports = {
  pause,
  resume,
  runtimeState,
  override,
  restore,
  reportBudget,
  learnFromResponse,
  written,
  jobs,
  json,
};
