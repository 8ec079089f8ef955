// Checked by the compiler, never run.
import {
  type Admission,
  type BlockAfter,
  bucket,
  type Closed,
  type Cost,
  concurrency,
  type Decision,
  graphqlCost,
  type HistoryEntry,
  InvalidError,
  type Learned,
  type Limit,
  type Limiter,
  type LimiterInfo,
  type LimiterPage,
  type LimitSettings,
  type Limits,
  leaky,
  type Mode,
  type OnLimit,
  OverLimitError,
  Paddlegate,
  PaddlegateError,
  type Permit,
  points,
  quota,
  type Reason,
  type Release,
  type RuntimeState,
  type Settlement,
  SKIPPED,
  type Skipped,
  type Statistics,
  TestClock,
  throttle,
  UnavailableError,
  window,
} from "paddlegate";

/** Fails to compile unless A and B are the same type; `any` is the same as nothing else. */
type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_same: Same<A, B>) => {};

const pg = new Paddlegate("redis://localhost", { timeoutMs: 500 });
const shop = pg.points("shop", 1000, 20, { waitTimeoutMs: 100 });
pg.bucket("day", 5, "day", { offset: "PT2H" });
pg.limiter("both", { window: [100, "minute"], throttle: 0.1 });
pg.limiter("both", [
  ["window", 100, 60],
  ["window", 1000, "PT1H"],
  ["throttle", 0.1],
  ["unlimited"],
]);
pg.limiter("three", { concurrency: 5, window: [100, 60] }, { lockTimeoutMs: 1000, ttl: "day" });
pg.limiter("llm", { rpm: window(500, "minute"), tpm: points(150_000, 60), concurrency: 20 });
pg.limiter("llm", {
  "per-day": bucket(5, "day", { offset: 1 }),
  throttle: leaky(1, 2),
  window: [1, 2],
});
pg.limiter("ways", [throttle(1, { limit: 3 }), concurrency(5, { lockTimeoutMs: 1000 })]);
declare const known: Limits;
pg.limiter<"ignore">("known", known);
same<ReturnType<typeof window>, Limit>(true);
pg.limiter("list", [["concurrency", 5, "minute"]]);
new Paddlegate().unlimited("any", { lockTimeoutMs: 1000, offset: 1 });

