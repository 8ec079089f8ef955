// Compiled only: what users of the larger module may write, and what the compiler must refuse.
import * as small from "paddlegate-wasm";
import {
  type Admission,
  type Columns,
  type Gate,
  type GateDecision,
  graphqlCost,
  type Learned,
  type Limiter,
  limitersFromDocument,
  Paddlegate,
  type Permit,
  type Policies,
  type Scenario,
  Simulation,
  type Skipped,
  type Totals,
} from "paddlegate-wasm/full";
import init, { type Paddlegate as WebPaddlegate } from "paddlegate-wasm/full/web";

/** Fails to compile unless A and B are the same type; `any` is the same as nothing else. */
type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_same: Same<A, B>) => {};

await init();
same<typeof WebPaddlegate, typeof Paddlegate>(true);

const pg = new Paddlegate();
const shop = pg.points("shop", 1000, 20);
same<typeof shop, Limiter>(true);
const permit: Permit = await shop.acquire({ estimate: graphqlCost("{ shop { name } }") });
const response = await fetch("https://example.com");
same<ReturnType<typeof permit.learnFromResponse>, Learned>(true);
permit.learnFromResponse(response, { provider: "shopify", maxPauseMs: 1000 });
shop.learnFromResponse({ status: 429, headers: { "Retry-After": 30 } }, { permit: null });
shop.learnFromResponse({ headers: new Map([["a", "b"]]), body: new Uint8Array() });
graphqlCost("{ a }", { n: 1 }, { rules: "github", operation: "A" }) satisfies number;
// @ts-expect-error: no such rules
graphqlCost("{ a }", {}, { rules: "linear" });
// @ts-expect-error: of another provider
shop.learnFromResponse(response, { provider: "amazon" });
// @ts-expect-error: not in the small module
new small.Paddlegate().points("shop", 1000, 20).learnFromResponse(response);

const quiet = pg.concurrent("erp", 1, { onLimit: "ignore" });
same<typeof quiet, Limiter<Skipped>>(true);
const value = await quiet.withinLimit((held) => held.learnFromResponse(response));
same<typeof value, Learned | Skipped>(true);
same<ReturnType<typeof pg.together>, Limiter>(true);
pg.together([shop, quiet], { waitTimeoutMs: 5 }).admit("job").permit?.learnFromResponse(response);
const admission: Admission = quiet.admit("job", { onLimit: "drop", cost: 1 });
quiet.admit("job", { estimate: { tpm: 900 } }).permit?.correct({ tpm: 500 });
admission.permit?.release() satisfies string | undefined;
same<ReturnType<typeof quiet.admitAll>, Admission[]>(true);
quiet.admitAll(["a"], { partial: true }).length satisfies number;
// @ts-expect-error: its jobs cost one unit each
quiet.admitAll(["a"], { cost: 2 });
quiet.applyOjsOverride({ concurrency: 5 }).version satisfies number;
quiet.applyOjsSignal('{"type": "rate_limited"}') satisfies boolean;

const loaded = pg.load("{}");
same<typeof loaded, Map<string, Limiter<Skipped>>>(true);
loaded.get("a")?.onLimit satisfies string | null | undefined;
const gate: Gate = pg.invantiveGate({ RateLimitControlList: [] });
const decision: GateDecision = gate.admit({ url: "https://x", logOnCode: "ann" });
decision.delayMs.toFixed();
// @ts-expect-error: no fact
gate.admit({ log_on_code: "ann" });
same<ReturnType<typeof pg.conductorLimiter>, Limiter>(true);
pg.conductorLimiter({ name: "w" }, "{}", { lockTimeoutMs: 1 });

const policies: Policies = limitersFromDocument("{}");
const scenario: Scenario = {
  policies: policies.policies.map(({ name, limits }) => ({ name, limits, retry: "linear" })),
  arrivals: { kind: "burst", count: 100, every: "2s", for: "4s" },
  cost: [1, 5],
  events: [{ at: "1s", do: "pause", for: "5s" }],
};
scenario satisfies Scenario;
({ ...scenario, cost: { tpm: [100, 900], rpm: 1 }, actual: { tpm: 50 } }) satisfies Scenario;
const simulation = new Simulation(scenario, 0).withoutTimeline();
same<typeof simulation, Simulation>(true);
simulation.run(1) satisfies boolean;
const columns: Columns = simulation.columns(5);
same<typeof columns.at, Float64Array>(true);
const totals: Totals = simulation.totals();
totals.granted.toFixed();
for (const [name, text] of simulation.headers(0)) `${name}: ${text}`;
// @ts-expect-error: nothing arrives
new Simulation({ policies: [] });
// @ts-expect-error: an object, not its text
new Simulation("{}");
