"use strict";

const { limitSpecs } = require("./limits.js");
const { isDate } = require("./timers.js");
const { numeric, optionalNumber, permitId, text } = require("./request.js");
const {
  checkOverride,
  flag,
  jobIds,
  noOption,
  object,
  only,
  restoresMode,
} = require("./shared/arguments.js");
const { jsonText, responseParts } = require("./shared/response.js");

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
  checkOverride(command);
  return { command, call };
}

function restore(options) {
  const { mode, ...others } = object(options);
  const { command, call } = read(["label"], others);
  const ofMode = restoresMode({ mode, label: command.label });
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
  const { status, headers, body } = responseParts(response);
  return { command: { ...command, status: optionalNumber(status), headers, body }, call };
}

/** Returns the command for an Open Job Spec document, given as text or as an object. */
function ojsDocument(document, options) {
  const { command, call } = read([], options);
  return { command: { ...command, document: jsonText("document", document) }, call };
}

/** Returns the command for several jobs. `known` is the handling of refused jobs if the call does not specify one. */
function jobs(ids, options, known) {
  const { onLimit, partial, ...call } = only(["onLimit", "partial", ...OF_CALLS], options);
  const command = {
    jobs: jobIds(ids).map((id) => text("jobs", id)),
    onLimit: text("onLimit", onLimit ?? known ?? "wait"),
    partial: flag("partial", partial, false),
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
};
