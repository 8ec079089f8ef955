// What a file or a link gives. The page runs what is written there or refuses it with a reason: a
// member that the editor has no place for is never passed over. What has a place but is wrong is
// taken: its field tells what the core says of it.
import { limitsFrom } from "./document.mjs";
import {
  ARRIVALS,
  EVENTS,
  KINDS,
  known,
  MOST_EVENTS,
  MOST_LIMITS,
  MOST_POLICIES,
  RETRIES,
} from "./scenario.mjs";
import { micros } from "./span.mjs";

const LONGEST = 1000; // characters of a text in a field; pasted times may be longer
const SHOWN = 10; // names in a message
const RANGES = ["cost", "actual", "work"];
const TOP = ["seed", "until", "policies", "arrivals", ...RANGES, "clients", "at_once"];
const OF_RETRIES = ["attempts", "base", "cap", "wait"];

/**
 * The scenario that is given, of which the editor shows all. `read(text)` gives the limiters of a
 * document. Throws when something has no place.
 */
export async function accepted(given, read) {
  const { totals: _, ...scenario } = members(given, "", [...TOP, "upstream", "events", "totals"]);
  for (const name of ["seed", "until", "clients", "at_once"]) plain(scenario, name, "");
  for (const name of RANGES) range(scenario[name], name);
  const policies = listed(scenario.policies, "policies", MOST_POLICIES);
  scenario.policies = await Promise.all(policies.map((one, i) => policy(one, i, read)));
  scenario.arrivals = ofKind(scenario.arrivals ?? {}, "arrivals", "kind", ARRIVALS);
  if (scenario.upstream !== undefined) scenario.upstream = upstream(scenario.upstream);
  scenario.events = listed(scenario.events, "events", MOST_EVENTS).map((event, i) =>
    ofKind(event, `events[${i}]`, "do", EVENTS),
  );
  return scenario;
}

async function policy(given, index, read) {
  const path = `policies[${index}]`;
  const names = ["name", "limits", "retry", ...OF_RETRIES, "correct", "document", "limiter"];
  const one = await withLimits(members(given, path, names), path, read);
  words(one, "name", path);
  for (const name of ["retry", ...OF_RETRIES]) plain(one, name, path);
  flag(one, "correct", path);
  unused(one, path);
  one.limits = limits(one.limits, path);
  return one;
}

