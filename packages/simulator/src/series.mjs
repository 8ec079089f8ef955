// What the plots show of a timeline: steps as `{ at, values }`, each value from its time until the next.
import { rowAfter, rowsOfLines } from "./decimate.mjs";

function steps() {
  const [at, values] = [[], []];
  return {
    push(time, value) {
      if (at.at(-1) !== time) at.push(time);
      values[at.length - 1] = value;
    },
    end: () => ({ at: Float64Array.from(at), values: Float64Array.from(values) }),
  };
}

/** Returns the calls that have arrived, and those that are granted: neither lost nor refused by the upstream later. */
export function callsOf({ at, job, outcome, wait }) {
  let last = -1;
  for (const index of job) if (index > last) last = index;
  const states = new Uint8Array(last + 1); // 0: has not called, 1: has called, 2: is granted
  const times = [];
  const granted = steps();
  let count = 0;
  for (let row = 0; row < at.length; row++) {
    const before = states[job[row]];
    if (before === 0) times.push(at[row] - wait[row]);
    const now = outcome[row] === 1 ? 2 : 1;
    states[job[row]] = now;
    count += Number(now === 2) - Number(before === 2);
    if ((now === 2) !== (before === 2)) granted.push(at[row], count);
  }
  const arrived = steps();
  Float64Array.from(times)
    .sort()
    .forEach((time, i) => {
      arrived.push(time, i + 1);
    });
  return { arrived: arrived.end(), granted: granted.end() };
}

/** Returns the number of calls that were granted within the last `interval`. */
export function burstOf({ at, outcome }, interval) {
  const grants = at.filter((_, row) => outcome[row] === 1);
  const burst = steps();
  let [come, gone] = [0, 0];
  while (gone < grants.length) {
    const next = Math.min(grants[come] ?? Number.POSITIVE_INFINITY, grants[gone] + interval);
    while (grants[gone] + interval <= next) gone += 1;
    while (grants[come] <= next) come += 1;
    burst.push(next, come - gone);
  }
  return burst.end();
}

/** Returns the value at a time; `first` before the first. */
export function valueAt({ at, values }, time, first = 0) {
  const after = rowAfter(at, time);
  return after === 0 ? first : values[after - 1];
}

/** Returns the part of steps between two times that `bins` pixels can show, from the first time to the second. */
export function partOf(steps, from, to, bins) {
  const { at, values } = steps;
  const [times, drawn] = [[from], [valueAt(steps, from, steps.first)]];
  for (const row of rowsOfLines(at, [values], from, to, bins)) {
    if (at[row] <= from || at[row] > to) continue;
    times.push(at[row]);
    drawn.push(values[row]);
  }
  if (times.at(-1) < to) {
    times.push(to);
    drawn.push(drawn.at(-1));
  }
  return [times, drawn];
}
