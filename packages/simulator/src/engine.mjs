// The worker as promises.

/** What the core says is wrong: `argument` is the place, such as `policies[0].limits[1].interval`. */
export class Fault extends Error {
  constructor({ argument, message }) {
    super(message);
    this.argument = argument;
  }
}

export class Engine {
  #worker = new Worker(new URL("worker.mjs", import.meta.url), { type: "module" });
  #asked = new Map();
  #last = 0;

  constructor() {
    this.#worker.onmessage = ({ data: { id, result, fault, progress } }) => {
      const asked = this.#asked.get(id);
      if (progress !== undefined) {
        asked?.onProgress?.(progress);
        return;
      }
      this.#asked.delete(id);
      if (fault === undefined) asked?.resolve(result);
      else asked?.reject(new Fault(fault));
    };
    this.#worker.onerror = (event) => {
      const message = `the simulator could not be loaded: ${event.message ?? "no worker"}`;
      for (const { reject } of this.#asked.values()) reject(new Fault({ argument: "", message }));
      this.#asked.clear();
    };
  }

  /** `{ format, policies }` of a document of any dialect. */
  document = (text) => this.#ask("document", { text });
  /** The faults of a scenario. */
  check = (scenario) => this.#ask("check", { scenario });
  /**
   * `{ run, results: [{ columns, totals, totalsText }] }`, by policy; null when it was stopped or another
   * run was asked for meanwhile. `headers` and `csv` are of a `run`, until `free`.
   */
  run = (scenario, onProgress) => this.#ask("run", { scenario }, onProgress);
  stop = () => this.#ask("stop", {}).catch(() => {}); // told by the run
  free = (run) => this.#ask("free", { run }).catch(() => {});
  headers = (run, policy, row) => this.#ask("headers", { run, policy, row });
  csv = (run, names) => this.#ask("csv", { run, names });

  #ask(ask, asked, onProgress) {
    return new Promise((resolve, reject) => {
      const id = ++this.#last;
      this.#asked.set(id, { resolve, reject, onProgress });
      this.#worker.postMessage({ id, ask, ...asked });
    });
  }
}
