// The virtual clock that plays back a finished simulation.

/** The virtual time per second; "fit": all of it in five seconds, "max": immediately. */
export const SPEEDS = {
  fit: "All in 5 s",
  1: "1×",
  10: "10×",
  60: "60×: one minute per second",
  600: "600×",
  3600: "3,600×: one hour per second",
  max: "Max: immediately",
};

export class Playback {
  #end = 0;
  #moved;
  #frame = 0;
  now = 0;
  speed = "fit";

  /** Calls `moved(now, isPlaying)` after every change. */
  constructor(moved) {
    this.#moved = moved;
  }

  get isPlaying() {
    return this.#frame !== 0;
  }

  get isAtEnd() {
    return this.now >= this.#end;
  }

  /** Starts with a new result: plays it from the start, or shows its end. */
  begin(end, plays) {
    this.pause();
    this.#end = end;
    this.now = plays ? 0 : end;
    if (plays) this.play();
    else this.#moved(this.now, false);
  }

  play() {
    if (this.isPlaying) return;
    if (this.isAtEnd) this.now = 0;
    if (this.speed === "max") {
      this.to(this.#end);
      return;
    }
    let before = performance.now();
    let drawn = 0;
    const tick = (at) => {
      const passed = Math.max(0, at - before);
      const rate = this.speed === "fit" ? this.#end / 5000 : Number(this.speed);
      before = at;
      this.now = Math.min(this.#end, this.speed === "max" ? this.#end : this.now + passed * rate);
      this.#frame = this.isAtEnd ? 0 : requestAnimationFrame(tick);
      // Leaves at least half of the time for other work.
      if (this.isAtEnd || at - drawn > 2 * this.#cost) {
        drawn = at;
        const began = performance.now();
        this.#moved(this.now, this.isPlaying);
        this.#cost = Math.max(15, performance.now() - began);
      }
    };
    this.#frame = requestAnimationFrame(tick);
    this.#moved(this.now, true);
  }

  #cost = 15;

  pause() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#moved(this.now, false);
  }

  to(time) {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.now = Math.min(this.#end, Math.max(0, time));
    this.#moved(this.now, false);
  }
}

export const prefersStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
