"use strict";

const { InvalidError } = require("./errors.js");
const { limitSpecs } = require("./limits.js");
const { StreamUsage } = require("./stream-usage.js");
const { isDate } = require("./timers.js");
const { flag, noOption, numeric, object, only, permitId, text } = require("./request.js");

/**
 * Converts the options of admin methods to the form that the addon takes (`bindings/node/src/admin_request.rs`). Each
 * function returns the command and the options that every call has, `key` and `signal`.
 */

const pause = (options) => read(["forMs", "until"], options);

const block = pause;

const resume = (options) => read([], options);

const runtimeState = resume;

function override(options) {
  const names = ["limit", "intervalMs", "label", "limits", "mode", "expiresInMs", "expiresAt"];
  const { command, call } = read(names, options);
  const { limit, intervalMs, label, limits, mode } = command;
  if (mode !== undefined && (limit ?? intervalMs ?? label ?? limits) !== undefined) {
    throw new InvalidError("mode", "give a mode or limits, not both");
  }
  if (limits !== undefined && (limit ?? intervalMs ?? label) !== undefined) {
    throw new InvalidError("limits", "give whole limits or the numbers of one limit, not both");
  }
  return { command, call };
}

function restore(options) {
  const { mode, ...others } = object(options);
  const { command, call } = read(["label"], others);
  const ofMode = flag("mode", mode);
  if (ofMode === undefined) return { command, call };
  if (ofMode && command.label !== undefined) {
    throw new InvalidError("mode", "give a label or the mode, not both");
  }
  return { command: { ...command, ofMode }, call };
}

const reportBudget = (options) =>
  read(
    ["remaining", "limit", "intervalMs", "restoreRate", "resetInMs", "resetAt", "label", "permit"],
    options,
  );

function learnFromResponse(response, options) {
  const names = ["provider", "maxPauseMs", "defaultPauseMs", "maxLearned", "permit"];
  const { command, call } = read(names, options);
  if (typeof response !== "object" || response === null) {
    throw new InvalidError("response", "must be an object such as { status, headers, body }");
  }
  // Responses of Node's own client have `statusCode`.
  const status = response.status ?? response.statusCode;
  if (status !== undefined && status !== null) command.status = numeric(status);
  command.headers = pairs(response.headers);
  command.body = body(response.body);
  return { command, call };
}

/** Returns the command for an Open Job Spec document, given as text or as an object. */
function ojsDocument(document, options) {
  const { command, call } = read([], options);
  command.document = typeof document === "string" ? document : json("document", document);
  return { command, call };
}

/** Returns the command for several jobs. `known` is the handling of refused jobs if the call does not specify one. */
function jobs(ids, options, known) {
  const { onLimit, partial, ...call } = only(["onLimit", "partial", ...OF_CALLS], options);
  if (!Array.isArray(ids)) throw new InvalidError("jobs", "must be a list of ids");
  const command = {
    jobs: ids.map((id) => text("jobs", id)),
    onLimit: text("onLimit", onLimit ?? known ?? "wait"),
    partial: flag("partial", partial) === true,
  };
  return { command, call };
}

/** The options of every call. */
const OF_CALLS = ["key", "signal"];

/** For each public option: the name of the addon's field and the conversion of the value. */
const FIELDS = {
  forMs: ["afterMs", numeric],
  until: ["atMs", time],
  expiresInMs: ["afterMs", numeric],
  expiresAt: ["atMs", time],
  resetInMs: ["afterMs", numeric],
  resetAt: ["atMs", time],
  limit: ["limit", numeric],
  intervalMs: ["intervalMs", numeric],
  label: ["label", (value) => text("label", value)],
  limits: ["limits", limitSpecs],
  mode: ["mode", (value) => text("mode", value)],
  remaining: ["remaining", numeric],
  restoreRate: ["restoreRate", numeric],
  maxPauseMs: ["maxPauseMs", numeric],
  defaultPauseMs: ["defaultPauseMs", numeric],
  maxLearned: ["maxLearned", numeric],
  provider: ["provider", (value) => text("provider", value)],
  permit: ["permit", permitId],
};

function read(names, options) {
  const command = {};
  const call = {};
  for (const name in object(options)) {
    const value = options[name];
    if (OF_CALLS.includes(name)) call[name] = value;
    else if (!names.includes(name)) {
      throw noOption(name, [...names, ...OF_CALLS]);
    } else if (value !== undefined && value !== null) {
      const [field, convert] = FIELDS[name];
      command[field] = convert(value);
    }
  }
  return { command, call };
}

/** Returns the milliseconds since 1970 of a `Date`, or the number itself, as `Date.now()` returns it. */
function time(value) {
  return isDate(value) ? value.getTime() : numeric(value);
}

/**
 * Returns names and values alternately, from `Headers`, a `Map`, a list of pairs or a plain object. A value may be a
 * list.
 */
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

/** Returns the text of a body; empty for a stream, which cannot be read here. */
function body(given) {
  if (given === undefined || given === null) return "";
  if (typeof given === "string") return given;
  if (given instanceof StreamUsage) return given.body;
  if (typeof given === "object") {
    if (ArrayBuffer.isView(given) || given instanceof ArrayBuffer) {
      return new TextDecoder().decode(given);
    }
    if (typeof given.getReader === "function" || typeof given.pipe === "function") return "";
  }
  return json("body", given);
}

/** Returns the JSON text of an object. */
function json(argument, value) {
  if (typeof value === "object" && value !== null) {
    try {
      const written = JSON.stringify(value);
      if (written !== undefined) return written;
    } catch {
      // The value has a circular reference or a bigint.
    }
  }
  throw new InvalidError(argument, `must be a text or an object that JSON can hold: ${argument}`);
}

module.exports = {
  pause,
  block,
  resume,
  runtimeState,
  override,
  restore,
  reportBudget,
  learnFromResponse,
  ojsDocument,
  jobs,
  json,
};
