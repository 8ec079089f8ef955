// The table of the totals of all policies, as the core counts them.
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
  ["Decisions", ({ decisions }) => number(decisions)],
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

export function totalsTable(results) {
  // Optional rows are omitted if they are zero for every policy.
  const has = (totals, key) => (typeof key === "function" ? key(totals) !== "" : totals[key] > 0);
  const rows = ROWS.filter(([, , key]) => !key || results.some(({ totals }) => has(totals, key)));
  return h(
    "table",
    { class: "totals" },
    h("caption", { class: "hidden" }, "Totals by policy"),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, "Total"),
        results.map(({ totals }, i) =>
          h("th", { scope: "col" }, h("span", { class: "badge" }, LETTERS[i]), ` ${totals.name}`),
        ),
      ),
    ),
    h(
      "tbody",
      {},
      rows.map(([label, cell]) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, label),
          results.map(({ totals }) => h("td", {}, cell(totals))),
        ),
      ),
    ),
  );
}
