// Lets a reference and ours take turns, as measure.py does.
const ROUNDS = Number(process.env.BENCH_ROUNDS);
const SECONDS = Number(process.env.BENCH_SECONDS);

// From seconds per call.
const UNITS = {
  ns: (seconds) => seconds * 1e9,
  us: (seconds) => seconds * 1e6,
  "k/s": (seconds) => 1e-3 / seconds,
};

/** Measures the time of a call; a contestant is a function that makes so many calls. */
export async function compare(name, variant, unit, reference, ours) {
  const calls = [await callsPerRound(reference), await callsPerRound(ours)];
  for (let round = 0; round < ROUNDS; round++) {
    const line = { case: name, variant, placement: process.env.BENCH_PLACEMENT };
    line.reference = UNITS[unit](await turn(reference, calls[0]));
    line.ours = UNITS[unit](await turn(ours, calls[1]));
    console.log(JSON.stringify({ ...line, unit }));
  }
}

/** Chooses the fastest of [name, contestant], so that the reference competes at its best. */
export async function fastest(forms) {
  const times = [];
  for (const [name, form] of forms) {
    const calls = await callsPerRound(form);
    let best = Infinity;
    for (let i = 0; i < 3; i++) best = Math.min(best, await turn(form, calls));
    times.push({ name, form, best });
  }
  const shown = times.map(({ name, best }) => `${name} ${(best * 1e6).toFixed(1)} us`).join(", ");
  times.sort((a, b) => a.best - b.best);
  console.error(`       the reference is ${times[0].name} (${shown})`);
  return times[0].form;
}

/** Seconds of one call. */
async function turn(side, calls) {
  const start = process.hrtime.bigint();
  await side(calls);
  return Number(process.hrtime.bigint() - start) / 1e9 / calls;
}

async function callsPerRound(side) {
  await side(64); // Connects and loads the script.
  let calls = 64;
  while ((await turn(side, calls)) * calls < SECONDS * 0.7) calls *= 2;
  return calls;
}
