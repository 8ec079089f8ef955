// The draft, which is the typed text, and the scenario, which is its meaning for the core.
// A draft has the shape of a scenario, but its values are texts. It keeps the fields of kinds that are not
// selected, so that no typed text is lost.

export const MAX_POLICIES = 4;
export const MAX_LIMITS = 8;
export const MAX_EVENTS = 1000;

/**
 * The name, the description and the label of the interval of each kind of limit: null of a kind that counts nothing, and
 * "" of a quota, which has a calendar instead.
 */
export const KINDS = {
  bucket: {
    name: "Bucket",
    description: "a number of units per aligned interval",
    interval: "Interval",
  },
  window: {
    name: "Window",
    description: "a number of units in any interval",
    interval: "Interval",
  },
  leaky: { name: "Leaky", description: "a burst, which drains evenly", interval: "Drains in" },
  points: { name: "Points", description: "a budget of points", interval: "Refills in" },
  throttle: {
    name: "Throttle",
    description: "evenly spaced calls",
    interval: "Interval",
  },
  concurrency: {
    name: "Concurrency",
    description: "a number of concurrent calls",
    interval: "Lock timeout",
  },
  quota: {
    name: "Quota",
    description: "a number of units per day, week, month, quarter or year",
    interval: "",
  },
  unlimited: { name: "Unlimited", description: "everything passes", interval: null },
  paused: { name: "Paused", description: "nothing passes", interval: null },
};

/** The periods of a quota, each with an example of where it may start. */
export const PERIODS = {
  day: "06:00",
  week: "monday",
  month: "15",
  quarter: "04-06",
  year: "04-06",
};

/** The members of a quota in the place of an interval. */
export const CALENDAR = ["per", "timezone", "starts"];

/** The kinds whose corrections have a refund, and the refunds by their descriptions; a scenario has only the second. */
export const METERS = ["leaky", "points"];
export const REFUNDS = { "": "the whole difference", undrained: "what has not drained" };

/** The fields of each kind of arrivals, and of events. */
export const ARRIVALS = {
  steady: ["count", "per", "for", "from"],
  poisson: ["count", "per", "for", "from"],
  burst: ["count", "every", "for", "from"],
  ramp: ["count", "to", "per", "for", "from"],
  daily: ["count", "to", "per", "for", "from"],
  jobs: ["count", "from"],
  times: ["text"],
};
export const EVENTS = {
  pause: ["at", "for"],
  resume: ["at"],
  override: ["at", "label", "limit", "interval", "for"],
  crash: ["at", "client", "for"],
};
export const RETRIES = {
  none: [],
  linear: ["attempts"],
  exponential: ["attempts", "base", "cap"],
  wait: ["wait"],
  ticket: ["wait"],
};

/** Returns the own entry of a table; a file may contain a key such as "constructor". */
export const entryOf = (table, key) => (Object.hasOwn(table, key) ? table[key] : undefined);

const WHOLE = new Set(["count", "to", "attempts", "limit", "client"]);

export const newLimit = (kind = "bucket") => ({
  ...{ kind, label: "", limit: "100", interval: "1m", offset: "" },
});

/** Returns the label of a limit of a draft or a scenario: without one of its own the name of its kind. */
export const labelOf = ({ kind, label }) => String(label ?? "").trim() || kind;

/** Gives a label to each limit of a draft that has none and would have that of an earlier limit, such as "window-2". */
export function labelTwins(limits) {
  const used = new Set(limits.filter(({ label }) => label).map(labelOf));
  const earlier = new Set();
  for (const limit of limits) {
    if (limit.kind === "unlimited") continue; // the core drops it
    for (let n = 2; !limit.label && earlier.has(labelOf(limit)); n += 1) {
      if (!used.has(`${limit.kind}-${n}`)) limit.label = `${limit.kind}-${n}`;
    }
    used.add(labelOf(limit));
    earlier.add(labelOf(limit));
  }
}

/** Removes a label that `labelTwins` gave, for a limit that gets another kind. */
export function unlabelTwin(limit) {
  const [, kind] = /^(.+)-\d+$/.exec(limit.label ?? "") ?? [];
  if (entryOf(KINDS, kind)) limit.label = "";
}

export const newPolicy = (name) => draftOfPolicy({ name, limits: [] }, [newLimit()]);

