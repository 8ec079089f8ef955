// Downloads: the picture, the timeline, and the scenario with its totals.
import { h } from "./dom.mjs";

/** Returns a JSON file that `paddlegate simulate` can read; it ignores the totals. */
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
