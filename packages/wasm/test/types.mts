// Compiled only: what users may write, and what the compiler must refuse.

import {
  bucket,
  type Cost,
  concurrency,
  type Decision,
  InvalidError,
  type Limit,
  type Limiter,
  type LimitSettings,
  type Limits,
  leaky,
  Paddlegate,
  type Permit,
  points,
  quota,
  type Reason,
  type RuntimeState,
  SKIPPED,
  type Skipped,
  TestClock,
  throttle,
  window,
} from "paddlegate-wasm";
import fullWasm from "paddlegate-wasm/full/paddlegate.wasm";
import initFull from "paddlegate-wasm/full/web";
import wasm from "paddlegate-wasm/paddlegate.wasm";
import init, { Paddlegate as WebPaddlegate } from "paddlegate-wasm/web";

await init(new URL("https://example.com/paddlegate.wasm"));
new WebPaddlegate("memory://").unlimited();

const pg = new Paddlegate();
const shop: Limiter = pg.points("shop", 1000, 20);
const decision: Decision = shop.tryAcquire({ estimate: 200 });
if (decision.permit !== null) {
  const settlement: "settled" | "already" | "late" | "unknown" = shop.correct(decision.permit, 50);
  settlement satisfies string;
}
const wait: number = decision.retryAfterMs ?? Number.POSITIVE_INFINITY;
wait.toFixed();
pg.bucket("day", 10, "day", { offset: "PT2H" }).allow();
pg.limiter("both", { window: [100, 60], throttle: 0.1 }).peek({ cost: 0 });
pg.limiter("llm", { rpm: window(500, "minute"), tpm: points(150_000, 60), concurrency: 20 });
pg.limiter("a", { "per-day": bucket(5, "day", { offset: 1 }), throttle: leaky(1, 2) });
pg.limiter("b", [throttle(1, { limit: 3 }), concurrency(5, { lockTimeoutMs: 1000 })]);
declare const known: Limits;
pg.limiter<"ignore">("known", known);
window(1, 1) satisfies Limit;
const llm = pg.limiter("llm", { rpm: window(500, "minute"), tpm: points(150_000, 60) });
const cost: Cost = { tpm: 900 };
llm.allow({ cost }) satisfies boolean;
const estimated = llm.tryAcquire({ estimate: { tpm: 900, rpm: 2 } }).permit ?? "";
llm.correct(estimated, { tpm: 500 }) satisfies string;
llm.debit({ tpm: 50 }).remaining satisfies number | null;
llm.debit(5).reason satisfies Reason | null;
// @ts-expect-error: units are numbers
llm.debit({ tpm: "50" });
// @ts-expect-error: a map is no cost
llm.debit(new Map([["tpm", 50]]));
pg.limiter("list", [["window", 10, "second"], ["window", 100, "PT1M"], ["unlimited"]]);
const error: unknown = undefined;
if (error instanceof InvalidError) {
  error.code satisfies "INVALID";
  error.argument satisfies string | null;
}

// @ts-expect-error: not an interval
pg.leaky("x", 1, "week");
// @ts-expect-error: no capacity
pg.points("x");
// @ts-expect-error: a number is no request
shop.allow(5);
// @ts-expect-error: no such limit
pg.limiter("x", [["throttle", 1, 2, 3]]);
// @ts-expect-error: a label says no kind
pg.limiter("x", { rpm: [500, 60] });
// @ts-expect-error: a window has no options
window(1, 1, { offset: 1 });
// @ts-expect-error: decisions are frozen
decision.allowed = true;
// @ts-expect-error: the store has the clock
shop.allow({ atUs: 1 });
// @ts-expect-error: a misspelt option
shop.allow({ estimated: 5 });
// @ts-expect-error: only memory here
new Paddlegate("redis://localhost");

