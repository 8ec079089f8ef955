// The controls: run, pause, step, speed, seed and the visible time range.
import { button, h, newId } from "./dom.mjs";
import { field } from "./field.mjs";
import { moment } from "./format.mjs";
import { SPEEDS } from "./playback.mjs";

export class Transport {
  #seed = h("div", {});
  #run;
  #stop;
  #play;
  #after;
  #clock = h("span", { class: "clock" }, "");
  #progress = h("progress", {
    max: 1,
    value: 0,
    "aria-label": "Progress of the simulation",
    hidden: true,
  });
  #stale = h("span", { class: "stale", hidden: true }, "Edited since this run");

  /** `does`: `{ run, stop, play, step, end, speed(value), zoom(factor), shift(part), all }` */
  constructor(place, does) {
    this.#run = button("Run", does.run, { class: "primary", "aria-keyshortcuts": "Control+Enter" });
    this.#stop = button("Stop", does.stop, { hidden: true });
    this.#play = button("Play", does.play);
    const step = button("Step", does.step, { title: "To the next decision" });
    const end = button("To the end", does.end);
    const speed = newId("speed");
    const choice = h(
      "select",
      { id: speed, onchange: () => does.speed(choice.value) },
      Object.entries(SPEEDS).map(([value, name]) => h("option", { value }, name)),
    );
    choice.value = "fit";
    const zoom = [
      button("−", () => does.zoom(2), { class: "icon", "aria-label": "Show more time" }),
      button("+", () => does.zoom(0.5), { class: "icon", "aria-label": "Show less time" }),
      button("◀", () => does.shift(-0.5), { class: "icon", "aria-label": "Show earlier" }),
      button("▶", () => does.shift(0.5), { class: "icon", "aria-label": "Show later" }),
      button("All", does.all, { "aria-label": "Show the whole time range" }),
    ];
    this.#after = [this.#play, step, end, choice, ...zoom];
    place.append(
      h("div", { class: "buttons" }, this.#run, this.#stop, this.#seed, this.#stale),
      h("div", { class: "buttons" }, this.#play, step, end),
      h("div", { class: "field inline" }, h("label", { for: speed }, "Speed"), choice),
      h("div", { class: "buttons tight", role: "group", "aria-label": "Visible time range" }, zoom),
      this.#clock,
      this.#progress,
    );
    this.enable(false);
  }

  seed(draft, changed) {
    const input = field({ path: "seed", label: "Seed", source: draft, key: "seed", changed });
    input.classList.add("inline");
    this.#seed.replaceChildren(input);
  }

  enable(isReady) {
    for (const control of this.#after) control.disabled = !isReady;
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

  moved(now, end, isPlaying) {
    const label = isPlaying ? "Pause" : "Play";
    if (this.#play.textContent !== label) this.#play.textContent = label;
    this.#clock.textContent = `${moment(Math.round(now))} of ${moment(Math.round(end))}`;
  }
}
