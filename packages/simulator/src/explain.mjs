// The details of one decision: the call, the limit that decided, and the HTTP headers for the caller.
import { button, h, newId } from "./dom.mjs";
import { duration, moment, number } from "./format.mjs";
import { mark, OUTCOMES } from "./outcomes.mjs";
import { colour } from "./plot.mjs";
import { nameOfLimit } from "./scenario.mjs";
import { remainingOf } from "./summary.mjs";

export class Explanation {
  #model;
  #row = -1;
  #slider;
  #facts = h("dl", { class: "facts" });
  #headers = h("div", { class: "headers" });
  #lastRequest = 0;

  /** `model`: `{ columns, policy, letter, headers(row), chosen(row) }` */
  constructor(model) {
    this.#model = model;
    const { at } = model.columns;
    const id = newId("decision");
    this.#slider = h("input", {
      id,
      type: "range",
      min: 0,
      max: Math.max(0, at.length - 1),
      step: 1,
      value: 0,
      disabled: at.length === 0,
      oninput: () => this.choose(Number(this.#slider.value), true),
    });
    const step = (by) => () => this.choose(this.#row + by, true);
    this.element = h(
      "div",
      { class: "explain" },
      h("label", { for: id }, `Decision of policy ${model.letter}`),
      this.#slider,
      h(
        "div",
        { class: "buttons" },
        button("◀", step(-1), {
          class: "icon",
          "aria-label": "Previous decision",
          title: "Previous",
        }),
        button("▶", step(1), { class: "icon", "aria-label": "Next decision", title: "Next" }),
        button("Next not granted", () => this.#next(), { class: "quiet" }),
      ),
      this.#facts,
      this.#headers,
    );
  }

  get row() {
    return this.#row;
  }

  /** Shows a row. `isWanted`: the user selected it, so the other figures follow and the headers are fetched. */
  choose(row, isWanted) {
    const { columns, chosen } = this.#model;
    if (!(row >= 0 && row < columns.at.length)) return;
    const isNew = row !== this.#row;
    this.#row = row;
    this.#slider.value = row;
    if (isNew) this.#explain(row);
    if (isWanted) {
      this.#showHeaders(row);
      chosen(row);
    }
  }

  #next() {
    const { outcome } = this.#model.columns;
    const all = outcome.length;
    for (let i = 1; i <= all; i++) {
      const row = (this.#row + i) % all;
      if (outcome[row] !== 1) {
        this.choose(row, true);
        return;
      }
    }
  }

  #explain(row) {
    const { columns: c, policy } = this.#model;
    const outcome = OUTCOMES[c.outcome[row]];
    const time = moment(c.at[row]);
    const text = `${number(row + 1)} of ${number(c.at.length)}, at ${time}: ${outcome.description}`;
    this.#slider.setAttribute("aria-valuetext", text);
    const facts = [
      ["Decision", `${number(row + 1)} of ${number(c.at.length)}`],
      ["Time", time],
      ["Call", this.#call(row)],
      ["Outcome", h("span", {}, swatch(outcome), ` ${sentence(outcome.description)}`)],
    ];
    if (c.limit[row] !== NO_LIMIT) {
      facts.push([rules(c.outcome[row]), ruleOf(policy, c.limit[row])]);
    }
    const left = remainingOf(policy, c, row);
    if (left !== null) {
      facts.push(["Remaining", `${number(left.before)} before, ${number(left.after)} after`]);
    }
    if (c.levels.length > 1) {
      const levels = c.levels.map((level, i) =>
        h("li", {}, `${number(level[row])} of ${nameOfLimit(policy.limits[i])}`),
      );
      facts.push(["Remaining per limit", h("ul", {}, levels)]);
    }
    if (c.outcome[row] !== 1 || c.wait[row] > 0)
      facts.push(["Waited so far", duration(c.wait[row])]);
    if (Number.isFinite(c.retryAfter[row]) && c.outcome[row] !== 1) {
      facts.push(["Retry after", duration(c.retryAfter[row])]);
    }
    if (c.queue[row] > 0) facts.push(["Queue length", number(c.queue[row])]);
    if (c.held[row] > 0) facts.push(["Running calls", number(c.held[row])]);
    this.#facts.replaceChildren(
      ...facts.map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value))),
    );
    this.#headers.replaceChildren();
  }

  #call(row) {
    const { columns: c } = this.#model;
    const attempt = c.attempt[row] > 0 ? `, try ${number(c.attempt[row] + 1)}` : "";
    return `no. ${number(c.job[row] + 1)} of client ${c.client[row]}, cost ${number(c.cost[row])}${attempt}`;
  }

  async #showHeaders(row) {
    const request = ++this.#lastRequest;
    const headers = await this.#model.headers(row);
    if (request !== this.#lastRequest || row !== this.#row) return;
    if (headers.length === 0) return;
    const lines = headers.map(([name, value]) => `${name}: ${value}`).join("\n");
    this.#headers.replaceChildren(h("p", {}, "HTTP response headers"), h("pre", {}, lines));
  }
}

const NO_LIMIT = 255; // the code of a decision without a limit

const sentence = (text) => text[0].toUpperCase() + text.slice(1);

const rules = (code) => (code === 1 || code === 6 ? "Tightest limit" : "Limit that refused");

function ruleOf(policy, index) {
  const limit = policy.limits[index];
  return limit === undefined ? "a pause" : nameOfLimit(limit);
}

/** Returns the shape of an outcome as a small picture. */
export function swatch(outcome, size = 14) {
  const ratio = 2;
  const canvas = h("canvas", {
    class: "swatch",
    width: size * ratio,
    height: size * ratio,
    "aria-hidden": "true",
  });
  const draw = () => {
    const context = canvas.getContext("2d");
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.lineWidth = 1.6 * ratio;
    context.fillStyle = context.strokeStyle = colour(outcome.key)();
    mark(context, outcome.shape, (size * ratio) / 2, (size * ratio) / 2, size * 0.3 * ratio);
  };
  draw();
  canvas.redraw = draw;
  return canvas;
}