const grouped = pg.window("x", 1, 1, { group: "acme" });
grouped.group satisfies string | null;
const both: Limiter = pg.together([grouped, llm], { waitTimeoutMs: 5 });
const ignoring: Limiter<Skipped> = pg.together([both], { onLimit: "ignore" });
ignoring.tryAcquire({ cost: { llm: { tpm: 900 }, x: 3 } }).limiter satisfies string | null;
both.correct("id", { llm: { tpm: 900 } }) satisfies string;
pg.limiters()[0]?.group satisfies string | null | undefined;
// @ts-expect-error: labels have no labels
both.allow({ cost: { llm: { tpm: { tpm: 5 } } } });
// @ts-expect-error: limiters, not their names
pg.together(["x"]);
// @ts-expect-error: each limiter has its own
pg.together([grouped], { ttl: 5 });
const clock = new TestClock();
clock.nowUs += 5;
clock.advance("minute");
new Paddlegate("memory://", { clock }).unlimited();
const erp: Limiter = pg.concurrent("erp", 5, { lockTimeoutMs: 1000, waitTimeoutMs: 10 });
const permit: Permit = await erp.acquire({ signal: AbortSignal.timeout(5), id: "job" });
permit.correct({ tpm: 5 }) satisfies string;
permit.release() satisfies "released" | "late" | "unknown";
const skipped: number | Skipped = await pg
  .paused("never", { onLimit: "ignore" })
  .withinLimit(() => 7);
if (skipped === SKIPPED) skipped satisfies Skipped;
else skipped satisfies number;
erp.enqueue("job", { claimTimeoutMs: 5 }).position satisfies number | null;
const place = { priority: 9, share: "acme", weight: 2 };
erp.enqueue("job", place).wouldRefuse satisfies Reason | null;
await erp.acquire({ ...place, id: "job" });
// @ts-expect-error: it cannot queue
erp.allow(place);
pg.quota("tenant", 5, "month", { timezone: "+01:00", starts: "15" }).allow() satisfies boolean;
pg.limiter("usd", { usd: quota(5, "day"), quota: [5, "year", null, "04-06"] });
// @ts-expect-error: not a period of the calendar
pg.quota("tenant", 5, "hour");
const extended = permit.extend({ tpm: 5 });
extended satisfies Decision | "already" | "late" | "unknown";
shop.extend("permit", 5, { key: "acme" }) satisfies typeof extended;
pg.points("meter", 5, 5, { refund: "undrained" });
const blockAfter = { refusals: 100, withinMs: 60_000, forMs: 3_600_000 };
const login = pg.window("login", 5, "minute", { mode: "shadow", blockAfter, keyed: true });
login.block({ forMs: 5, key: "mallory" }).blockedForMs satisfies number | null;
login.override({ mode: "enforce", expiresInMs: 5 }).mode satisfies "enforce" | "shadow" | null;
login.restore({ mode: true });
login.stats().shadowRefused satisfies number;
erp.stats().immediate satisfies number;
erp.history().hours[0]?.start satisfies number | undefined;
erp.peek().degraded satisfies false;
permit.degraded satisfies false;
pg.limiters()[0]?.limits[0]?.kind satisfies string | undefined;
const ordered: RuntimeState = erp.pause({ until: new Date() });
ordered.overrides.rpm satisfies LimitSettings | undefined;
erp.override({ limit: 5, label: "concurrency", expiresInMs: 5 }).learned satisfies object;
erp.override({ limits: { rpm: window(50, 60), concurrency: 5 }, expiresInMs: 1000 });
erp.restore().version satisfies number;
erp.restore({ label: "rpm" }).version satisfies number;
erp.peek().label satisfies string | null;
// @ts-expect-error: a label says no kind here either
erp.override({ limits: { rpm: [500, 60] } });
// @ts-expect-error: limits have labels
erp.restore({ index: 0 });
erp.reportBudget({ remaining: 5, restoreRate: 50, resetAt: 1 }).learned satisfies readonly string[];
// @ts-expect-error: a pause needs an end
erp.pause();
// @ts-expect-error: no such policy
pg.concurrent("x", 1, { onLimit: "wait" });

await init(wasm);
await initFull(fullWasm);
