// Checked by the compiler, never run.
import {
  type Admission,
  type Decision,
  type GateDecision,
  type Limiter,
  OverLimitError,
  Paddlegate,
  type RuntimeState,
} from "paddlegate";

/** Fails to compile unless A and B are the same type; `any` is the same as nothing else. */
type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_same: Same<A, B>) => {};

const pg = new Paddlegate();
const gate = pg.invantiveGate({ RateLimitControlList: [] });
const signal = AbortSignal.timeout(1);
const decision = gate.admit({ url: "https://x", logOnCode: "ann", signal });
same<typeof decision, Promise<GateDecision>>(true);
const within = gate.withinLimit({ context: "report" }, ({ delayMs }) => delayMs);
same<typeof within, Promise<number>>(true);
gate.withinLimit(async () => 1);
// @ts-expect-error: no fact
gate.admit({ log_on_code: "ann" });

const run = pg.conductorLimiter({ name: "w" }, "{}", {
  lockTimeoutMs: 1,
  onUnavailable: "fail_open",
});
same<typeof run, Limiter>(true);
const batch = run.admitAll(["a", "b"], { onLimit: "drop", partial: true, signal });
same<typeof batch, Promise<Admission[]>>(true);
// @ts-expect-error: its jobs cost one unit each
run.admitAll(["a"], { cost: 2 });
const runtimeState = run.applyOjsOverride({ concurrency: 5 }, { signal });
same<typeof runtimeState, Promise<RuntimeState>>(true);
const isSignal = run.applyOjsSignal('{"type": "rate_limited"}');
same<typeof isSignal, Promise<boolean>>(true);

try {
  await within;
} catch (error) {
  if (error instanceof OverLimitError) same<typeof error.decision, Decision | GateDecision>(true);
}
