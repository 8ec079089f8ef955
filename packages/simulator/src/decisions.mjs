// The table of all decisions of one policy, in pages.
import { button, h, newId } from "./dom.mjs";
import { duration, moment, number } from "./format.mjs";
import { OUTCOMES } from "./outcomes.mjs";
import { LETTERS } from "./policy-editor.mjs";
import { nameOfLimit } from "./scenario.mjs";
import { remainingOf } from "./summary.mjs";

const PAGE = 25;
const HEAD = [
  "No.",
  "Time",
  "Call",
  "Client",
  "Attempt",
  "Outcome",
  "Limit",
  "Remaining",
  "Waited",
  "Retry after",
];

export class DecisionsTable {
  #results;
  #policies;
  #policy = 0;
  #page = 0;
  #body = h("tbody", {});
  #where = h("span", { class: "where" });
  #caption = h("caption", { class: "hidden" });
  #first;
  #before;
  #after;
  #last;

  constructor(results, policies) {
    this.#results = results;
    this.#policies = policies;
    const go = (page) => () => this.#show(page());
    this.#first = button(
      "⏮",
      go(() => 0),
      { class: "icon", "aria-label": "First page" },
    );
    this.#before = button(
      "◀",
      go(() => this.#page - 1),
      { class: "icon", "aria-label": "Previous page" },
    );
    this.#after = button(
      "▶",
      go(() => this.#page + 1),
      { class: "icon", "aria-label": "Next page" },
    );
    this.#last = button(
      "⏭",
      go(() => this.#pages - 1),
      { class: "icon", "aria-label": "Last page" },
    );
    const id = newId("decisions");
    const options = results.map(({ totals }, i) =>
      h("option", { value: i }, `${LETTERS[i]} ${totals.name}`),
    );
    const choice = h(
      "select",
      {
        id,
        onchange: (event) => {
          this.#policy = Number(event.target.value);
          this.#show(0);
        },
      },
      options,
    );
    const head = h(
      "tr",
      {},
      HEAD.map((name) => h("th", { scope: "col" }, name)),
    );
    this.element = h(
      "div",
      {},
      h(
        "div",
        { class: "bar" },
        h("div", { class: "field" }, h("label", { for: id }, "Policy"), choice),
        h(
          "div",
          { class: "buttons" },
          this.#first,
          this.#before,
          this.#where,
          this.#after,
          this.#last,
        ),
      ),
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of decisions" },
        h("table", { class: "decisions" }, this.#caption, h("thead", {}, head), this.#body),
      ),
    );
    this.#show(0);
  }

  get #pages() {
    return Math.max(1, Math.ceil(this.#results[this.#policy].columns.at.length / PAGE));
  }

  #show(page) {
    const { columns: c, totals } = this.#results[this.#policy];
    const all = c.at.length;
    this.#page = Math.min(Math.max(0, page), this.#pages - 1);
    const from = this.#page * PAGE;
    const to = Math.min(all, from + PAGE);
    this.#caption.textContent = `Decisions of ${totals.name}`;
    this.#where.textContent =
      all === 0 ? "none" : `${number(from + 1)}–${number(to)} of ${number(all)}`;
    this.#first.disabled = this.#before.disabled = this.#page === 0;
    this.#last.disabled = this.#after.disabled = this.#page === this.#pages - 1;
    const rows = [];
    for (let row = from; row < to; row++) rows.push(this.#row(c, row));
    this.#body.replaceChildren(...rows);
  }

  #row(c, row) {
    const policy = this.#policies[this.#policy];
    const limit = policy.limits[c.limit[row]];
    const granted = c.outcome[row] === 1;
    const cells = [
      moment(c.at[row]),
      number(c.job[row] + 1),
      c.client[row],
      number(c.attempt[row] + 1),
      OUTCOMES[c.outcome[row]].name,
      nameOf(c.limit[row], limit),
      number(remainingOf(policy, c, row)?.after),
      duration(c.wait[row]),
      granted ? "–" : duration(c.retryAfter[row]),
    ];
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, number(row + 1)),
      cells.map((cell) => h("td", {}, cell)),
    );
  }
}

const nameOf = (index, limit) => {
  if (limit !== undefined) return nameOfLimit(limit);
  return index === 255 ? "–" : "pause";
};
