// The numbers of all policies, as the core counts them.
import { h } from "./dom.mjs";
import { duration, number, permille } from "./format.mjs";
import { LETTERS } from "./policy-editor.mjs";
import { cutInWords } from "./summary.mjs";

const us = (value) => (value === null || value === undefined ? "–" : duration(value / 1000));

const ROWS = [
  ["Arrived", ({ arrived }) => number(arrived)],
  ["Granted", (t) => part(t.granted, t.arrived)],
  ["Refused without retry", (t) => part(t.refused, t.arrived)],
  ["Gave up", (t) => part(t.gave_up, t.arrived), "gave_up"],
  ["Lost in crashes", ({ lost }) => number(lost), "lost"],
  ["Pending at the end", ({ pending }) => number(pending), "pending"],
  ["Throttled upstream", ({ throttled }) => number(throttled), "throttled"],
  ["Requests to the limiter", ({ decisions }) => number(decisions)],
  ["Cut off", (t) => cutInWords(t) || "no", cutInWords],
  ["Granted after waiting", ({ waited }) => number(waited)],
  ["Wait, mean", (t) => us(t.wait_us.mean), "waited"],
  ["Wait, median", (t) => us(t.wait_us.p50), "waited"],
  ["Wait, 95 %", (t) => us(t.wait_us.p95), "waited"],
  ["Wait, longest", (t) => us(t.wait_us.max), "waited"],
  ["Units taken", ({ units }) => number(units)],
  ["Utilisation", (t) => permilleOf(t.utilisation_permille)],
  ["Largest burst", (t) => burst(t.largest_burst)],
  ["Time to drain", (t) => us(t.drained_after_us)],
  ["Ended at", (t) => us(t.ended_at_us)],
];

const part = (value, all) =>
  all > 0 && value > 0
    ? `${number(value)} (${permille(Math.round((value / all) * 1000))})`
    : number(value);

const permilleOf = (value) => (value === null || value === undefined ? "–" : permille(value));

function burst(value) {
  if (value === null || value === undefined) return "–";
  return `${number(value.units)} in ${us(value.interval_us)}`;
}

/** Returns the four numbers of each policy that tell most, as a table; those that differ are marked. */
export function fourNumbers(results) {
  const all = results.map(({ totals }) => totals);
  const isThrottled = all.some(({ throttled }) => throttled > 0);
  const interval = us(all[0].largest_burst.interval_us);
  const rows = [
    ["Granted", (t) => part(t.granted, t.arrived)],
    ["Refused, lost or still waiting", (t) => number(t.arrived - t.granted)],
    isThrottled
      ? ["Throttled upstream", ({ throttled }) => number(throttled)]
      : [`Most units within ${interval}`, (t) => number(t.largest_burst.units)],
    ["95 % waited at most", (t) => us(t.wait_us.p95)],
  ];
  return table("Four numbers by policy", "numbers", rows, all);
}

export function totalsTable(results) {
  // Optional rows are omitted if they are zero for every policy.
  const has = (totals, key) => (typeof key === "function" ? key(totals) !== "" : totals[key] > 0);
  const rows = ROWS.filter(([, , key]) => !key || results.some(({ totals }) => has(totals, key)));
  return table(
    "Totals by policy",
    "totals",
    rows,
    results.map(({ totals }) => totals),
  );
}

function table(caption, kind, rows, all) {
  const heads = all.map(({ name }, i) =>
    h("th", { scope: "col" }, h("span", { class: `badge line-${i + 1}` }, LETTERS[i]), ` ${name}`),
  );
  const body = rows.map(([label, cell]) => {
    const texts = all.map(cell);
    const isMarked = kind === "numbers" && new Set(texts).size > 1;
    const cells = texts.map((text) => h("td", {}, isMarked ? h("mark", {}, text) : text));
    return h("tr", {}, h("th", { scope: "row" }, label), cells);
  });
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h(
      "table",
      { class: "totals" },
      h("caption", { class: "hidden" }, caption),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Policy"), heads)),
      h("tbody", {}, body),
    ),
  );
}
