// Converts the timelines of all policies to the CSV that `paddlegate simulate --csv` writes.

const HEADER =
  "policy,at_us,job,client,attempt,outcome,cost,wait_us,limit,retry_after_us,before,after,queue,held";
const WORDS = ["refused", "granted", "queued", "retries", "gave_up", "lost", "throttled"];

/** Returns a Blob; its text is created in chunks of 10,000 lines. */
export function csvOf(names, simulations) {
  const parts = [`${HEADER}\n`];
  simulations.forEach((simulation, i) => {
    const c = simulation.columns();
    const name = quoted(names[i]);
    for (let from = 0; from < c.at.length; from += 10_000) {
      let text = "";
      for (let row = from; row < Math.min(from + 10_000, c.at.length); row++) {
        text += `${name},${us(c.at[row])},${c.job[row]},${c.client[row]},${c.attempt[row]},${WORDS[c.outcome[row]]},${c.cost[row]},${us(c.wait[row])},${c.limit[row]},${us(c.retryAfter[row])},${units(c.before[row])},${units(c.after[row])},${c.queue[row]},${c.held[row]}\n`;
      }
      parts.push(text);
    }
  });
  return new Blob(parts, { type: "text/csv;charset=utf-8" });
}

// Unknown values are empty.
const units = (value) => (Number.isFinite(value) ? value : "");
const us = (ms) => (Number.isFinite(ms) ? Math.round(ms * 1000) : "");

// Spreadsheets interpret texts with some first characters as formulas.
function quoted(text) {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