// As `paddlegate simulate` does, a document stands for the limits.
async function withLimits({ document, limiter, ...one }, path, read) {
  if (document === undefined) {
    if (limiter !== undefined) fail(`${path}.limiter`, "chooses in a document, give one beside it");
    return one;
  }
  if (one.limits !== undefined) fail(path, "has limits and a document, give one of them");
  if (limiter !== undefined && typeof limiter !== "string") {
    fail(`${path}.limiter`, "must be a text");
  }
  const place = `${path}.document`;
  const { policies } = await read(JSON.stringify(document)).catch(({ message }) =>
    fail(place, message),
  );
  if (policies.length === 0) fail(place, "defines no limiter by itself, give one that does");
  const all = policies.slice(0, SHOWN).map(({ name }) => JSON.stringify(short(name)));
  const names = `${all.join(", ")}${policies.length > SHOWN ? " and more" : ""}`;
  if (limiter === undefined && policies.length > 1) {
    fail(place, `has several limiters, choose one by a member "limiter" beside it: ${names}`);
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
  plain(one, "latency", "upstream");
  flag(one, "learn", "upstream");
  return { ...one, limits: limits(one.limits, "upstream") };
}

const limits = (list, path) =>
  listed(list, `${path}.limits`, MOST_LIMITS).map((given, i) =>
    limit(given, `${path}.limits[${i}]`),
  );

function limit(given, path) {
  const one = members(given, path, ["kind", "limit", "interval", "offset"]);
  for (const name of Object.keys(one)) plain(one, name, path);
  const kind = known(KINDS, one.kind);
  if (kind === undefined) return one;
  const has = { kind: true, limit: kind.interval !== null && one.kind !== "throttle" };
  Object.assign(has, { interval: kind.interval !== null, offset: one.kind === "bucket" });
  // What is not counted has a limit of 1 for the core.
  if (!has.limit && one.limit === 1) delete one.limit;
  for (const name of Object.keys(one)) if (!has[name]) meaningless(`${path}.${name}`);
  return one;
}

/** An object whose members are those of its kind in a table; of an unknown kind all are taken. */
function ofKind(given, path, word, table) {
  const all = [word, ...Object.values(table).flat()];
  const one = members(given, path, all);
  const own = known(table, one[word]);
  for (const name of Object.keys(one)) {
    if (own !== undefined && name !== word && !own.includes(name)) meaningless(`${path}.${name}`);
    if (name === "text") words(one, name, path, Number.POSITIVE_INFINITY);
    else plain(one, name, path);
  }
  return one;
}

// Of what its way to try again does not need the editor keeps nothing, so it must be right by itself.
function unused(one, path) {
  const own = known(RETRIES, one.retry ?? "none") ?? OF_RETRIES;
  for (const name of OF_RETRIES) {
    if (own.includes(name) || one[name] === undefined) continue;
    if (!RIGHT[name](one[name])) fail(`${path}.${name}`, "has no use here and is wrong; remove it");
  }
}

const RIGHT = {
  attempts: (value) => Number.isInteger(value) && value >= 0 && value <= 1000,
  base: (value) => micros(value) > 0,
  cap: (value) => micros(value) > 0,
  wait: (value) => micros(value) >= 0,
};

/** What an object has; what is null is not there. */
function members(given, path, names) {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    fail(path, path === "" ? "a scenario is a JSON object" : "must be a JSON object");
  }
  const own = Object.entries(given).filter(([, value]) => value !== null && value !== undefined);
  for (const [name] of own) {
    if (!names.includes(name)) meaningless(path === "" ? short(name) : `${path}.${short(name)}`);
  }
  return Object.fromEntries(own);
}

function listed(list, path, most) {
  if (list === undefined) return [];
  if (!Array.isArray(list)) fail(path, "must be a list");
  if (list.length > most) fail(path, `must have at most ${most} members: members=${list.length}`);
  return list;
}

/** A value that a field shows as it is. */
function plain(object, name, path) {
  const value = object[name];
  if (value === undefined) return;
  const place = path === "" ? name : `${path}.${name}`;
  if (typeof value === "object") fail(place, "must be one value");
  if (String(value).trim() === "") fail(place, "is empty; remove it or give a value");
  if (String(value).length > LONGEST) fail(place, `is too long: characters_max=${LONGEST}`);
}

function words(object, name, path, most = LONGEST) {
  const value = object[name];
  if (value === undefined) return;
  if (typeof value !== "string") fail(`${path}.${name}`, "must be a text");
  if (value === "") fail(`${path}.${name}`, "is empty; remove it or give a value");
  if (value.length > most) fail(`${path}.${name}`, `is too long: characters_max=${most}`);
}

function range(value, path) {
  if (!Array.isArray(value)) return plain({ [path]: value }, path, "");
  if (value.length !== 2) fail(path, "must be one value or a list of the least and the most");
  for (const i of [0, 1]) {
    if (value[i] === null) fail(`${path}[${i}]`, "is missing");
    plain({ [`${path}[${i}]`]: value[i] }, `${path}[${i}]`, "");
  }
}

function flag(object, name, path) {
  const value = object[name];
  if (value !== undefined && typeof value !== "boolean") {
    fail(`${path}.${name}`, "must be true or false");
  }
}

const short = (text) => text.slice(0, 40);

const meaningless = (path) => fail(path, "has no meaning here; remove it or correct its name");

function fail(path, message) {
  throw new TypeError(path === "" ? message : `${path}: ${message}`);
}
