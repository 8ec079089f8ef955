// The result of a run: the plots, the numbers, the decisions; and the visible time range.

import { nearest } from "./decimate.mjs";
import { DecisionsTable } from "./decisions.mjs";
import { debounced } from "./dom.mjs";
import { Explanation } from "./explain.mjs";
import { Figure } from "./figure.mjs";
import { panelsOf } from "./panels.mjs";
import { LETTERS } from "./policy-editor.mjs";
import { asDecided } from "./scenario.mjs";
import { fourNumbers, totalsTable } from "./totals.mjs";
import { shadingOf } from "./windows.mjs";

export class Result {
  #places;
  #explanations = [];
  #view = { from: 0, to: 1 };
  #width = 0;
  figure = null;
  end = 1;
  results = [];
  scenario = null;
  run = null; // the id of the run in the engine

  /** `places`: the elements `{ figure, numbers, totals, explain, decisions, rest }`; `engine` returns the headers. */
  constructor(places, engine) {
    this.#places = places;
    this.engine = engine;
    const rebuild = debounced(() => this.figure?.build(), 80);
    new ResizeObserver(() => {
      const width = places.figure.clientWidth;
      if (width === this.#width) return;
      this.#width = width;
      rebuild();
    }).observe(places.figure);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#repaint());
  }

  #repaint() {
    this.figure?.repaint();
    for (const canvas of this.#places.explain.querySelectorAll("canvas.swatch")) canvas.redraw();
  }

  /** Shows a run, zoomed to `moment`, `[from, to]` in ms; null keeps what is seen if `keeps`, otherwise it shows all. */
  show(scenario, { run, results }, moment, keeps) {
    this.run = run;
    this.scenario = scenario;
    this.results = results;
    const ends = results.map(({ totals, columns }) =>
      Math.max(totals.ended_at_us / 1000, columns.at.at(-1) ?? 0),
    );
    const isFirst = this.figure === null;
    this.end = Math.max(1, ...ends);
    if (moment !== null) [this.#view.from, this.#view.to] = moment;
    else if (!keeps || isFirst || this.#view.from >= this.end) this.#view.from = this.#view.to = 0;
    if (this.#view.to === 0) this.#view.to = this.end * 1.01;
    const { figure, numbers, totals, explain, decisions, rest } = this.#places;
    const policies = scenario.policies.map(asDecided);
    numbers.replaceChildren(fourNumbers(results));
    totals.replaceChildren(totalsTable(results));
    this.#explanations = results.map(
      ({ columns }, index) =>
        new Explanation({
          columns,
          policy: policies[index],
          letter: LETTERS[index],
          headers: (row) => this.engine.headers(run, index, row),
          chosen: (row) => this.figure.point(columns.at[row]),
        }),
    );
    explain.replaceChildren(...this.#explanations.map(({ element }) => element));
    decisions.replaceChildren(new DecisionsTable(results, policies).element);
    numbers.hidden = rest.hidden = false;
    this.figure = new Figure({
      panels: panelsOf(scenario, results),
      shading: shadingOf(policies),
      events: scenario.events ?? [],
      view: this.#view,
      end: this.end,
      hover: (ms) => {
        results.forEach(({ columns }, i) => {
          this.#explanations[i].choose(nearest(columns.at, ms), false);
        });
      },
      zoom: (from, to) => this.zoomTo(from, to),
      reset: () => this.all(),
    });
    figure.replaceChildren(this.figure.element);
    this.#width = figure.clientWidth;
    this.figure.build();
    for (const explanation of this.#explanations) explanation.choose(0, false);
  }

  all() {
    this.zoomTo(0, this.end * 1.01);
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
    this.figure?.draw();
  }
}
