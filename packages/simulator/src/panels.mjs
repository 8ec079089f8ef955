// What is plotted of a run: the panels, each with a line per policy or limit.
import { duration, number } from "./format.mjs";
import { LETTERS } from "./policy-editor.mjs";
import { asDecided, nameOfLimit } from "./scenario.mjs";
import { micros } from "./span.mjs";

const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3]];
const UNCOUNTED = new Set(["unlimited", "paused"]);

/**
 * Returns `[{ key, title, unit, lines, limit }]`; a line is `{ label, at, values, first, colour, dash, width }` and a limit the
 * most that a policy permits, or undefined.
 */
export function panelsOf(scenario, results) {
  const policies = scenario.policies.map(asDecided);
  const ofPolicy = (i, steps, label, more = {}) => ({
    ...{ label, colour: `line-${i + 1}`, dash: DASHES[i], width: 2.6 - 0.5 * i, first: 0 },
    ...steps,
    ...more,
  });
  const each = (steps, label = (_, i) => LETTERS[i]) =>
    results.map((result, i) => ofPolicy(i, steps(result), label(result, i)));
  const overTime = (key) => each(({ overTime: { at, [key]: values } }) => ({ at, values }));
  const interval = results[0].totals.largest_burst.interval_us / 1000;
  const arrived = { ...results[0].calls.arrived, first: 0 };
  const calls = [
    { ...arrived, label: "arrived", colour: "muted", dash: [], width: 1.2 },
    ...each(
      ({ calls: { granted } }) => granted,
      ({ totals }, i) => `${LETTERS[i]} ${totals.name}`,
    ),
  ];
  const leases = policies.flatMap(({ limits }) =>
    limits.filter(({ kind }) => kind === "concurrency"),
  );
  const isUsed = (lines) => lines.some(({ values }) => values.some((value) => value > 0));
  const queue = overTime("queue");
  return [
    { key: "calls", title: "Calls granted", unit: "", lines: calls },
    leases.length > 0
      ? {
          key: "held",
          title: "Running calls",
          unit: "",
          lines: overTime("held"),
          limit: leases[0].limit,
        }
      : {
          key: "burst",
          title: `Let pass within ${duration(interval)}`,
          unit: "",
          lines: each(({ burst }) => burst),
          limit: limitOf(scenario, policies, interval),
        },
    // A policy without limits has no levels.
    ...[levelPanel(policies, results, ofPolicy)].filter(({ lines }) => lines.length > 0),
    ...(isUsed(queue)
      ? [{ key: "queue", title: "Waiting in the queue", unit: "", lines: queue }]
      : []),
  ];
}

/** Returns the limit of calls in an interval that the policies share. */
function limitOf({ cost }, policies, interval) {
  if (cost !== undefined && cost !== 1) return undefined;
  const amounts = policies.flatMap(({ limits }) =>
    limits
      .filter((limit) => ["bucket", "window"].includes(limit.kind))
      .filter((limit) => micros(limit.interval) / 1000 === interval)
      .map(({ limit }) => limit),
  );
  return new Set(amounts).size === 1 ? amounts[0] : undefined;
}

/** What is left of each limit: in units if all are of one size, otherwise in percent. */
function levelPanel(policies, results, ofPolicy) {
  const sizes = new Set(
    policies.flatMap(({ limits }) =>
      limits.filter(({ kind }) => !UNCOUNTED.has(kind)).map(({ limit }) => limit ?? 1),
    ),
  );
  const isPercent = sizes.size > 1;
  const lines = results.flatMap(({ overTime: { at, levels } }, i) =>
    policies[i].limits.flatMap((limit, k) => {
      if (UNCOUNTED.has(limit.kind)) return [];
      const size = limit.limit ?? 1;
      const values = isPercent ? levels[k].map((left) => (left / size) * 100) : levels[k];
      const name = policies[i].limits.length === 1 ? "" : ` ${nameOfLimit(limit)}`;
      return [
        ofPolicy(i, { at, values }, `${LETTERS[i]}${name}`, {
          first: isPercent ? 100 : size,
          dash: DASHES[(i + k) % DASHES.length],
          width: 2.4 - 0.4 * k,
        }),
      ];
    }),
  );
  const unit = isPercent ? " %" : "";
  return { key: "levels", title: `Left of the limit${isPercent ? ", in %" : ""}`, unit, lines };
}

/** Returns a panel in words, for screen readers. */
export function panelInWords({ title, lines, unit, limit }) {
  const parts = lines.map(({ label, values, first }) => {
    let [low, high] = [first, first];
    for (const value of values) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
    const last = values.at(-1) ?? first;
    return `${label}: between ${number(low)} and ${number(high)}${unit}, at the end ${number(last)}${unit}`;
  });
  return `${title}. ${limit === undefined ? "" : `The limit is ${number(limit)}. `}${parts.join("; ")}.`;
}