const signal = AbortSignal.timeout(1);
const value = shop.withinLimit({ estimate: 200, signal }, async (permit) => {
  same<typeof permit, Permit>(true);
  return permit.pointsUsed(3);
});
same<typeof value, Promise<Settlement>>(true);
const tokens: Cost = { tpm: 900 };
const corrected = shop.withinLimit({ estimate: tokens }, (permit) => permit.correct({ tpm: 5 }));
same<typeof corrected, Promise<Settlement>>(true);
const debited = shop.debit({ tpm: 5 }, { signal });
same<typeof debited, Promise<Decision>>(true);
shop.allow({ cost: Object.freeze({ rpm: 1, tpm: 5 }) });
shop.acquire({ cost: 5 as Cost, waitTimeoutMs: 5 });
shop.admit("job", { estimate: tokens });
const settleWithinMs = 3_600_000;
shop.withinLimit({ estimate: 5, settleWithinMs }, () => 7);
shop.tryAcquire({ estimate: 5, settleWithinMs });
shop.acquire({ estimate: 5, settleWithinMs });
shop.enqueue("job", { estimate: tokens, settleWithinMs });
shop.claim("job", { estimate: tokens, settleWithinMs });
shop.admit("job", { estimate: tokens, settleWithinMs });
shop.enqueue("job", { cost: { tpm: 5 } });
const plain = shop.withinLimit(() => 7);
same<typeof plain, Promise<number>>(true);
const decision = shop.tryAcquire({ cost: 2 });
same<typeof decision, Promise<Decision>>(true);
const allowed = shop.allow();
same<typeof allowed, Promise<boolean>>(true);
same<typeof shop, Limiter>(true);
const erp = pg.concurrent("erp", 50, { lockTimeoutMs: 1000, waitTimeoutMs: 100 });
same<typeof erp, Limiter>(true);
const released = erp.withinLimit({ id: "job" }, (permit) => permit.release());
same<typeof released, Promise<Release>>(true);
const ignoring = pg.concurrent("erp", 50, { onLimit: "ignore" });
same<typeof ignoring, Limiter<Skipped>>(true);
const skipped = await ignoring.withinLimit(() => 7);
same<typeof skipped, number | Skipped>(true);
if (skipped === SKIPPED) same<typeof skipped, Skipped>(true);
else same<typeof skipped, number>(true);
const place = { priority: 9, share: "acme", weight: 2 };
erp.acquire({ ...place, id: "job" });
erp.withinLimit(place, () => 7);
erp.tryAcquire({ ...place, id: "job" });
erp.enqueue("job", place);
erp.claim("job", place);
erp.admit("job", { ...place, claimTimeoutMs: 5000 });
// @ts-expect-error: it cannot queue
erp.allow(place);
const tenant = pg.quota("tenant", 5, "month", { timezone: "Europe/Berlin", starts: "15" });
same<typeof tenant, Limiter>(true);
pg.limiter("usd", { usd: quota(5, "day", { timezone: "UTC" }), quota: [5, "year", null, "04-06"] });
pg.limiter("usd", [["quota", 5, "week"]]);
// @ts-expect-error: not a period of the calendar
pg.quota("tenant", 5, "hour");
const calendar = (await pg.limiters())[0]?.limits[0]?.timezone;
same<typeof calendar, string | undefined>(true);
const longer = shop.extend("permit", { tpm: 5 }, { signal });
same<typeof longer, Promise<Decision | Closed>>(true);
const grown = shop.withinLimit({ estimate: 5 }, (permit) => permit.extend(5));
same<typeof grown, Promise<Decision | Closed>>(true);
pg.points("meter", 5, 5, { refund: "undrained" });
pg.limiter("meter", { tpm: points(5, 5, { refund: "full" }), leaky: [5, 5, "undrained"] });
// @ts-expect-error: no meter
pg.window("meter", 5, 5, { refund: "full" });
const blockAfter: BlockAfter = { refusals: 100, withinMs: 60_000, forMs: 3_600_000 };
const login = pg.window("login", 5, "minute", { mode: "shadow", blockAfter, keyed: true });
const blocked = login.block({ forMs: 5, key: "mallory" });
same<typeof blocked, Promise<RuntimeState>>(true);
const { mode, blockedForMs } = await login.override({ mode: "enforce", expiresInMs: 5 });
same<typeof mode, Mode | null>(true);
same<typeof blockedForMs, number | null>(true);
login.restore({ mode: true });
// @ts-expect-error: no mode
login.override({ mode: "loud" });
const why = (await login.peek()).wouldRefuse;
same<typeof why, Reason | null>(true);
const passed = (await login.stats()).shadowRefused;
same<typeof passed, number>(true);

const queued = erp.enqueue("job", { cost: 1, claimTimeoutMs: 5 });
same<typeof queued, Promise<Decision>>(true);
const lease = erp.renew("permit");
same<typeof lease, Promise<number | null>>(true);
const counts = erp.stats();
same<typeof counts, Promise<Statistics>>(true);
const { minutes } = await erp.history();
same<typeof minutes, readonly HistoryEntry[]>(true);
const kinds = (await pg.limiters()).flatMap(({ limits }) => limits.map(({ kind }) => kind));
kinds.includes("concurrency");

const ordered = shop.pause({ forMs: 30_000 });
same<typeof ordered, Promise<RuntimeState>>(true);
await erp.pause({ until: new Date(), signal });
await erp.resume();
await erp.override({ limit: 5, intervalMs: 1000, label: "concurrency", expiresAt: Date.now() });
await erp.override({ limits: { rpm: window(50, 60), concurrency: 5 }, expiresInMs: 1000 });
const { rpm } = (await erp.restore({ label: "rpm" })).overrides;
same<typeof rpm, LimitSettings>(true);
same<typeof held.decision.label, string | null>(true);
const late = shop.reportBudget({ remaining: 5, limit: 1000, restoreRate: 50, resetAt: new Date() });
same<typeof late, Promise<Learned>>(true);
declare const fetched: Response;
const learned = shop.learnFromResponse(fetched, {
  provider: "shopify",
  maxPauseMs: 1,
  defaultPauseMs: 1,
  permit: "id",
});
same<typeof learned, Promise<Learned>>(true);
declare const heard: IncomingLike;
await shop.learnFromResponse(heard);
await shop.learnFromResponse({
  status: 429,
  headers: new Map([["retry-after", 5]]),
  body: { data: {} },
});
await shop.learnFromResponse({ headers: [["a", ["b", "c"]]], body: new Uint8Array() });
await shop.withinLimit({ estimate: 5 }, (permit) =>
  permit.learnFromResponse(fetched, { provider: "auto" }),
);
const cost = graphqlCost("{ a }", { n: 1 }, { rules: "github", operation: "A" });
same<typeof cost, number>(true);
const loaded = pg.limitersFromDocument({ limiters: {} });
same<typeof loaded, Map<string, Limiter>>(true);
const perhaps = pg.limitersFromDocument<Skipped>({ limiters: {} });
same<typeof perhaps, Map<string, Limiter<Skipped>>>(true);
const action = pg.load("limits.json").get("shop")?.onLimit;
same<typeof action, OnLimit | null | undefined>(true);

