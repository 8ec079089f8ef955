// Imports a scenario from a file or a link. A member for which the editor has no field is an error, so
// that no member is ignored. An invalid value for which there is a field is accepted: the field shows
// the core's error.
import { limitsFrom } from "./document.mjs";
import {
  ARRIVALS,
  CALENDAR,
  EVENTS,
  entryOf,
  KINDS,
  MAX_EVENTS,
  MAX_LIMITS,
  MAX_POLICIES,
  METERS,
  RETRIES,
} from "./scenario.mjs";
import { micros } from "./span.mjs";

const MAX_LENGTH = 1000; // characters of a text in a field; pasted times may be longer
const MAX_NAMES = 10; // names in a message
const MAX_LABELS = 32;
const RANGES = ["cost", "actual", "work"];
const TOP = ["seed", "until", "policies", "arrivals", ...RANGES, "clients", "at_once"];
const OF_RETRIES = ["attempts", "base", "cap", "wait"];

/**
 * Returns the scenario, all of whose members have a field in the editor. `read(text)` returns the
 * limiters of a document. Throws for a member without a field.
 */
export async function importScenario(given, read) {
  const { totals: _, ...scenario } = members(given, "", [...TOP, "upstream", "events", "totals"]);
  for (const name of ["seed", "until", "clients", "at_once"]) checkValue(scenario, name, "");
  for (const name of ["cost", "actual"]) scenario[name] = checkUnits(scenario[name], name);
  checkRange(scenario.work, "work");
  const policies = checkList(scenario.policies, "policies", MAX_POLICIES);
  scenario.policies = await Promise.all(policies.map((one, i) => policy(one, i, read)));
  scenario.arrivals = membersOfKind(scenario.arrivals ?? {}, "arrivals", "kind", ARRIVALS);
  if (scenario.upstream !== undefined) scenario.upstream = upstream(scenario.upstream);
  scenario.events = checkList(scenario.events, "events", MAX_EVENTS).map((event, i) =>
    membersOfKind(event, `events[${i}]`, "do", EVENTS),
  );
  return scenario;
}

async function policy(given, index, read) {
  const path = `policies[${index}]`;
  const names = ["name", "limits", "retry", ...OF_RETRIES, "correct", "document", "limiter"];
  const one = await withLimits(members(given, path, names), path, read);
  checkText(one, "name", path);
  for (const name of ["retry", ...OF_RETRIES]) checkValue(one, name, path);
  checkFlag(one, "correct", path);
  checkUnused(one, path);
  one.limits = limits(one.limits, path);
  return one;
}

// Replaces a document with its limits, as `paddlegate simulate` does.
async function withLimits({ document, limiter, ...one }, path, read) {
  if (document === undefined) {
    if (limiter !== undefined)
      fail(`${path}.limiter`, "selects a limiter of a document; add the member document");
    return one;
  }
  if (one.limits !== undefined) fail(path, "has limits and a document, give one of them");
  if (limiter !== undefined && typeof limiter !== "string") {
    fail(`${path}.limiter`, "must be a text");
  }
  const location = `${path}.document`;
  const { policies } = await read(JSON.stringify(document)).catch(({ message }) =>
    fail(location, message),
  );
  if (policies.length === 0) fail(location, "defines no limiter; use a document that does");
  const all = policies.slice(0, MAX_NAMES).map(({ name }) => JSON.stringify(short(name)));
  const names = `${all.join(", ")}${policies.length > MAX_NAMES ? " and more" : ""}`;
  if (limiter === undefined && policies.length > 1) {
    fail(location, `has several limiters; select one with a member "limiter": ${names}`);
  }
  const chosen = limiter === undefined ? policies[0] : policies.find((p) => p.name === limiter);
  if (chosen === undefined) fail(`${path}.limiter`, `is not in the document; it has ${names}`);
  const own = limitsFrom(chosen).map((limit) =>
    Object.fromEntries(Object.entries(limit).filter(([, value]) => value !== "")),
  );
  return { ...one, name: one.name ?? chosen.name, limits: own };
}

function upstream(given) {
  const one = members(given, "upstream", ["limits", "latency", "learn"]);
  checkValue(one, "latency", "upstream");
  checkFlag(one, "learn", "upstream");
  return { ...one, limits: limits(one.limits, "upstream") };
}

const limits = (list, path) =>
  checkList(list, `${path}.limits`, MAX_LIMITS).map((given, i) =>
    limit(given, `${path}.limits[${i}]`),
  );

