// The common parts of all plots over time: axis, cursor and zoom.
import uPlot from "../vendor/uPlot.mjs";
import { duration } from "./format.mjs";

const SYNC = "paddlegate";
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

export const isNarrow = (width) => width < 480;

/** Returns the margins of a plot; they are equal in all plots, so that their time axes are aligned. */
export const margins = (width) =>
  isNarrow(width) ? { left: 70, right: 36 } : { left: 84, right: 48 };

export function timeAxis(width) {
  return {
    stroke: colour("muted"),
    grid: { stroke: colour("grid"), width: 1 },
    ticks: { stroke: colour("grid"), width: 1, size: 4 },
    font: "12px system-ui, sans-serif",
    incrs: TICKS,
    space: isNarrow(width) ? 64 : 80,
    size: 28,
    gap: 4,
    values: (_, splits) => splits.map((ms) => duration(Math.round(ms * 1000) / 1000)),
  };
}

export function valueAxis(size, more = {}) {
  return {
    stroke: colour("muted"),
    grid: { stroke: colour("grid"), width: 1 },
    ticks: { show: false },
    font: "12px system-ui, sans-serif",
    size,
    gap: 6,
    ...more,
  };
}

/**
 * Creates a uPlot over time. `hooks`: `{ under(u), over(u), hover(ms, top, u), zoom(from, to), reset() }`.
 */
export function timePlot(place, { width, height, series, axes, scales, padding, hooks, data }) {
  const { left, right } = margins(width);
  const options = {
    width,
    height,
    pxAlign: 0,
    legend: { show: false },
    series: [{}, ...series],
    axes: [timeAxis(width), ...axes(left, right)],
    scales: { x: { time: false }, ...scales },
    padding: padding(right),
    cursor: {
      points: { show: false },
      y: false,
      drag: { x: true, y: false, setScale: false },
      sync: { key: SYNC, setSeries: false },
      bind: {
        dblclick: () => () => {
          hooks.reset();
          return null;
        },
      },
    },
    hooks: {
      drawClear: [hooks.under],
      draw: [hooks.over],
      setSelect: [
        (u) => {
          if (u.select.width < 4) return;
          const from = u.posToVal(u.select.left, "x");
          const to = u.posToVal(u.select.left + u.select.width, "x");
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          hooks.zoom(from, to);
        },
      ],
    },
  };
  const plot = new uPlot(options, data, place);
  plot.over.addEventListener("mousemove", () => {
    const { left: x, top: y } = plot.cursor;
    if (x >= 0) hooks.hover(plot.posToVal(x, "x"), y, plot);
  });
  return plot;
}

export function show(plot, data, from, to) {
  plot.batch(() => {
    plot.setData(data, false);
    plot.setScale("x", { min: from, max: to });
  });
}
