// The core, off the main thread. Each message is `{ id, ask, ... }`; it is answered by `{ id, result }`
// or `{ id, fault }`, and before that maybe by `{ id, progress }`.
import init, { limitersFromDocument, Simulation } from "../wasm/full/web.mjs";
import { csvOf } from "./csv.mjs";

const CHUNK = 5000;
const ready = init();
const kept = new Map(); // the simulations of each run that may be shown
let wanted = 0; // the run that is asked for last; others stop

const answers = {
  document: ({ text }) => [limitersFromDocument(text)],

  /** What is wrong with a scenario: of each policy and of all else the first. */
  check: ({ scenario }) => {
    const found = scenario.policies.map((policy, index) =>
      wrongWith({ ...scenario, policies: [policy] }, index),
    );
    const { events: _, ...others } = scenario;
    found.push(wrongWith({ ...others, policies: [ANY] }, 0));
    const faults = new Map(found.filter(Boolean).map((fault) => [fault.argument, fault]));
    return [[...faults.values()]];
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
        results.push({
          columns: simulation.columns(),
          totals: simulation.totals(),
          totalsText: simulation.totalsText(),
        });
      }
      kept.set(id, made);
      return [{ run: id, results }, results.flatMap(({ columns }) => buffersOf(columns))];
    } finally {
      if (!kept.has(id)) freeAll(made);
    }
  },

  stop: () => {
    wanted = 0;
    return [null];
  },

  free: ({ run }) => {
    freeAll(kept.get(run) ?? []);
    kept.delete(run);
    return [null];
  },

  headers: ({ run, policy, row }) => [kept.get(run)?.[policy].headers(row) ?? []],

  csv: ({ run, names }) => {
    if (!kept.has(run)) throw new Error("this run is not shown any more");
    return [csvOf(names, kept.get(run))];
  },
};

function freeAll(simulations) {
  for (const simulation of simulations) simulation.free();
}

const ANY = { limits: [{ kind: "unlimited" }] };

function wrongWith(scenario, index) {
  try {
    new Simulation(scenario, 0).free();
    return null;
  } catch (error) {
    const { argument, message } = faultOf(error);
    return { argument: argument.replace(/^policies\[0\]/, `policies[${index}]`), message };
  }
}

// Lets messages in, such as the one to stop. (Timers would wait longer each time.)
const { port1, port2 } = new MessageChannel();
const pause = () =>
  new Promise((resolve) => {
    port1.onmessage = resolve;
    port2.postMessage(null);
  });

const buffersOf = ({ levels, ...columns }) =>
  [...Object.values(columns), ...levels].map((column) => column.buffer);

// The core begins its messages with the place: "at $.arrivals.count: is missing".
function faultOf(error) {
  const message = error?.message ?? String(error);
  const argument = error?.argument ?? "";
  const [, path, rest] = /^at \$\.([^:\s]+): (.*)$/s.exec(message) ?? [];
  if (path === undefined || argument === "document") return { argument, message };
  return { argument: argument === "" || argument === "scenario" ? path : argument, message: rest };
}

self.onmessage = async ({ data }) => {
  const { id, ask } = data;
  try {
    await ready.catch((error) => {
      throw new Error(`The simulator could not be loaded: ${error.message}`);
    });
    const [result, transfer] = await answers[ask](data);
    postMessage({ id, result }, transfer ?? []);
  } catch (error) {
    postMessage({ id, fault: faultOf(error) });
  }
};
