// A promise interface to the worker.

/** An error of the core: `argument` is the path, such as `policies[0].limits[1].interval`. */
export class ValidationError extends Error {
  constructor({ argument, message }) {
    super(message);
    this.argument = argument;
  }
}

export class Engine {
  #worker = new Worker(new URL("worker.mjs", import.meta.url), { type: "module" });
  #pending = new Map();
  #last = 0;

  constructor() {
    this.#worker.onmessage = ({ data: { id, result, error, progress } }) => {
      const pending = this.#pending.get(id);
      if (progress !== undefined) {
        pending?.onProgress?.(progress);
        return;
      }
      this.#pending.delete(id);
      if (error === undefined) pending?.resolve(result);
      else pending?.reject(new ValidationError(error));
    };
    this.#worker.onerror = (event) => {
      const message = `the simulator could not be loaded: ${event.message ?? "no worker"}`;
      for (const { reject } of this.#pending.values())
        reject(new ValidationError({ argument: "", message }));
      this.#pending.clear();
    };
  }

  /** Returns `{ format, policies }` of a document in any format. */
  document = (text) => this.#send("document", { text });
  /** Returns the errors of a scenario. */
  check = (scenario) => this.#send("check", { scenario });
  /**
   * Returns `{ run, results: [{ columns, overTime, calls, burst, totals, totalsText }] }` with one result per policy, or null if
   * the run was stopped or another run was started. `headers` and `csv` can read a `run` until `free`.
   */
  run = (scenario, onProgress) => this.#send("run", { scenario }, onProgress);
  stop = () => this.#send("stop", {}).catch(() => {}); // the run reports the error
  free = (run) => this.#send("free", { run }).catch(() => {});
  headers = (run, policy, row) => this.#send("headers", { run, policy, row });
  csv = (run, names) => this.#send("csv", { run, names });

  #send(operation, fields, onProgress) {
    return new Promise((resolve, reject) => {
      const id = ++this.#last;
      this.#pending.set(id, { resolve, reject, onProgress });
      this.#worker.postMessage({ id, operation, ...fields });
    });
  }
}
