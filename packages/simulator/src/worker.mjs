// The core in a worker. Each request is `{ id, operation, ... }`. The response is `{ id, result }` or
// `{ id, error }`; `{ id, progress }` messages may precede it.
import init, { limitersFromDocument, Simulation } from "../wasm/full/web.mjs";
import { csvOf } from "./csv.mjs";
import { burstOf, callsOf } from "./series.mjs";

const CHUNK = 5000;
const initialized = init();
const simulations = new Map(); // the simulations of each run that may be shown
let wanted = 0; // the last requested run; others stop

const operations = {
  document: ({ text }) => [limitersFromDocument(text)],

  /** Returns the errors of a scenario: the first of each policy, and the first of the rest. */
  check: ({ scenario }) => {
    const found = scenario.policies.map((policy, index) =>
      wrongWith({ ...scenario, policies: [policy] }, index),
    );
    const { events: _, ...others } = scenario;
    found.push(wrongWith({ ...others, policies: [ANY] }, 0));
    // A cost by label may be of another policy: that it is of one is known from all of them.
    const own = found.filter((error) => error && !UNKNOWN_LABEL.test(error.message));
    if (own.length === 0) own.push(wrongWith(scenario, 0));
    const errors = new Map(own.filter(Boolean).map((error) => [error.argument, error]));
    return [[...errors.values()]];
  },

  async run({ id, scenario }) {
    wanted = id;
    const made = [];
    try {
      for (const index of scenario.policies.keys()) made.push(new Simulation(scenario, index));
      const results = [];
      for (const [index, simulation] of made.entries()) {
        while (simulation.run(CHUNK)) {
          const done = (index + simulation.progress) / made.length;
          postMessage({ id, progress: { done, decisions: simulation.rows } });
          await pause();
          if (wanted !== id) return [null];
        }
        const [columns, totals] = [simulation.columns(), simulation.totals()];
        results.push({
          columns,
          overTime: simulation.overTime(),
          calls: callsOf(columns),
          burst: burstOf(columns, totals.largest_burst.interval_us / 1000),
          totals,
          totalsText: simulation.totalsText(),
        });
      }
      simulations.set(id, made);
      return [
        { run: id, results },
        results.flatMap(({ columns, overTime }) => [...buffersOf(columns), ...buffersOf(overTime)]),
      ];
    } finally {
      if (!simulations.has(id)) freeAll(made);
    }
  },

  stop: () => {
    wanted = 0;
    return [null];
  },

  free: ({ run }) => {
    freeAll(simulations.get(run) ?? []);
    simulations.delete(run);
    return [null];
  },

  headers: ({ run, policy, row }) => [simulations.get(run)?.[policy].headers(row) ?? []],

  csv: ({ run, names }) => {
    if (!simulations.has(run)) throw new Error("this run is no longer shown");
    return [csvOf(names, simulations.get(run))];
  },
};

function freeAll(simulations) {
  for (const simulation of simulations) simulation.free();
}

const UNKNOWN_LABEL = /^names a label that no policy has/;
const ANY = { limits: [{ kind: "unlimited" }] };

function wrongWith(scenario, index) {
  try {
    new Simulation(scenario, 0).free();
    return null;
  } catch (error) {
    const { argument, message } = toValidationError(error);
    return { argument: argument.replace(/^policies\[0\]/, `policies[${index}]`), message };
  }
}

// Yields to incoming messages, such as `stop`. Nested timers would add a delay each time.
const { port1, port2 } = new MessageChannel();
const pause = () =>
  new Promise((resolve) => {
    port1.onmessage = resolve;
    port2.postMessage(null);
  });

const buffersOf = ({ levels, ...columns }) =>
  [...Object.values(columns), ...levels].map((column) => column.buffer);

// The messages of the core begin with the path: "at $.arrivals.count: is missing".
function toValidationError(error) {
  const message = error?.message ?? String(error);
  const argument = error?.argument ?? "";
  const [, path, rest] = /^at \$\.([^:\s]+): (.*)$/s.exec(message) ?? [];
  if (path === undefined || argument === "document") return { argument, message };
  return { argument: argument === "" || argument === "scenario" ? path : argument, message: rest };
}

self.onmessage = async ({ data }) => {
  const { id, operation } = data;
  try {
    await initialized.catch((error) => {
      throw new Error(`The simulator could not be loaded: ${error.message}`);
    });
    const [result, transfer] = await operations[operation](data);
    postMessage({ id, result }, transfer ?? []);
  } catch (error) {
    postMessage({ id, error: toValidationError(error) });
  }
};
