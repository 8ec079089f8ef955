// The draft, which is what was typed, and the scenario, which is what it means to the core.
// A draft has the shape of a scenario, but its values are texts, and it keeps what a kind that is
// not chosen just now had: nothing typed is lost.

export const MOST_POLICIES = 4;
export const MOST_LIMITS = 8;
export const MOST_EVENTS = 1000;

/** What each kind of limit is called, and what its interval means. No interval: null. */
export const KINDS = {
  bucket: { name: "Bucket", says: "so many in each aligned interval", interval: "Interval" },
  window: { name: "Window", says: "so many in any interval", interval: "Interval" },
  leaky: { name: "Leaky", says: "a burst, which drains evenly", interval: "Drains in" },
  points: { name: "Points", says: "a budget of points", interval: "Refills in" },
  throttle: { name: "Throttle", says: "starts so far apart", interval: "Distance" },
  concurrency: { name: "Concurrency", says: "so many at once", interval: "Lock timeout" },
  unlimited: { name: "Unlimited", says: "everything passes", interval: null },
  paused: { name: "Paused", says: "nothing passes", interval: null },
};

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
  override: ["at", "index", "limit", "interval", "for"],
  crash: ["at", "client", "for"],
};
export const RETRIES = {
  none: [],
  linear: ["attempts"],
  exponential: ["attempts", "base", "cap"],
  wait: ["wait"],
  ticket: ["wait"],
};

/** What a table has under a key of its own; a file may say "constructor". */
export const known = (table, key) => (Object.hasOwn(table, key) ? table[key] : undefined);

const WHOLE = new Set(["count", "to", "attempts", "index", "limit", "client"]);

export const newLimit = (kind = "bucket") => ({ kind, limit: "100", interval: "1m", offset: "" });

export const newPolicy = (name) => draftOfPolicy({ name, limits: [] }, [newLimit()]);

/** A scenario, as the core reads it, and what is wrong with numbers: `{ path: message }`. */
export function scenarioOf(draft) {
  const faults = {};
  const put = (object, key, value) => {
    if (value !== undefined) object[key] = value;
  };
  const whole = (text, path) => {
    const trimmed = String(text ?? "").trim();
    if (trimmed === "") return undefined;
    const digits = trimmed.replace(/(?<=\d)[,_ ](?=\d{3}\b)/g, "");
    if (/^\d+$/.test(digits) && Number.isSafeInteger(Number(digits))) return Number(digits);
    faults[path] = "must be a whole number, such as 100";
    return trimmed;
  };
  const span = (text) => (String(text ?? "").trim() === "" ? undefined : String(text).trim());
  const pair = (text, path, one) => {
    const parts = String(text ?? "").split(/\s*(?:\.\.+|…|–)\s*/);
    return parts.length === 2 ? parts.map((part) => one(part, path) ?? "") : one(text, path);
  };
  const field = (object, source, key, path) =>
    put(object, key, WHOLE.has(key) ? whole(source[key], `${path}.${key}`) : span(source[key]));
  const limits = (list, path) =>
    list.map((limit, i) => {
      const result = kindOf(limit);
      const kind = known(KINDS, limit.kind);
      if (kind?.interval === null) return result;
      if (limit.kind !== "throttle") field(result, limit, "limit", `${path}.limits[${i}]`);
      field(result, limit, "interval", `${path}.limits[${i}]`);
      if (limit.kind === "bucket") field(result, limit, "offset", `${path}.limits[${i}]`);
      return result;
    });

  const scenario = {};
  put(scenario, "seed", whole(draft.seed, "seed"));
  put(scenario, "until", span(draft.until));
  scenario.policies = draft.policies.map((policy, i) => {
    const path = `policies[${i}]`;
    const name = policy.name === "" ? {} : { name: policy.name };
    const result = { ...name, limits: limits(policy.limits, path), retry: policy.retry };
    for (const key of known(RETRIES, policy.retry) ?? []) field(result, policy, key, path);
    if (!policy.correct) result.correct = false;
    return result;
  });
  const { arrivals } = draft;
  scenario.arrivals = kindOf(arrivals);
  for (const key of known(ARRIVALS, arrivals.kind) ?? []) {
    if (key === "text") scenario.arrivals.text = arrivals.text;
    else field(scenario.arrivals, arrivals, key, "arrivals");
  }
  put(scenario, "cost", pair(draft.cost, "cost", whole));
  put(scenario, "actual", pair(draft.actual, "actual", whole));
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
      for (const key of known(EVENTS, event.do) ?? ["at"])
        field(result, event, key, `events[${i}]`);
      return result;
    });
  }
  return { scenario, faults };
}

// What is missing is told by the core.
const kindOf = ({ kind }) => (kind === "" ? {} : { kind });

/** The draft of a scenario; `accepted` makes sure that nothing of it is left out. */
export function draftOf(scenario) {
  if (typeof scenario !== "object" || scenario === null || Array.isArray(scenario)) {
    throw new TypeError("a scenario is a JSON object with policies and arrivals");
  }
  const { policies, arrivals, upstream, events } = scenario;
  if (!Array.isArray(policies) || !(policies.length > 0 && policies.length <= MOST_POLICIES)) {
    throw new TypeError(`policies: a scenario has a list of 1 to ${MOST_POLICIES} policies`);
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
      known(ARRIVALS, object(arrivals).kind),
      object(arrivals),
    ),
    cost: text(scenario.cost),
    actual: text(scenario.actual),
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
      filled({ ...newEvent(), do: "" }, known(EVENTS, event.do) ?? ["at"], event),
    ),
  };
}

export const newEvent = () => ({
  ...{ at: "30s", do: "pause", for: "", index: "0", limit: "", interval: "", client: "0" },
});

/** What `limitersFromDocument` tells of one limiter, as limits of a draft. */
export const draftOfLimit = (limit) => ({
  ...newLimit(""),
  limit: "",
  interval: "",
  ...texts(limit),
});

/** A policy with the limits that the columns of a run are of: beside others the core drops what is unlimited. */
export function asDecided(policy) {
  const limits = policy.limits.filter(({ kind }) => kind !== "unlimited");
  return limits.length > 0 ? { ...policy, limits } : policy;
}

/** "10 in 1m", as short as it can be said of a limit of a scenario. */
export function nameOfLimit({ kind, limit, interval }) {
  if (known(KINDS, kind)?.interval === null) return kind;
  if (kind === "throttle") return `throttle ${interval ?? ""}`;
  if (kind === "concurrency") return `concurrency ${limit ?? ""}`;
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
    typed: null, // what was typed as JSON, and which of its limiters was taken
    chosen: null,
  };
}

// Defaults are for kinds that may be chosen later; of its own kind nothing is made up.
function filled(defaults, keys, given) {
  const missing = Object.fromEntries((keys ?? []).map((key) => [key, ""]));
  return { ...defaults, ...missing, ...texts(given) };
}

function texts(object) {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, text(value)]));
}

function text(value) {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return value.map(text).join("..");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
