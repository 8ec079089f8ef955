// The plots of all policies, one panel below the other on one time axis.
import uPlot from "../vendor/uPlot.mjs";
import { h, newId } from "./dom.mjs";
import { number } from "./format.mjs";
import { panelInWords } from "./panels.mjs";
import { colour, timePlot } from "./plot.mjs";
import { partOf, valueAt } from "./series.mjs";
import { drawEvents, shade } from "./windows.mjs";

const HEIGHT = 108;
const AXIS = 28;

export class Figure {
  #model;
  #panels;
  #at = null; // the time under the pointer, or null

  /** `model`: `{ panels, shading, events, view, end, hover(ms), zoom(from, to), reset() }`; a view is `{ from, to }` in ms. */
  constructor(model) {
    this.#model = model;
    this.#panels = model.panels.map((panel) => this.#panel(panel));
    this.element = h(
      "div",
      { class: "figure" },
      this.#panels.map(({ element }) => element),
    );
  }

  #panel(panel) {
    const id = newId("summary");
    const label = { role: "img", "aria-label": panel.title, "aria-describedby": id };
    const place = h("div", { class: "plot", ...label });
    const values = panel.lines.map((line) => {
      const value = h("b", {});
      return { line, value, item: h("li", {}, stroke(line), ` ${line.label} `, value) };
    });
    const element = h(
      "section",
      { class: "panel", "aria-label": panel.title },
      h(
        "header",
        {},
        h("h2", {}, panel.title),
        h(
          "ul",
          { class: "legend" },
          values.map(({ item }) => item),
        ),
      ),
      place,
      h("p", { class: "hidden", id }, panelInWords(panel)),
    );
    return { panel, place, values, element, plot: null };
  }

  /** Creates the plots again with the available width. */
  build() {
    const width = Math.floor(this.element.clientWidth);
    if (width < 50) return;
    const { shading, events, zoom, reset, hover } = this.#model;
    const last = this.#panels.length - 1;
    this.#panels.forEach((one, i) => {
      const { panel, place } = one;
      one.plot?.destroy();
      one.plot = timePlot(place, {
        width,
        height: HEIGHT + (i === last ? AXIS : 0),
        hasTimes: i === last,
        lines: panel.lines,
        top: panel.limit,
        under: (u) => shade(u, shading),
        over: (u) => {
          drawEvents(u, events, i === 0);
          if (panel.limit !== undefined) drawLimit(u, panel);
        },
        hover: (ms) => {
          this.#say(ms);
          if (ms !== null) hover(ms);
        },
        zoom,
        reset,
      });
    });
    this.draw();
  }

  draw() {
    const { from, to } = this.#model.view;
    for (const { plot, panel } of this.#panels) {
      if (plot === null) continue;
      const bins = Math.max(50, Math.floor(plot.width / 2));
      const until = Math.min(to, this.#model.end);
      const parts = panel.lines.map((line) => partOf(line, from, until, bins));
      plot.batch(() => {
        plot.setData(uPlot.join(parts), false);
        plot.setScale("x", { min: from, max: to });
      });
    }
    this.#say(this.#at);
  }

  /** Shows the values at a time; null: at the end of what is seen. */
  #say(ms) {
    this.#at = ms;
    const at = Math.min(ms ?? this.#model.view.to, this.#model.end);
    for (const { panel, values } of this.#panels) {
      for (const { line, value } of values) {
        value.textContent = `${number(valueAt(line, at, line.first))}${panel.unit}`;
      }
    }
  }

  /** Moves the cursor of all panels to a time. */
  point(ms) {
    const { from, to } = this.#model.view;
    const [{ plot }] = this.#panels;
    if (plot !== null && ms >= from && ms <= to) {
      plot.setCursor({ left: plot.valToPos(ms, "x"), top: 1 });
      this.#say(ms);
    }
  }

  /** Redraws after a change of colours. */
  repaint() {
    for (const canvas of this.element.querySelectorAll("canvas.swatch")) canvas.redraw();
    for (const { plot } of this.#panels) plot?.redraw(false, true);
  }

  /** The panels as `[{ title, lines, canvas }]` for the picture. */
  get pictures() {
    return this.#panels.map(({ panel, plot }) => ({ ...panel, canvas: plot.ctx.canvas }));
  }

  /** For tests: the lines, and what is drawn of them. */
  get plotted() {
    return this.#panels.map(({ panel, plot }) => ({
      ...panel,
      drawn: plot?.data,
      range: [plot?.scales.x.min, plot?.scales.x.max],
    }));
  }
}

/** Draws the limit, and the highest value above it of each line. */
function drawLimit(u, { limit, lines }) {
  const { ctx, bbox } = u;
  const ratio = devicePixelRatio;
  const y = u.valToPos(limit, "y", true);
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour("refused")();
  ctx.lineWidth = 1.2 * ratio;
  ctx.setLineDash([5 * ratio, 4 * ratio]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.font = `600 ${12 * ratio}px system-ui, sans-serif`;
  ctx.textAlign = "left";
  ctx.textBaseline = "bottom";
  ctx.fillText(`limit ${number(limit)}`, bbox.left + 4 * ratio, y - 2 * ratio);
  ctx.textAlign = "right";
  ctx.textBaseline = "top";
  lines.forEach(({ label }, i) => {
    const values = u.data[i + 1];
    const highest = values.reduce((most, value) => Math.max(most, value ?? 0), 0);
    if (highest <= limit) return;
    const x = u.valToPos(u.data[0][values.indexOf(highest)], "x", true);
    ctx.fillText(`${label}: ${number(highest)}`, x - 5 * ratio, u.valToPos(highest, "y", true));
  });
  ctx.restore();
}

/** Returns a sample of a line as a small picture. */
function stroke(line) {
  const ratio = 2;
  const size = { width: 24 * ratio, height: 14 * ratio };
  const canvas = h("canvas", { class: "swatch", ...size, "aria-hidden": "true" });
  canvas.redraw = () => {
    const context = canvas.getContext("2d");
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.scale(ratio, ratio);
    drawStroke(context, line, 0, 7);
    context.setTransform(1, 0, 0, 1, 0, 0);
  };
  canvas.redraw();
  return canvas;
}

export function drawStroke(context, { colour: name, dash, width }, x, y) {
  context.strokeStyle = colour(name)();
  context.lineWidth = width;
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + 24, y);
  context.stroke();
  context.setLineDash([]);
}
