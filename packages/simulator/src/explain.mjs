// One decision: what was asked, which rule spoke, and what the caller would be told.
import { button, h, newId } from "./dom.mjs";
import { duration, moment, number } from "./format.mjs";
import { mark, OUTCOMES } from "./outcomes.mjs";
import { colour } from "./plot.mjs";
import { nameOfLimit } from "./scenario.mjs";
import { leftOf } from "./summary.mjs";

export class Explanation {
  #model;
  #row = -1;
  #slider;
  #facts = h("dl", { class: "facts" });
  #headers = h("div", { class: "headers" });
  #asked = 0;

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
      h("label", { for: id }, `One decision of policy ${model.letter}`),
      this.#slider,
      h(
        "div",
        { class: "buttons" },
        button("◀", step(-1), {
          class: "icon",
          "aria-label": "The decision before",
          title: "Before",
        }),
        button("▶", step(1), { class: "icon", "aria-label": "The next decision", title: "Next" }),
        button("Next not granted", () => this.#next(), { class: "quiet" }),
      ),
      this.#facts,
      this.#headers,
    );
  }

  get row() {
    return this.#row;
  }

  /** Shows a row; `isWanted`: someone asked for it, so the others are told and the headers fetched. */
  choose(row, isWanted) {
    const { columns, chosen } = this.#model;
    if (!(row >= 0 && row < columns.at.length)) return;
    const isNew = row !== this.#row;
    this.#row = row;
    this.#slider.value = row;
    if (isNew) this.#explain(row);
    if (isWanted) {
      this.#tell(row);
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
    const text = `${number(row + 1)} of ${number(c.at.length)}, at ${time}: ${outcome.says}`;
    this.#slider.setAttribute("aria-valuetext", text);
    const facts = [
      ["Decision", `${number(row + 1)} of ${number(c.at.length)}`],
      ["Time", time],
      ["Call", this.#call(row)],
      ["Outcome", h("span", {}, swatch(outcome), ` ${sentence(outcome.says)}`)],
    ];
    if (c.limit[row] !== NO_LIMIT) {
      facts.push([rules(c.outcome[row]), ruleOf(policy, c.limit[row])]);
    }
    const left = leftOf(policy, c, row);
    if (left !== null) {
      facts.push(["Left", `${number(left.before)} before, ${number(left.after)} after`]);
    }
    if (c.levels.length > 1) {
      const levels = c.levels.map((level, i) =>
        h("li", {}, `${number(level[row])} of ${nameOfLimit(policy.limits[i])}`),
      );
      facts.push(["Left of each", h("ul", {}, levels)]);
    }
    if (c.outcome[row] !== 1 || c.wait[row] > 0)
      facts.push(["Waited so far", duration(c.wait[row])]);
    if (Number.isFinite(c.retryAfter[row]) && c.outcome[row] !== 1) {
      facts.push(["Come back after", duration(c.retryAfter[row])]);
    }
    if (c.queue[row] > 0) facts.push(["In the queue", number(c.queue[row])]);
    if (c.held[row] > 0) facts.push(["Under way", number(c.held[row])]);
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

  async #tell(row) {
    const asked = ++this.#asked;
    const headers = await this.#model.headers(row);
    if (asked !== this.#asked || row !== this.#row) return;
    if (headers.length === 0) return;
    const lines = headers.map(([name, value]) => `${name}: ${value}`).join("\n");
    this.#headers.replaceChildren(h("p", {}, "An HTTP caller would get"), h("pre", {}, lines));
  }
}

const NO_LIMIT = 255; // of what no limit has decided

const sentence = (text) => text[0].toUpperCase() + text.slice(1);

const rules = (code) => (code === 1 || code === 6 ? "Tightest limit" : "Limit that refused");

function ruleOf(policy, index) {
  const limit = policy.limits[index];
  return limit === undefined ? "an ordered pause" : nameOfLimit(limit);
}

/** The shape of an outcome as a small picture. */
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
