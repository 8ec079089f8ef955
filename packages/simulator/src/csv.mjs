// The timeline of all policies as CSV, as `paddlegate simulate --csv` writes it.

const HEADER =
  "policy,at_us,job,client,attempt,outcome,cost,wait_us,limit,retry_after_us,before,after,queue,held";
const WORDS = ["refused", "granted", "queued", "retries", "gave_up", "lost", "throttled"];

/** A Blob, made of some thousand lines at a time. */
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

// What is not known is empty.
const units = (value) => (Number.isFinite(value) ? value : "");
const us = (ms) => (Number.isFinite(ms) ? Math.round(ms * 1000) : "");

// Spreadsheets take some first characters for formulas.
function quoted(text) {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