/** Returns the scenario for the core, and the errors in numbers as `{ path: message }`. */
export function scenarioOf(draft) {
  const errors = {};
  const put = (object, key, value) => {
    if (value !== undefined) object[key] = value;
  };
  const whole = (text, path) => {
    const trimmed = String(text ?? "").trim();
    if (trimmed === "") return undefined;
    const digits = trimmed.replace(/(?<=\d)[,_ ](?=\d{3}\b)/g, "");
    if (/^\d+$/.test(digits) && Number.isSafeInteger(Number(digits))) return Number(digits);
    errors[path] = "must be a whole number, such as 100";
    return trimmed;
  };
  const span = (text) => (String(text ?? "").trim() === "" ? undefined : String(text).trim());
  const pair = (text, path, one) => {
    const parts = String(text ?? "").split(/\s*(?:\.\.+|…|–)\s*/);
    return parts.length === 2 ? parts.map((part) => one(part, path) ?? "") : one(text, path);
  };
  // "900", "100..900", or one of these for each label: "tpm=100..900, rpm=1".
  const units = (text, path) => {
    const parts = String(text ?? "").split(/,(?=\s*[^,=]+=)/);
    if (!parts[0].includes("=")) return pair(text, path, whole);
    const entries = parts.map((part) => {
      const [label, ...count] = part.split("=");
      return [label.trim(), pair(count.join("="), path, whole) ?? ""];
    });
    const labels = entries.map(([label]) => label);
    if (new Set(labels).size < labels.length) errors[path] = "has a label twice; remove one";
    return Object.fromEntries(entries);
  };
  const field = (object, source, key, path) =>
    put(object, key, WHOLE.has(key) ? whole(source[key], `${path}.${key}`) : span(source[key]));
  const limits = (list, path) =>
    list.map((limit, i) => {
      const result = kindOf(limit);
      field(result, limit, "label", `${path}.limits[${i}]`);
      const kind = entryOf(KINDS, limit.kind);
      if (kind?.interval === null) return result;
      field(result, limit, "limit", `${path}.limits[${i}]`);
      const spans = kind?.interval === "" ? CALENDAR : ["interval"];
      for (const key of spans) field(result, limit, key, `${path}.limits[${i}]`);
      if (limit.kind === "bucket") field(result, limit, "offset", `${path}.limits[${i}]`);
      if (METERS.includes(limit.kind)) field(result, limit, "refund", `${path}.limits[${i}]`);
      return result;
    });

  const scenario = {};
  put(scenario, "seed", whole(draft.seed, "seed"));
  put(scenario, "until", span(draft.until));
  scenario.policies = draft.policies.map((policy, i) => {
    const path = `policies[${i}]`;
    const name = policy.name === "" ? {} : { name: policy.name };
    const result = { ...name, limits: limits(policy.limits, path), retry: policy.retry };
    for (const key of entryOf(RETRIES, policy.retry) ?? []) field(result, policy, key, path);
    if (!policy.correct) result.correct = false;
    return result;
  });
  const { arrivals } = draft;
  scenario.arrivals = kindOf(arrivals);
  for (const key of entryOf(ARRIVALS, arrivals.kind) ?? []) {
    if (key === "text") scenario.arrivals.text = arrivals.text;
    else field(scenario.arrivals, arrivals, key, "arrivals");
  }
  put(scenario, "cost", units(draft.cost, "cost"));
  put(scenario, "actual", units(draft.actual, "actual"));
  put(scenario, "work", pair(draft.work, "work", span));
  put(scenario, "clients", whole(draft.clients, "clients"));
  put(scenario, "at_once", whole(draft.at_once, "at_once"));
  if (draft.upstream.on) {
    scenario.upstream = { limits: limits(draft.upstream.limits, "upstream") };
    put(scenario.upstream, "latency", span(draft.upstream.latency));
    scenario.upstream.learn = draft.upstream.learn;
  }
  if (draft.events.length > 0) {
    scenario.events = draft.events.map((event, i) => {
      const result = event.do === "" ? {} : { do: event.do };
      for (const key of entryOf(EVENTS, event.do) ?? ["at"])
        field(result, event, key, `events[${i}]`);
      return result;
    });
  }
  return { scenario, errors };
}

// The core reports a missing kind.
const kindOf = ({ kind }) => (kind === "" ? {} : { kind });

