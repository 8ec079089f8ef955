// The histogram of the waits of granted calls.
import uPlot from "../vendor/uPlot.mjs";
import { duration, short } from "./format.mjs";
import { colour, margins, valueAxis } from "./plot.mjs";

const BINS = 24;
const NICE = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400,
];

/**
 * Returns `{ width, counts, longest }` in milliseconds: the numbers of waits from 0 to width, width to 2 * width, ...
 */
export function histogramOf({ outcome, wait }) {
  let longest = 0;
  for (let row = 0; row < wait.length; row++) {
    if (outcome[row] === 1 && wait[row] > longest) longest = wait[row];
  }
  const width = niceAbove(longest / BINS);
  const counts = new Array(Math.floor(longest / width) + 1).fill(0);
  for (let row = 0; row < wait.length; row++) {
    if (outcome[row] === 1) counts[Math.floor(wait[row] / width)] += 1;
  }
  return { width, counts, longest };
}

function niceAbove(ms) {
  if (ms === 0) return 1;
  if (ms > 1000) {
    const found = NICE.find((seconds) => seconds * 1000 >= ms);
    if (found !== undefined) return found * 1000;
  }
  const size = 10 ** Math.floor(Math.log10(ms));
  return [1, 2, 5, 10].map((step) => step * size).find((step) => step >= ms);
}

export class WaitPlot {
  #plot;

  constructor(place, width, { width: bin, counts }) {
    const { left, right } = margins(width);
    const bars = uPlot.paths.bars({ size: [0.92, 100], align: 1 });
    const options = {
      width,
      height: 130,
      legend: { show: false },
      cursor: { show: false },
      series: [{}, { paths: bars, fill: colour("granted"), width: 0, points: { show: false } }],
      axes: [
        {
          stroke: colour("muted"),
          grid: { show: false },
          ticks: { stroke: colour("grid"), size: 4 },
          font: "12px system-ui, sans-serif",
          size: 28,
          gap: 4,
          space: 72,
          splits: (u) => splitsOf(bin, counts.length, u.bbox.width / devicePixelRatio),
          values: (_, splits) => splits.map(duration),
        },
        valueAxis(left, {
          values: (_, splits) => splits.map((n) => (Number.isInteger(n) ? short(n) : "")),
          space: 28,
        }),
      ],
      scales: {
        x: { time: false, range: [0, bin * counts.length] },
        y: { range: (_, __, high) => [0, Math.max(1, high * 1.06)] },
      },
      padding: [8, right, 0, 0],
    };
    this.#plot = new uPlot(options, [counts.map((_, i) => i * bin), counts], place);
  }

  get plot() {
    return this.#plot;
  }
}

function splitsOf(bin, bins, width) {
  const most = Math.max(2, Math.floor(width / 80));
  const every = Math.max(1, Math.ceil(bins / most));
  return Array.from({ length: Math.floor(bins / every) + 1 }, (_, i) => i * every * bin);
}
