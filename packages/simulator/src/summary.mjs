// A run in words.
import { count, number } from "./format.mjs";

/** Returns the remaining units of the limit that decided; null if none did, such as for a lost call or a pause. */
export function remainingOf({ limits }, { limit, before, after }, row) {
  const isKnown = Number.isFinite(before[row]) && Number.isFinite(after[row]);
  if (limits[limit[row]] === undefined || !isKnown) return null;
  return { before: before[row], after: after[row] };
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
