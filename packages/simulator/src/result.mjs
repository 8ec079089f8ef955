// The result of a run: totals, figures and decisions; and the visible time range.

import { DecisionsTable } from "./decisions.mjs";
import { debounced, h } from "./dom.mjs";
import { Figure } from "./figure.mjs";
import { asDecided } from "./scenario.mjs";
import { totalsTable } from "./totals.mjs";

const nextTask = () => new Promise((resolve) => setTimeout(resolve));

export class Result {
  #places;
  #figures = [];
  #view = { from: 0, to: 1, now: 0 };
  #shown = 0;
  #width = 0;
  end = 1;
  lanes = new Set([1]);
  results = [];
  scenario = null;
  run = null; // the id of the run in the engine

  /** `places`: the elements `{ totals, figures, decisions, decisionsPart }`; `engine` returns the headers. */
  constructor(places, engine) {
    this.#places = places;
    this.engine = engine;
    const rebuild = debounced(() => this.build(), 80);
    new ResizeObserver(() => {
      const width = places.figures.clientWidth;
      if (width === this.#width) return;
      this.#width = width;
      rebuild();
    }).observe(places.figures);
    const repaint = () => {
      for (const figure of this.#figures) figure.repaint();
    };
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  }

  get figures() {
    return this.#figures;
  }

  /** Shows a run in several tasks, so that the page stays responsive. */
  async show(scenario, { run, results }) {
    const shown = ++this.#shown;
    this.run = run;
    this.scenario = scenario;
    this.results = results;
    this.end = Math.max(
      1,
      ...results.map(({ totals, columns }) =>
        Math.max(totals.ended_at_us / 1000, columns.at.at(-1) ?? 0),
      ),
    );
    this.lanes = new Set([1]);
    for (const { columns } of results) for (const code of columns.outcome) this.lanes.add(code);
    this.#view.from = 0;
    this.#view.to = this.end * 1.01;
    this.#view.now = this.end;
    const { totals, figures, decisions, decisionsPart } = this.#places;
    const table = totalsTable(results);
    totals.replaceChildren(
      h("h2", {}, "Totals"),
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of totals" },
        table,
      ),
    );
    totals.hidden = decisionsPart.hidden = false;
    this.#figures = [];
    const policies = scenario.policies.map(asDecided);
    const made = [];
    for (const [index, result] of results.entries()) {
      await nextTask();
      if (shown !== this.#shown) return;
      made.push(
        new Figure({
          index,
          result,
          policy: policies[index],
          lanes: this.lanes,
          events: scenario.events ?? [],
          view: this.#view,
          headers: (row) => this.engine.headers(run, index, row),
          zoom: (from, to) => this.zoomTo(from, to),
          reset: () => this.zoomTo(0, this.end * 1.01),
          chosen: (i) => this.#figures[i]?.point(),
        }),
      );
    }
    this.#figures = made;
    figures.replaceChildren(...made.map(({ element }) => element));
    this.#width = figures.clientWidth;
    decisions.replaceChildren(new DecisionsTable(results, policies).element);
    await this.build();
    for (const figure of made) figure.choose(0, true);
  }

  async build() {
    const shown = this.#shown;
    for (const figure of this.#figures) {
      await nextTask();
      if (shown !== this.#shown) return;
      figure.build();
    }
  }

  /** Sets the virtual clock. */
  at(now, isPlaying) {
    this.#view.now = now;
    for (const figure of this.#figures) figure.draw();
    if (!isPlaying) return;
    this.#figures.forEach((figure, i) => {
      const { at } = this.results[i].columns;
      let row = Math.max(0, figure.row);
      if (at[row] > now) row = 0;
      while (row + 1 < at.length && at[row + 1] <= now) row += 1;
      figure.choose(row, false);
    });
  }

  /** Returns the next decision of any policy after a time: `{ index, row, at }`, or null at the end. */
  next(now) {
    let found = null;
    this.results.forEach(({ columns: { at } }, index) => {
      const row = this.#figures[index]?.row ?? -1;
      let next = Math.max(0, row);
      if (at[next] > now) next = 0;
      while (next < at.length && (at[next] < now || (next <= row && at[next] <= now))) next += 1;
      if (next < at.length && (found === null || at[next] < found.at)) {
        found = { index, row: next, at: at[next] };
      }
    });
    return found;
  }

  zoom(factor) {
    const { from, to } = this.#view;
    const middle = (from + to) / 2;
    const half = ((to - from) / 2) * factor;
    this.zoomTo(middle - half, middle + half);
  }

  shift(part) {
    const { from, to } = this.#view;
    const by = (to - from) * part;
    const most = this.end * 1.01;
    const start = Math.min(Math.max(0, from + by), Math.max(0, most - (to - from)));
    this.zoomTo(start, start + (to - from));
  }

  zoomTo(from, to) {
    const most = this.end * 1.01;
    const least = Math.min(0.01, most);
    const [low, high] = [Math.max(0, from), Math.min(most, to)];
    if (!(high - low >= least)) return;
    if (low === this.#view.from && high === this.#view.to) return;
    this.#view.from = low;
    this.#view.to = high;
    for (const figure of this.#figures) figure.draw();
  }
}
