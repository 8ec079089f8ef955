// Policies as documents: written in Paddlegate's own format; the core reads every format, in the worker.
import { CALENDAR, draftOfLimit, entryOf, KINDS, labelOf } from "./scenario.mjs";
import { micros, shortest } from "./span.mjs";

const INTERVAL = {
  bucket: "per",
  window: "per",
  leaky: "drain",
  points: "refill",
  throttle: "every",
  concurrency: "lock_timeout",
};

/** Returns the policy of a scenario as a document in Paddlegate's own format. */
export function documentOf(policy) {
  const limiter = { __proto__: null };
  const limits = { __proto__: null };
  for (const limit of policy.limits) {
    const label = labelOf(limit);
    const isCounted = entryOf(KINDS, limit.kind)?.interval !== null;
    if (isCounted && label !== limit.kind) limits[label] = { [limit.kind]: ruleOf(limit) };
    else limiter[limit.kind] = ruleOf(limit);
  }
  if (Object.keys(limits).length > 0) limiter.limits = limits;
  return JSON.stringify({ limiters: { [policy.name || "policy"]: limiter } }, null, 2);
}

function ruleOf({ kind, limit, interval, offset, refund, ...others }) {
  if (entryOf(KINDS, kind)?.interval === null) return true;
  const rule = { limit };
  for (const key of CALENDAR) if (others[key] !== undefined) rule[key] = others[key];
  if (interval !== undefined) rule[entryOf(INTERVAL, kind) ?? "interval"] = interval;
  if (offset !== undefined) rule.offset = offset;
  if (refund !== undefined) rule.refund = refund;
  return rule;
}

/** Converts the limits from `limitersFromDocument` to those of a draft. */
export function limitsFrom(policy) {
  const span = (text) => (text === undefined || text === null ? "" : shortest(micros(text)));
  return policy.limits.map((limit) => ({
    ...draftOfLimit(limit),
    label: limit.label === limit.kind ? "" : limit.label,
    interval: span(limit.interval),
    offset: limit.offset && micros(limit.offset) > 0 ? span(limit.offset) : "",
  }));
}