const careful = pg.window("x", 1, 1, { onUnavailable: "local", localSharePercent: 25 });
same<typeof careful, Limiter>(true);
pg.unlimited("x", { onUnavailable: "fail_open" });
pg.load("limits.json", { onUnavailable: "fail_closed" });
const admitted = careful.admit("job", { onLimit: "reschedule", estimate: 5, signal });
same<typeof admitted, Promise<Admission>>(true);
const { permit, decision: behind } = await admitted;
same<typeof permit, Permit | null>(true);
same<typeof behind.degraded, boolean>(true);
same<typeof behind.reason, Reason | "unavailable" | null>(true);
if (behind.reason === "too_large") same<typeof behind.allowed, boolean>(true);
if (behind.reason === "unavailable") same<typeof permit, Permit | null>(true);

/** As Node declares its `IncomingMessage`. */
interface IncomingLike {
  statusCode?: number | undefined;
  headers: { [name: string]: string | string[] | undefined };
}

const held = await erp.acquire();
await erp.release(held);
await erp.renew(held);
await shop.correct(held, 5);
await shop.correct(held, { tpm: 5 });
await shop.reportBudget({ remaining: 5, permit: held });
same<typeof held.decision.retryAfterUs, number | null>(true);
const grouped = pg.window("x", 1, 1, { group: "acme" });
same<typeof grouped.group, string | null>(true);
const both = pg.together([grouped, ignoring, erp]);
same<typeof both, Limiter>(true);
same<ReturnType<typeof pg.together<"ignore">>, Limiter<Skipped>>(true);
const perLimiter: Cost = { "openai:gpt-5": { tpm: 900 }, team: 3 };
const several = both.withinLimit({ estimate: perLimiter }, (permit) => permit.correct(perLimiter));
same<typeof several, Promise<Settlement>>(true);
both.tryAcquire({ cost: Object.freeze({ team: Object.freeze({ tpm: 1 }) }) });
const named = (await both.debit(perLimiter)).limiter;
same<typeof named, string | null>(true);
const groups = (await pg.limiters()).map(({ group }) => group);
same<typeof groups, (string | null)[]>(true);
const users = pg.limiter("users", [window(5, 60)], { keyed: true, statistics: false });
same<typeof users, Limiter>(true);
const alice = pg.concurrent("c", 1, { keyed: true, onLimit: "ignore" }).withKey("alice");
same<typeof alice, Limiter<Skipped>>(true);
same<typeof alice.key, string | null>(true);
same<typeof alice.keyed, boolean>(true);
const key = "alice";
users.allow({ key });
users.tryAcquire({ key, id: "x" });
users.acquire({ key, waitTimeoutMs: 5 });
users.withinLimit({ key }, () => 1);
users.peek({ key });
users.correct("permit", 5, { key });
users.debit(5, { key, signal });
users.release("permit", { key });
users.renew("permit", { key });
users.enqueue("job", { key });
users.claim("job", { key });
users.admit("job", { key });
users.admitAll(["job"], { key });
users.cancel("job", { key });
users.reset({ key });
users.pause({ key, forMs: 5 });
users.resume({ key });
users.override({ key, limit: 5 });
users.applyOjsOverride({}, { key });
users.applyOjsSignal({}, { key });
users.restore({ key });
users.runtimeState({ key });
users.reportBudget({ key, remaining: 5 });
users.learnFromResponse({}, { key });
const areKeyed = (await pg.limiters()).map(({ keyed }) => keyed);
same<typeof areKeyed, boolean[]>(true);
same<ReturnType<typeof pg.limiters>, Promise<LimiterInfo[]>>(true);
pg.limiters({ prefix: "shop-" });
const page = await pg.limiterPage();
same<typeof page, LimiterPage>(true);
same<typeof page.cursor, string | null>(true);
same<typeof page.limiters, LimiterInfo[]>(true);
pg.limiterPage({ prefix: "shop-", cursor: page.cursor });
const clock = new TestClock();
clock.nowUs += 5;
clock.advance("minute");
new Paddlegate("memory://", { clock }).unlimited();
const closed = pg.close();
same<typeof closed, Promise<void>>(true);
const disposed = pg[Symbol.asyncDispose]();
same<typeof disposed, Promise<void>>(true);

