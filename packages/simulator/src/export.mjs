// Files to keep: the picture, the timeline, the scenario with its totals.
import { h } from "./dom.mjs";

/** The JSON that the terminal reads again; the totals are for people and other programs. */
export function jsonOf(scenario, results) {
  const totals = results.map(({ totalsText }) => JSON.parse(totalsText));
  return new Blob([`${JSON.stringify({ ...scenario, totals }, null, 2)}\n`], {
    type: "application/json",
  });
}

export function download(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