function limit(given, path) {
  const names = ["kind", "label", "limit", "interval", "offset", "refund", ...CALENDAR];
  const one = members(given, path, names);
  for (const name of Object.keys(one)) checkValue(one, name, path);
  const kind = entryOf(KINDS, one.kind);
  if (kind === undefined) return one;
  const isCounted = kind.interval !== null;
  const isQuota = kind.interval === "";
  const has = {
    ...{ kind: true, label: true, limit: isCounted, interval: isCounted && !isQuota },
    offset: one.kind === "bucket",
    refund: METERS.includes(one.kind),
    ...Object.fromEntries(CALENDAR.map((name) => [name, isQuota])),
  };
  // The core reports a limit of 1 for kinds without a limit.
  if (!has.limit && one.limit === 1) delete one.limit;
  for (const name of Object.keys(one)) if (!has[name]) rejectMember(`${path}.${name}`);
  return one;
}

/** Checks that an object has only the members of its kind in a table; an unknown kind may have all. */
function membersOfKind(given, path, word, table) {
  const all = [word, ...Object.values(table).flat()];
  const one = members(given, path, all);
  const own = entryOf(table, one[word]);
  for (const name of Object.keys(one)) {
    if (own !== undefined && name !== word && !own.includes(name)) rejectMember(`${path}.${name}`);
    if (name === "text") checkText(one, name, path, Number.POSITIVE_INFINITY);
    else checkValue(one, name, path);
  }
  return one;
}

// The editor drops the fields that the kind of retry does not use, so they must be valid on their own.
function checkUnused(one, path) {
  const own = entryOf(RETRIES, one.retry ?? "none") ?? OF_RETRIES;
  for (const name of OF_RETRIES) {
    if (own.includes(name) || one[name] === undefined) continue;
    if (!VALIDATORS[name](one[name]))
      fail(`${path}.${name}`, "is unused here and invalid; remove it");
  }
}

const VALIDATORS = {
  attempts: (value) => Number.isInteger(value) && value >= 0 && value <= 1000,
  base: (value) => micros(value) > 0,
  cap: (value) => micros(value) > 0,
  wait: (value) => micros(value) >= 0,
};

/** Returns the members of an object without those that are null; throws for unknown names. */
function members(given, path, names) {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    fail(path, path === "" ? "a scenario is a JSON object" : "must be a JSON object");
  }
  const own = Object.entries(given).filter(([, value]) => value !== null && value !== undefined);
  for (const [name] of own) {
    if (!names.includes(name)) rejectMember(path === "" ? short(name) : `${path}.${short(name)}`);
  }
  return Object.fromEntries(own);
}

function checkList(list, path, most) {
  if (list === undefined) return [];
  if (!Array.isArray(list)) fail(path, "must be a list");
  if (list.length > most) fail(path, `must have at most ${most} members: members=${list.length}`);
  return list;
}

/** Checks a value that a field shows unchanged. */
function checkValue(object, name, path) {
  const value = object[name];
  if (value === undefined) return;
  const location = path === "" ? name : `${path}.${name}`;
  if (typeof value === "object") fail(location, "must be one value");
  if (String(value).trim() === "") fail(location, "is empty; remove it or give a value");
  if (String(value).length > MAX_LENGTH)
    fail(location, `is too long: characters_max=${MAX_LENGTH}`);
}

function checkText(object, name, path, most = MAX_LENGTH) {
  const value = object[name];
  if (value === undefined) return;
  if (typeof value !== "string") fail(`${path}.${name}`, "must be a text");
  if (value === "") fail(`${path}.${name}`, "is empty; remove it or give a value");
  if (value.length > most) fail(`${path}.${name}`, `is too long: characters_max=${most}`);
}

function checkRange(value, path) {
  if (!Array.isArray(value)) return checkValue({ [path]: value }, path, "");
  if (value.length !== 2) fail(path, "must be one value or a list of the least and the most");
  for (const i of [0, 1]) {
    if (value[i] === null) fail(`${path}[${i}]`, "is missing");
    checkValue({ [`${path}[${i}]`]: value[i] }, `${path}[${i}]`, "");
  }
}

/** Checks a range, or a range for each label. */
function checkUnits(value, path) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    checkRange(value, path);
    return value;
  }
  const labels = Object.entries(value).filter(([, count]) => count !== null && count !== undefined);
  if (labels.length > MAX_LABELS) fail(path, `has too many labels: labels_max=${MAX_LABELS}`);
  for (const [label, count] of labels) {
    // A field shows a label as it is written.
    if (!/^[a-z][a-z0-9_-]{0,31}$/.test(label))
      fail(`${path}.${short(label)}`, "is no label of a limit");
    checkRange(count, `${path}.${label}`);
  }
  return labels.length > 0 ? Object.fromEntries(labels) : undefined;
}

function checkFlag(object, name, path) {
  const value = object[name];
  if (value !== undefined && typeof value !== "boolean") {
    fail(`${path}.${name}`, "must be true or false");
  }
}

const short = (text) => text.slice(0, 40);

const rejectMember = (path) => fail(path, "has no meaning here; remove it or correct its name");

function fail(path, message) {
  throw new TypeError(path === "" ? message : `${path}: ${message}`);
}