declare const error: unknown;
if (error instanceof OverLimitError) same<typeof error.retryAfterMs, number | null>(true);
if (error instanceof InvalidError) same<typeof error.argument, string>(true);
if (error instanceof UnavailableError) same<typeof error.mayHaveCounted, boolean>(true);
if (error instanceof PaddlegateError) same<typeof error.stack, string | undefined>(true);

// @ts-expect-error a policy is a list or an object
pg.limiter("x", "window");
// @ts-expect-error no such kind
pg.limiter("x", { concurency: 5 });
// @ts-expect-error a label says no kind
pg.limiter("x", { rpm: [500, 60] });
// @ts-expect-error a label says no kind here either
erp.override({ limits: { rpm: [500, 60] } });
// @ts-expect-error limits have labels
erp.restore({ index: 0 });
// @ts-expect-error a window has no options
window(1, 1, { offset: 1 });
// @ts-expect-error an interval is missing
pg.window("x", 1);
// @ts-expect-error no such policy
pg.concurrent("x", 1, { onLimit: "wait" });
// @ts-expect-error a window holds no lease
pg.window("x", 1, 1, { lockTimeoutMs: 1 });
// @ts-expect-error nobody could release what it takes
shop.allow({ id: "x" });
// @ts-expect-error it never waits
shop.tryAcquire({ waitTimeoutMs: 5 });
// @ts-expect-error the store has the clock
shop.allow({ atUs: 1 });
// @ts-expect-error a misspelt option
shop.allow({ costs: 1 });
// @ts-expect-error units are numbers
shop.allow({ cost: { tpm: "5" } });
// @ts-expect-error a cost by label is an object
shop.allow({ cost: new Map([["tpm", 5]]) });
// @ts-expect-error labels have no labels
both.allow({ cost: { team: { tpm: { tpm: 5 } } } });
// @ts-expect-error limiters, not their names
pg.together(["x"]);
// @ts-expect-error each limiter has its own
pg.together([erp], { ttl: 5 });
// @ts-expect-error a key is a text
users.allow({ key: 7 });
// @ts-expect-error a key is a text here too
users.withKey(7);
// @ts-expect-error statistics are of all keys
users.stats({ key: "alice" });
// @ts-expect-error a permit has its key
held.learnFromResponse({}, { key: "alice" });
// @ts-expect-error true or false
pg.window("x", 1, 1, { keyed: "yes" });
// @ts-expect-error each limiter has its own keys
pg.together([erp], { keyed: true });
// @ts-expect-error milliseconds
shop.tryAcquire({ estimate: 5, settleWithinMs: "PT1H" });
// @ts-expect-error a debit is final
shop.debit(5, { settleWithinMs });
// @ts-expect-error a prefix is a text
pg.limiters({ prefix: 5 });
// @ts-expect-error only pages have cursors
pg.limiters({ cursor: "0.0" });
// @ts-expect-error a cursor is a text
pg.limiterPage({ cursor: 5 });
// @ts-expect-error a debit needs a cost
shop.debit();
// @ts-expect-error no such mode
pg.window("x", 1, 1, { onUnavailable: "skip" });
// @ts-expect-error a job has an id
shop.admit({ onLimit: "wait" });
// @ts-expect-error no such action
shop.admit("job", { onLimit: "skip" });
// @ts-expect-error no such provider
shop.learnFromResponse({}, { provider: "twitter" });
// @ts-expect-error a pause needs an end
shop.pause();
// @ts-expect-error no such rules
graphqlCost("{ a }", {}, { rules: "linear" });
// @ts-expect-error decisions are frozen
(await shop.peek()).allowed = true;
// @ts-expect-error limiters come from a store
new OverLimitError();
