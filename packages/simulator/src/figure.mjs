// The plots of one policy with summaries in words, and its selected decision.
import { h, newId } from "./dom.mjs";
import { Explanation, swatch } from "./explain.mjs";
import { number } from "./format.mjs";
import { LevelPlot, linesOf } from "./level-plot.mjs";
import { OutcomePlot } from "./outcome-plot.mjs";
import { LANES, OUTCOMES } from "./outcomes.mjs";
import { colour } from "./plot.mjs";
import { LETTERS } from "./policy-editor.mjs";
import { nameOfLimit } from "./scenario.mjs";
import { countsOf, cutInWords, linesInWords, outcomesInWords, waitsInWords } from "./summary.mjs";
import { histogramOf, WaitPlot } from "./wait-plot.mjs";
import { shadingOf } from "./windows.mjs";

const NAMES = {
  outcomes: "Arrivals by outcome",
  levels: "Levels, slots and queue",
  waits: "Waits of granted calls",
};
const SHADES = {
  intervals: "Shaded: every second interval of the bucket.",
  window: "Shaded: the window before the selected decision.",
};

export class Figure {
  #result;
  #lines;
  #shown = new Set();
  #explanation;
  #plots = {};
  #places = {};
  #model;

  /**
   * `context`: `{ index, result, policy, lanes, events, view, headers(row), zoom(from, to), reset(),
   * chosen(index, row) }`, where `view` is `{ from, to, now }`.
   */
  constructor(context) {
    const { index, result, policy, lanes } = context;
    this.#result = result;
    this.#model = context;
    const { columns, totals } = result;
    this.#lines = linesOf(policy, columns);
    for (const line of this.#lines) if (line.isDrawn) this.#shown.add(line.key);
    this.#explanation = new Explanation({
      columns,
      policy,
      letter: LETTERS[index],
      headers: context.headers,
      chosen: (row) => context.chosen(index, row),
    });
    this.counts = countsOf(columns);
    this.histogram = histogramOf(columns);
    this.shading = shadingOf(policy);
    const name = `${LETTERS[index]} ${totals.name}`;
    const title = newId("figure");
    const rules = policy.limits.map(nameOfLimit).join(" and ");
    const waits = waitsInWords(this.histogram, totals);
    this.element = h(
      "section",
      { class: "figure", "aria-labelledby": title },
      h(
        "header",
        {},
        h("h2", { id: title }, h("span", { class: "badge" }, LETTERS[index]), ` ${totals.name}`),
        h("p", { class: "hint" }, rules),
      ),
      h(
        "div",
        { class: "beside" },
        h(
          "div",
          { class: "plots" },
          h("h3", {}, NAMES.outcomes),
          this.#legend(lanes),
          this.#picture(
            "outcomes",
            `Arrivals by outcome, policy ${name}`,
            `${outcomesInWords(columns, this.counts)} ${cutInWords(totals)}`,
          ),
          h("h3", {}, NAMES.levels),
          this.#choices(),
          this.#picture(
            "levels",
            `Levels over time, policy ${name}`,
            `${linesInWords(this.#lines)} ${SHADES[this.shading.kind] ?? ""}`,
          ),
          h("h3", {}, NAMES.waits),
          this.histogram.longest > 0
            ? this.#picture("waits", `Histogram of waits, policy ${name}`, waits)
            : h("p", { class: "summary" }, waits),
        ),
        this.#explanation.element,
      ),
    );
  }

  #picture(key, label, words) {
    const id = newId("summary");
    const place = h("div", {
      class: "plot",
      role: "img",
      "aria-label": label,
      "aria-describedby": id,
    });
    this.#places[key] = place;
    return h("div", {}, place, h("p", { class: "summary", id }, words));
  }

  #legend(lanes) {
    const items = LANES.filter((code) => lanes.has(code)).map((code) =>
      h(
        "li",
        {},
        swatch(OUTCOMES[code]),
        ` ${OUTCOMES[code].name} `,
        h("b", {}, number(this.counts[code])),
      ),
    );
    return h("ul", { class: "legend" }, items);
  }

  #choices() {
    const boxes = this.#lines.map((line, i) => {
      const input = h("input", { type: "checkbox", checked: this.#shown.has(line.key) });
      input.addEventListener("change", () => {
        if (input.checked) this.#shown.add(line.key);
        else this.#shown.delete(line.key);
        this.#plots.levels?.plot.setSeries(i + 1, { show: input.checked });
      });
      return h("label", { class: "check" }, input, stroke(line), h("span", {}, line.label));
    });
    return h("div", { class: "choices", role: "group", "aria-label": "Lines" }, boxes);
  }

  /** Creates the plots again with the available width. */
  build() {
    for (const { plot } of Object.values(this.#plots)) plot.destroy();
    const width = Math.floor(this.#places.outcomes.clientWidth);
    if (width < 50) return;
    const { lanes, events, zoom, reset } = this.#model;
    const hooks = { zoom, reset, hover: (row) => this.#explanation.choose(row, true) };
    const { columns, totals } = this.#result;
    const chosenAt = () => columns.at[this.#explanation.row];
    const shared = { columns, shading: this.shading, events, chosenAt, hooks };
    this.#plots = {
      outcomes: new OutcomePlot(this.#places.outcomes, width, { ...shared, lanes }),
      levels: new LevelPlot(this.#places.levels, width, {
        ...shared,
        lines: this.#lines,
        end: totals.ended_at_us / 1000,
      }),
    };
    if (this.#places.waits) {
      this.#plots.waits = new WaitPlot(this.#places.waits, width, this.histogram);
    }
    this.#lines.forEach((line, i) => {
      if (!this.#shown.has(line.key)) this.#plots.levels.plot.setSeries(i + 1, { show: false });
    });
    this.draw();
  }

  draw() {
    const { from, to, now } = this.#model.view;
    this.#plots.outcomes?.draw(from, to, now);
    this.#plots.levels?.draw(from, to, now);
  }

  /** Redraws after a change of colours. */
  repaint() {
    for (const canvas of this.element.querySelectorAll("canvas.swatch")) canvas.redraw();
    for (const { plot } of Object.values(this.#plots)) plot.redraw(false, true);
  }

  /** Moves the cursor of all plots to the selected decision. */
  point() {
    const { outcomes, levels } = this.#plots;
    const at = this.#result.columns.at[this.#explanation.row];
    if (outcomes === undefined || at === undefined) return;
    const { from, to } = this.#model.view;
    if (at >= from && at <= to) {
      outcomes.plot.setCursor({ left: outcomes.plot.valToPos(at, "x"), top: 1 });
    }
    if (this.shading.kind === "window") {
      outcomes.plot.redraw(false);
      levels.plot.redraw(false);
    }
  }

  choose = (row, isWanted) => this.#explanation.choose(row, isWanted);

  get row() {
    return this.#explanation.row;
  }

  /** The plots as `[{ name, canvas, lines }]` for the picture. */
  get pictures() {
    const lines = this.#lines.filter(({ key }) => this.#shown.has(key));
    return Object.entries(this.#plots).map(([key, { plot }]) => ({
      name: NAMES[key],
      canvas: plot.ctx.canvas,
      lines: key === "levels" ? lines : [],
    }));
  }

  /** For tests: the data of the plots, and the drawn part of it. */
  get plotted() {
    const { columns, totals } = this.#result;
    return {
      name: totals.name,
      columns,
      lines: this.#lines.map(({ key, label, values }) => ({ key, label, values })),
      histogram: this.histogram,
      outcomes: this.#plots.outcomes?.drawn,
      levels: this.#plots.levels?.drawn,
    };
  }
}

// Returns a sample of the line as a small picture.
function stroke(line) {
  const ratio = 2;
  const canvas = h("canvas", {
    class: "swatch wide",
    width: 28 * ratio,
    height: 14 * ratio,
    "aria-hidden": "true",
  });
  canvas.redraw = () => {
    const context = canvas.getContext("2d");
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.strokeStyle = colour(line.colour)();
    context.lineWidth = 2 * ratio;
    context.setLineDash(line.dash.map((length) => length * ratio));
    context.beginPath();
    context.moveTo(0, 7 * ratio);
    context.lineTo(28 * ratio, 7 * ratio);
    context.stroke();
  };
  canvas.redraw();
  return canvas;
}
