// The plot of the remaining units of each limit, the running calls and the queue, as steps over time.
import uPlot from "../vendor/uPlot.mjs";
import { rowsOfLines } from "./decimate.mjs";
import { short } from "./format.mjs";
import { nearest } from "./outcome-plot.mjs";
import { colour, show, timePlot, valueAxis } from "./plot.mjs";
import { nameOfLimit } from "./scenario.mjs";
import { drawEvents, shade } from "./windows.mjs";

const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
const COLOURS = ["line-1", "line-2", "line-3", "line-4"];

/** Returns all lines of a policy: `[{ key, label, values, axis, colour, dash, isDrawn }]`. */
export function linesOf(policy, columns) {
  const left = policy.limits.map((limit, i) => ({
    key: `level-${i}`,
    label: `Remaining of ${nameOfLimit(limit)}`,
    values: columns.levels[i],
    axis: "y",
    colour: COLOURS[i % COLOURS.length],
    dash: DASHES[Math.floor(i / COLOURS.length + i) % DASHES.length],
    isDrawn: limit.kind !== "unlimited" && limit.kind !== "paused",
  }));
  const isLeased = policy.limits.some(({ kind }) => kind === "concurrency");
  const held = { key: "held", label: "Running calls", values: columns.held };
  const queue = { key: "queue", label: "Queue (tickets)", values: columns.queue };
  return [
    ...left.filter(({ values }) => values !== undefined),
    {
      ...held,
      axis: "calls",
      colour: "line-held",
      dash: [1, 3],
      isDrawn: isLeased || held.values.some((n) => n > 1),
    },
    { ...queue, axis: "calls", colour: "line-queue", dash: [6, 3], isDrawn: isUsed(queue.values) },
  ];
}

function isUsed(values) {
  return values.some((value) => value > 0);
}

export class LevelPlot {
  #plot;
  #at;
  #end;
  #lines;
  #width;
  #rows = new Uint32Array();

  /** `model`: `{ columns, lines, end, shading, events, chosenAt(), hooks }` */
  constructor(place, width, model) {
    this.#at = model.columns.at;
    this.#end = model.end;
    this.#lines = model.lines;
    this.#width = width;
    this.#plot = timePlot(place, {
      width,
      height: width < 480 ? 150 : 170,
      series: this.#lines.map((line) => ({
        scale: line.axis,
        stroke: colour(line.colour),
        width: 1.8,
        dash: line.dash,
        paths: uPlot.paths.stepped({ align: 1 }),
        points: { show: false },
      })),
      axes: (left, right) => [
        valueAxis(left, { values: whole, space: 30 }),
        valueAxis(right, {
          scale: "calls",
          side: 1,
          grid: { show: false },
          values: whole,
          space: 30,
        }),
      ],
      scales: { y: { range: above }, calls: { range: above } },
      padding: (right) => [10, this.#lines.some(({ axis }) => axis === "calls") ? 0 : right, 0, 0],
      hooks: {
        ...model.hooks,
        under: (u) => shade(u, model.shading, model.chosenAt()),
        over: (u) => drawEvents(u, model.events, false),
        hover: (ms) => model.hooks.hover(nearest(this.#at, ms)),
      },
      data: [[], ...this.#lines.map(() => [])],
    });
  }

  get plot() {
    return this.#plot;
  }

  get drawn() {
    return { rows: this.#rows, data: this.#plot.data };
  }

  draw(from, to, now) {
    const at = this.#at;
    const values = this.#lines.map((line) => line.values);
    const bins = Math.max(50, Math.floor(this.#width / 2));
    const rows = rowsOfLines(at, values, from, to, bins).filter((row) => at[row] <= now);
    this.#rows = rows;
    const times = Array.from(rows, (row) => at[row]);
    const series = values.map((line) => Array.from(rows, (row) => finite(line[row])));
    // The last level continues until the end.
    const last = Math.min(to, now, this.#end);
    if (rows.length > 0 && times.at(-1) < last) {
      times.push(last);
      for (const line of series) line.push(line.at(-1));
    }
    show(this.#plot, [times, ...series], from, to);
  }
}

// Levels and calls are whole numbers.
const whole = (_, splits) => splits.map((value) => (Number.isInteger(value) ? short(value) : ""));

const finite = (value) => (Number.isFinite(value) ? value : null);

// The range from zero (or a debt) to slightly above the highest value.
function above(_, low, high) {
  const [min, max] = [Math.min(0, low ?? 0), Math.max(1, high ?? 1)];
  return [min, max + (max - min) * 0.06];
}
