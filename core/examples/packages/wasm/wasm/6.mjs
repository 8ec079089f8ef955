import { Simulation } from "paddlegate-wasm/full";

const scenario = {
  policies: [
    { name: "bucket", limits: [{ kind: "bucket", limit: 100, interval: "1m" }] },
    { name: "window", limits: [{ kind: "window", limit: 100, interval: "1m" }] },
  ],
  // A hundred calls at 59 s, and a hundred at 61 s.
  arrivals: { kind: "burst", count: 100, every: "2s", for: "4s", from: "59s" },
};
const granted = scenario.policies.map((_, policy) => {
  const simulation = new Simulation(scenario, policy);
  simulation.run(); // run(10_000) goes on for so many decisions, and is true while there is more to do
  return simulation.totals().granted;
});
console.log(granted.join()); // 200,100: a bucket lets twice its limit pass around the end of a minute
