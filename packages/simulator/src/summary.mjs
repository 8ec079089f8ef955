// The contents of the plots in words, for screen readers and as a summary.
import { count, duration, number } from "./format.mjs";
import { LANES, OUTCOMES } from "./outcomes.mjs";

/** Returns the number of decisions with each outcome, by code. */
export function countsOf({ outcome }) {
  const counts = new Array(OUTCOMES.length).fill(0);
  for (let row = 0; row < outcome.length; row++) counts[outcome[row]] += 1;
  return counts;
}

export function outcomesInWords({ at, outcome }, counts) {
  if (at.length === 0) return "There were no arrivals.";
  const parts = LANES.filter((code) => counts[code] > 0).map(
    (code) => `${number(counts[code])} ${OUTCOMES[code].lane.toLowerCase()}`,
  );
  const first = outcome.findIndex((code) => code !== 1);
  const ends =
    first < 0
      ? "All were granted."
      : `The first that was not granted was at ${duration(at[first])}.`;
  return `${count(at.length, "decision")} from ${duration(at[0])} to ${duration(at.at(-1))}: ${parts.join(", ")}. ${ends}`;
}

/** Returns the remaining units of the limit that decided; null if none did, such as for a lost call or a pause. */
export function remainingOf({ limits }, { limit, before, after }, row) {
  const isKnown = Number.isFinite(before[row]) && Number.isFinite(after[row]);
  if (limits[limit[row]] === undefined || !isKnown) return null;
  return { before: before[row], after: after[row] };
}

export function linesInWords(lines) {
  const parts = lines.flatMap(({ label, values }) => {
    let [low, high] = [Infinity, -Infinity];
    for (const value of values) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
    if (low > high) return [];
    const last = number(values.at(-1));
    return [`${label}: between ${number(low)} and ${number(high)}, at the end ${last}.`];
  });
  return parts.length === 0 ? "There are no values." : parts.join(" ");
}

export function waitsInWords({ counts, width, longest }, totals) {
  if (totals.granted === 0) return "Nothing was granted.";
  if (longest === 0) return "No granted call waited.";
  const most = counts.indexOf(Math.max(...counts));
  const { p50, p95, max } = totals.wait_us;
  const often = `${duration(most * width)} to ${duration((most + 1) * width)}`;
  return `${number(totals.waited)} of ${count(totals.granted, "granted call")} waited, at most ${duration(max / 1000)}. Of all that were granted, half waited at most ${duration(p50 / 1000)}, 95 % at most ${duration(p95 / 1000)}; most often ${often} (${count(counts[most], "call")}).`;
}

/** Returns a note if the core cut the run off, or recorded only a part of its decisions; otherwise "". */
export function cutInWords({ cut_off, unrecorded, decisions }) {
  const parts = [];
  if (cut_off)
    parts.push(`Cut off after ${count(decisions, "decision")}; later ones are not counted.`);
  if (unrecorded > 0) parts.push(`Counted but not drawn: the last ${count(unrecorded, "row")}.`);
  return parts.join(" ");
}

/** Returns the result of a run, for the live region. */
export function runInWords(results) {
  const parts = results.map(
    ({ totals }) =>
      `${totals.name || "policy"}: ${number(totals.granted)} of ${number(totals.arrived)} granted`,
  );
  const cut = results
    .filter(({ totals }) => cutInWords(totals) !== "")
    .map(({ totals }) => ` ${totals.name || "policy"}: ${cutInWords(totals)}`);
  return `Simulated. ${parts.join("; ")}.${cut.join("")}`;
}
