// The plot of all decisions as marks: lane, colour and shape show the outcome, the size shows the number.
import { marksOf, rowAt } from "./decimate.mjs";
import { colourOf, LANES, mark, OUTCOMES } from "./outcomes.mjs";
import { show, styleNow, timePlot, valueAxis } from "./plot.mjs";
import { drawEvents, shade } from "./windows.mjs";

const LANE = 26;
const SLICE = 9; // the width of one mark in pixels

export class OutcomePlot {
  #plot;
  #columns;
  #lanes;
  #width;
  #rows = new Uint32Array();
  #counts = new Uint32Array();

  /** `model`: `{ columns, lanes, shading, events, chosenAt(), hooks }` */
  constructor(place, width, model) {
    this.#columns = model.columns;
    this.#lanes = model.lanes;
    this.#width = width;
    const { lanes } = this;
    this.#plot = timePlot(place, {
      width,
      height: lanes.length * LANE + 52,
      series: lanes.map(() => ({ points: { show: false }, paths: () => null })),
      axes: (left) => [
        valueAxis(left, {
          grid: { show: false },
          splits: () => lanes.map((_, i) => i),
          values: () => lanes.map((code) => OUTCOMES[code].lane),
          space: 1,
        }),
      ],
      scales: { y: { range: [-0.6, lanes.length - 0.4], dir: -1 } },
      padding: (right) => [18, right, 0, 0],
      hooks: {
        ...model.hooks,
        under: (u) => shade(u, model.shading, model.chosenAt()),
        over: (u) => {
          drawEvents(u, model.events, true);
          this.#draw(u);
        },
        hover: (ms, top) => model.hooks.hover(this.#rowNear(ms, top)),
      },
      data: [[], ...lanes.map(() => [])],
    });
  }

  /** The codes of the outcomes with a lane, from the top. */
  get lanes() {
    return LANES.filter((code) => this.#lanes.has(code));
  }

  get plot() {
    return this.#plot;
  }

  /** The drawn marks: their rows in the timeline, and the number of decisions of each. */
  get drawn() {
    return { rows: this.#rows, counts: this.#counts, data: this.#plot.data };
  }

  draw(from, to, now) {
    const { at, outcome } = this.#columns;
    const bins = Math.max(20, Math.floor(this.#width / SLICE));
    const { rows, counts } = marksOf(at, outcome, from, Math.min(to, now), bins);
    this.#rows = rows;
    this.#counts = counts;
    const lanes = this.lanes;
    const times = Array.from(rows, (row) => at[row]);
    const series = lanes.map((code, lane) =>
      Array.from(rows, (row) => (outcome[row] === code ? lane : null)),
    );
    show(this.#plot, [times, ...series], from, to);
  }

  #draw(u) {
    const { ctx } = u;
    const style = styleNow();
    const ratio = devicePixelRatio;
    const lanes = this.lanes;
    ctx.save();
    ctx.lineWidth = 1.6 * ratio;
    lanes.forEach((code, lane) => {
      const outcome = OUTCOMES[code];
      ctx.fillStyle = ctx.strokeStyle = colourOf(style, outcome);
      const y = u.valToPos(lane, "y", true);
      for (let i = 0; i < this.#rows.length; i++) {
        if (u.data[lane + 1][i] === null) continue;
        const r = Math.min(7, 2.6 + Math.log10(this.#counts[i]) * 1.7) * ratio;
        mark(ctx, outcome.shape, u.valToPos(u.data[0][i], "x", true), y, r);
      }
    });
    ctx.restore();
  }

  // Returns the decision nearest to the pointer in its lane, or, if none is near, in any lane.
  #rowNear(ms, top) {
    const { at, outcome } = this.#columns;
    if (at.length === 0) return -1;
    const code = this.lanes[Math.round(this.#plot.posToVal(top, "y"))];
    const reach = (this.#plot.scales.x.max - this.#plot.scales.x.min) * 0.02;
    const middle = rowAt(at, ms);
    let best = -1;
    for (const [from, to, step] of [
      [middle, Math.min(at.length, middle + 2000), 1],
      [middle - 1, Math.max(-1, middle - 2000), -1],
    ]) {
      for (let row = from; row !== to && Math.abs(at[row] - ms) <= reach; row += step) {
        if (outcome[row] !== code) continue;
        if (best < 0 || Math.abs(at[row] - ms) < Math.abs(at[best] - ms)) best = row;
        break;
      }
    }
    return best < 0 ? nearest(at, ms) : best;
  }
}

export function nearest(at, ms) {
  const after = rowAt(at, ms);
  if (after === 0) return at.length === 0 ? -1 : 0;
  if (after === at.length) return after - 1;
  return ms - at[after - 1] <= at[after] - ms ? after - 1 : after;
}
