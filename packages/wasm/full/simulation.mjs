// The simulator around the generated module of one platform; a part of more.mjs.

export default function simulation({ Simulation: Native, columnNames }, host) {
  return class Simulation {
    #native;

    constructor(scenario, policy = 0) {
      const fields = flatten(scenario, "", new Map(), host);
      this.#native = new Native(host, [...fields].flat(), policy);
    }

    run(decisions = Number.MAX_SAFE_INTEGER) {
      return this.#native.run(decisions);
    }

    get progress() {
      return this.#native.progress();
    }

    get rows() {
      return this.#native.rows();
    }

    columns(from = 0) {
      const names = columnNames().split(",");
      const columns = {};
      names.forEach((name, index) => {
        const numbers = this.#native.column(index, from);
        columns[name] = name in NARROW ? new NARROW[name](numbers) : numbers;
      });
      const limits = Array.from({ length: this.#native.limits() }, (_, i) => names.length + i);
      columns.levels = limits.map((index) => this.#native.column(index, from));
      return columns;
    }

    overTime() {
      const [at, queue, held, ...levels] = Array.from(
        { length: 3 + this.#native.limits() },
        (_, i) => this.#native.overTime(i),
      );
      return { at, queue, held, levels };
    }

    totals() {
      return JSON.parse(this.#native.totals());
    }

    totalsText() {
      return this.#native.totals();
    }

    headers(row) {
      const flat = this.#native.headers(row);
      return flat.filter((_, i) => i % 2 === 0).map((name, i) => [name, flat[2 * i + 1]]);
    }

    withoutTimeline() {
      this.#native = this.#native.withoutTimeline();
      return this;
    }

    free() {
      this.#native.free();
    }
  };
}

const NARROW = {
  job: Uint32Array,
  client: Uint16Array,
  attempt: Uint16Array,
  outcome: Uint8Array,
  limit: Uint8Array,
};

// Deeper than any scenario: a scenario that contains itself is an error, not a stack overflow.
const DEEPEST = 8;

function flatten(value, path, fields, host, depth = 0) {
  if (value === null || value === undefined) return fields;
  if (typeof value !== "object") return fields.set(path, value);
  if (depth > DEEPEST) throw host.invalid(`at $.${path}: is too deep`, "scenario");
  for (const [name, member] of Object.entries(value)) {
    const dot = path === "" ? "" : ".";
    const next = Array.isArray(value) ? `${path}[${name}]` : `${path}${dot}${name}`;
    flatten(member, next, fields, host, depth + 1);
  }
  return fields;
}
