// The buttons for a run, and for the visible time range.
import { button, h } from "./dom.mjs";

export class Controls {
  #run;
  #stop;
  #moment;
  #ranges;
  #progress = h("progress", {
    max: 1,
    value: 0,
    "aria-label": "Progress of the simulation",
    hidden: true,
  });
  #stale = h("span", { class: "stale", hidden: true }, "Edited since this run");

  /** `does`: `{ run, stop, zoom(factor), shift(part), all, moment }` */
  constructor(place, range, does) {
    this.#run = button("Run", does.run, { class: "primary", "aria-keyshortcuts": "Control+Enter" });
    this.#stop = button("Stop", does.stop, { hidden: true });
    this.#moment = button("", does.moment, { hidden: true });
    this.#ranges = [
      this.#moment,
      button("All", does.all, { "aria-label": "Show the whole time range" }),
      button("−", () => does.zoom(2), { class: "icon", "aria-label": "Show more time" }),
      button("+", () => does.zoom(0.5), { class: "icon", "aria-label": "Show less time" }),
      button("◀", () => does.shift(-0.5), { class: "icon", "aria-label": "Show earlier" }),
      button("▶", () => does.shift(0.5), { class: "icon", "aria-label": "Show later" }),
    ];
    place.append(this.#run, this.#stop, this.#stale, this.#progress);
    range.append(...this.#ranges);
    for (const control of this.#ranges) control.disabled = true;
  }

  /** Enables the time range; `moment` is the name of what the scenario shows, or "". */
  enable(moment) {
    for (const control of this.#ranges) control.disabled = false;
    this.#moment.hidden = moment === "";
    this.#moment.textContent = moment;
  }

  focus() {
    this.#run.focus();
  }

  computing(isOn) {
    if (!isOn && document.activeElement === this.#stop) this.focus();
    this.#stop.hidden = !isOn;
    this.#progress.hidden = !isOn;
    this.#progress.value = 0;
  }

  progress(done) {
    this.#progress.value = done;
  }

  stale(isStale) {
    this.#stale.hidden = !isStale;
  }
}