/** Returns the draft of a scenario; `importScenario` ensures that no member is left out. */
export function draftOf(scenario) {
  if (typeof scenario !== "object" || scenario === null || Array.isArray(scenario)) {
    throw new TypeError("a scenario is a JSON object with policies and arrivals");
  }
  const { policies, arrivals, upstream, events } = scenario;
  if (!Array.isArray(policies) || !(policies.length > 0 && policies.length <= MAX_POLICIES)) {
    throw new TypeError(`policies: a scenario has a list of 1 to ${MAX_POLICIES} policies`);
  }
  const object = (value) => (typeof value === "object" && value !== null ? value : {});
  const list = (value) => (Array.isArray(value) ? value.map(object) : []);
  return {
    seed: text(scenario.seed ?? 1),
    until: text(scenario.until),
    policies: policies.map((policy) => {
      const given = object(policy);
      return draftOfPolicy(given, list(given.limits).map(draftOfLimit));
    }),
    arrivals: filled(
      { count: "10", per: "1s", for: "1m", every: "1m", to: "20", from: "", text: "", kind: "" },
      entryOf(ARRIVALS, object(arrivals).kind),
      object(arrivals),
    ),
    cost: textOfUnits(scenario.cost),
    actual: textOfUnits(scenario.actual),
    work: text(scenario.work),
    clients: text(scenario.clients),
    at_once: text(scenario.at_once),
    upstream: {
      on: upstream !== undefined && upstream !== null,
      limits: upstream ? list(upstream.limits).map(draftOfLimit) : [newLimit("window")],
      latency: text(upstream?.latency),
      learn: upstream ? upstream.learn === true : true,
    },
    events: list(events).map((event) =>
      filled({ ...newEvent(), do: "" }, entryOf(EVENTS, event.do) ?? ["at"], event),
    ),
  };
}

export const newEvent = () => ({
  ...{ at: "30s", do: "pause", for: "", label: "", limit: "", interval: "", client: "0" },
});

/** Converts a limit of a scenario or of `limitersFromDocument` to a limit of a draft. */
export const draftOfLimit = ({ refund, ...limit }) => ({
  ...newLimit(""),
  limit: "",
  interval: "",
  ...texts(limit),
  // The first refund is what limits without one have.
  ...((refund ?? "full") === "full" ? {} : { refund: text(refund) }),
});

/** Returns a policy with the limits that a run has columns for: the core drops unlimited ones if there are others. */
export function asDecided(policy) {
  const limits = policy.limits.filter(({ kind }) => kind !== "unlimited");
  return limits.length > 0 ? { ...policy, limits } : policy;
}

/** Returns a short name of a limit, such as "bucket 10 in 1m", or "rpm: window 500 in 1m" with a label of its own. */
export function nameOfLimit(limit) {
  const label = labelOf(limit);
  return label === limit.kind ? ruleOf(limit) : `${label}: ${ruleOf(limit)}`;
}

function ruleOf({ kind, limit, interval, per }) {
  if (entryOf(KINDS, kind)?.interval === null) return kind;
  if (kind === "throttle" && (limit ?? 1) === 1) return `throttle ${interval ?? ""}`;
  if (kind === "concurrency") return `concurrency ${limit ?? ""}`;
  if (kind === "quota") return `quota ${limit ?? ""} per ${per ?? ""}`;
  return `${kind} ${limit ?? ""} in ${interval ?? ""}`;
}

function draftOfPolicy(policy, limits) {
  return {
    name: text(policy.name),
    limits,
    retry: text(policy.retry ?? "none"),
    attempts: text(policy.attempts),
    base: text(policy.base),
    cap: text(policy.cap),
    wait: text(policy.wait),
    correct: policy.correct !== false,
    view: "form",
    typed: null, // the JSON text, and the selected limiter of its document
    chosen: null,
  };
}

// Defaults are for kinds that may be selected later; fields of the own kind get none.
function filled(defaults, keys, given) {
  const missing = Object.fromEntries((keys ?? []).map((key) => [key, ""]));
  return { ...defaults, ...missing, ...texts(given) };
}

function texts(object) {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, text(value)]));
}

function textOfUnits(units) {
  if (typeof units !== "object" || units === null || Array.isArray(units)) return text(units);
  return Object.entries(units)
    .map(([label, count]) => `${label}=${text(count)}`)
    .join(", ");
}

function text(value) {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return value.map(text).join("..");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
