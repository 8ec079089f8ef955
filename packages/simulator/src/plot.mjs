// One panel over time: axes, cursor and zoom.
import uPlot from "../vendor/uPlot.mjs";
import { duration, short } from "./format.mjs";

const SYNC = "paddlegate";
const FOLLOWED = new Set(["mousemove", "mouseleave"]);
const STEPS = [1, 2, 5, 10, 15, 20, 30];
const HOUR = 3_600_000;
/** The possible distances of ticks in milliseconds: round in seconds, minutes, hours and days. */
const TICKS = [
  ...[0.001, 0.01, 0.1, 1, 10, 100].flatMap((size) => [1, 2, 5].map((step) => step * size)),
  ...STEPS.map((step) => step * 1000),
  ...STEPS.map((step) => step * 60_000),
  ...[1, 2, 3, 4, 6, 8, 12].map((step) => step * HOUR),
  ...[1, 2, 5, 7, 10, 14, 20, 30, 50, 100, 200, 365, 730, 1000].map((step) => step * 24 * HOUR),
];

export const styleNow = () => getComputedStyle(document.documentElement);

/** Returns a function that reads a colour of the style sheet, in the current theme. */
export const colour = (name) => () => styleNow().getPropertyValue(`--${name}`).trim();

const isNarrow = (width) => width < 480;

function timeAxis(width, hasTimes) {
  return {
    stroke: colour("muted"),
    grid: { stroke: colour("grid"), width: 1 },
    ticks: { stroke: colour("grid"), width: 1, size: 4, show: hasTimes },
    font: "12px system-ui, sans-serif",
    incrs: TICKS,
    space: isNarrow(width) ? 64 : 80,
    size: hasTimes ? 28 : 0,
    gap: 4,
    values: (_, splits) =>
      splits.map((ms) => (hasTimes ? duration(Math.round(ms * 1000) / 1000) : "")),
  };
}

const valueAxis = {
  stroke: colour("muted"),
  grid: { stroke: colour("grid"), width: 1 },
  ticks: { show: false },
  font: "12px system-ui, sans-serif",
  size: 52, // equal in all panels, so that their times are aligned
  gap: 6,
  space: 24,
  values: (_, splits) => splits.map((value) => (Number.isInteger(value) ? short(value) : "")),
};

/**
 * Creates a uPlot of steps. `top` is a value that is seen too; `hover(ms)` is called with the time under the pointer and with null
 * when it has left.
 */
export function timePlot(
  place,
  { width, height, hasTimes, lines, top, under, over, hover, zoom, reset },
) {
  const options = {
    width,
    height,
    pxAlign: 0,
    legend: { show: false },
    series: [
      {},
      ...lines.map((line) => ({
        stroke: colour(line.colour),
        width: line.width,
        dash: line.dash,
        paths: uPlot.paths.stepped({ align: 1 }),
        points: { show: false },
        spanGaps: true,
      })),
    ],
    axes: [timeAxis(width, hasTimes), valueAxis],
    scales: {
      x: { time: false },
      y: {
        // From zero (or a debt) to slightly above the highest value.
        range: (_, low, high) => {
          const [min, max] = [Math.min(0, low ?? 0), Math.max(1, top ?? 1, high ?? 1)];
          return [min, max + (max - min) * 0.12];
        },
      },
    },
    padding: [6, 30, hasTimes ? 0 : 4, 0],
    cursor: {
      points: { show: false },
      y: false,
      drag: { x: true, y: false, setScale: false },
      // A drag zooms once, whichever panel it is in: the others follow the pointer only.
      sync: { key: SYNC, setSeries: false, filters: { pub: (type) => FOLLOWED.has(type) } },
      bind: {
        dblclick: () => () => {
          reset();
          return null;
        },
      },
    },
    hooks: {
      drawClear: [under],
      draw: [over],
      setSelect: [
        (u) => {
          if (u.select.width < 4) return;
          const from = u.posToVal(u.select.left, "x");
          const to = u.posToVal(u.select.left + u.select.width, "x");
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          zoom(from, to);
        },
      ],
    },
  };
  const plot = new uPlot(options, [[], ...lines.map(() => [])], place);
  plot.over.addEventListener("mousemove", () => {
    if (plot.cursor.left >= 0) hover(plot.posToVal(plot.cursor.left, "x"));
  });
  plot.over.addEventListener("mouseleave", () => hover(null));
  return plot;
}
