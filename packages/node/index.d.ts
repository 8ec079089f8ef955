/**
 * Seconds, or `"second"`, `"minute"`, `"hour"`, `"day"`, or an ISO 8601 duration such as `"PT0.1S"`.
 * From one microsecond to ten years.
 */
export type Interval = number | "second" | "minute" | "hour" | "day" | `P${string}`;

/** The kind of a limit, as `reason` shows it. */
export type Kind =
  | "bucket"
  | "window"
  | "leaky"
  | "points"
  | "throttle"
  | "concurrency"
  | "unlimited"
  | "paused";

/** One limit of a policy as a list. */
export type Limit =
  | readonly ["bucket", limit: number, interval: Interval, offset?: Interval]
  | readonly ["window", limit: number, interval: Interval]
  | readonly ["leaky", capacity: number, drain: Interval]
  | readonly ["points", capacity: number, refill: Interval]
  | readonly ["throttle", interval: Interval]
  | readonly ["concurrency", limit: number, lockTimeout?: Interval]
  | readonly ["unlimited"]
  | readonly ["paused"];

/** A policy by the kinds of its limits, in the order written. Two limits of one kind need the list form. */
export interface Limits {
  readonly bucket?: readonly [limit: number, interval: Interval, offset?: Interval];
  readonly window?: readonly [limit: number, interval: Interval];
  readonly leaky?: readonly [capacity: number, drain: Interval];
  readonly points?: readonly [capacity: number, refill: Interval];
  readonly throttle?: Interval;
  readonly concurrency?: number | readonly [limit: number, lockTimeout?: Interval];
  readonly unlimited?: true;
  readonly paused?: true;
}

/** Options of a store. */
export interface StoreOptions {
  /** Milliseconds within which a call to Redis is answered or fails, from 1 to 60,000. Default 1000. */
  readonly timeoutMs?: number;
}

/** How long a call waits. */
export interface WaitOptions {
  /** Milliseconds that `acquire` and `withinLimit` wait for their turn. 0 does not wait. Default 5000. */
  readonly waitTimeoutMs?: number;
}

/** What `withinLimit` does when it is refused: it rejects, or it gives `SKIPPED`. `"skip"` is the same as `"ignore"`. */
export type Policy = "raise" | "ignore" | "skip";

/**
 * What `acquire`, `withinLimit`, `tryAcquire`, `allow`, `peek`, `enqueue`, `claim` and `admit` answer while Redis cannot
 * decide: `UnavailableError`; refused until Redis is asked again; granted and never counted; decided by this process
 * alone, with its `share`. In all but the first the decision is `degraded`, nobody waits, and after five failures in a row
 * one call a second asks Redis, until one succeeds.
 */
export type OnUnavailable = "raise" | "closed" | "open" | "local";

/** What is answered while Redis cannot decide. */
export interface UnavailableOptions {
  /** Default `"raise"`. In memory it makes no difference. */
  readonly onUnavailable?: OnUnavailable;
  /**
   * With `"local"`: percent of each limit that this process may take, from 1 to 100, rounded down. Default 100. The limits
   * hold over all processes as long as their shares are not above 100 in sum.
   */
  readonly share?: number;
}

/** Options of a limiter. */
export interface LimiterOptions<P extends Policy = Policy> extends WaitOptions, UnavailableOptions {
  /** Default `"raise"`. */
  readonly policy?: P;
  /** How long statistics are kept after the last use, from one second. Default 90 days. */
  readonly ttl?: Interval;
}

/** Options of a concurrency limit. */
export interface ConcurrencyOptions<P extends Policy = Policy> extends LimiterOptions<P> {
  /** Milliseconds after which a lease ends that nobody released. Default 30,000. */
  readonly lockTimeoutMs?: number;
}

/** Options of a bucket. */
export interface BucketOptions<P extends Policy = Policy> extends LimiterOptions<P> {
  /** How much earlier each interval starts, below the interval: two hours for days of UTC+2. Default 0. */
  readonly offset?: Interval;
}

/** What `withinLimit` gives when its limiter has the policy `"ignore"` and its function was not run. */
export const SKIPPED: unique symbol;

/** The type of `SKIPPED`: `value === SKIPPED` tells it from what the function gives. */
export type Skipped = typeof SKIPPED;

/** When a call takes place, and when it is given up. */
export interface CallOptions {
  /** The store's time of the call in microseconds since 1970, up to 2^52. Default: the store's clock. */
  readonly atUs?: number;
  /**
   * Ends the waiting at once with its reason, and leaves neither ticket nor lease. Aborted before the call it takes
   * nothing. Aborted while Redis is asked, `acquire`, `withinLimit` and `tryAcquire` give back the lease and the estimate
   * that they were granted too late; units of a rate without an estimate stay taken.
   */
  readonly signal?: AbortSignal;
}

/** What a call asks for: a final cost, or an estimate to be corrected later. */
export interface Request extends CallOptions {
  /** Units to take, from 0 to 10^12. Default 1, none with `points`. 0 looks without taking. */
  readonly cost?: number;
  /** Units to take for now, from 1 to 10^12; a grant has a permit to report the actual cost with. */
  readonly estimate?: number;
}

/** A request under an id. */
export interface NamedRequest extends Request {
  /**
   * Names the call, with 1 to 64 bytes: asked again with it, a call that holds a lease takes no second one, and one
   * that has a ticket keeps its place. Default: a new one.
   */
  readonly id?: string;
}

/** A request that may wait. */
export interface WaitingRequest extends NamedRequest, WaitOptions {}

/** A request for a job. */
export interface AdmissionRequest extends Request {
  /**
   * What becomes of a job that is refused: `"wait"` and `"reschedule"` take a place in the queue, which is kept for a
   * minute after its time. Default: what the document of the limiter says, else `"wait"`.
   */
  readonly onLimit?: OnLimit;
}

/** A request of somebody who comes back to claim. */
export interface TicketRequest extends Request {
  /** Milliseconds that it would wait; a rate that cannot let it pass by then refuses. Default ten years. */
  readonly waitTimeoutMs?: number;
  /** Milliseconds that the ticket keeps its place after the time to claim it. Default 60,000. */
  readonly claimTimeoutMs?: number;
}

/** The answer to one call, with the numbers of the limit that is the tightest. Frozen. */
export interface Decision {
  /** `"queued"`: it has a ticket, look again after `retryAfterMs`. `"gone"`: it claimed without a ticket. */
  readonly status: "refused" | "granted" | "queued" | "gone";
  /** Whether the call may go ahead. */
  readonly allowed: boolean;
  /** The units of the limit described here; `null` when nothing limits. */
  readonly limit: number | null;
  /** The units that could be taken right after this decision; `null` when nothing limits. */
  readonly remaining: number | null;
  /**
   * When to come back: whole milliseconds, rounded up, since timers count in these. 0 when granted, `null` when no time is
   * known (paused).
   */
  readonly retryAfterMs: number | null;
  /** The same exactly: refused a microsecond before, granted at it if nobody releases a lease before. */
  readonly retryAfterUs: number | null;
  /**
   * Until all of the limit is there again, if nobody calls: whole milliseconds, rounded up; `null` when no time is known
   * (paused).
   */
  readonly resetAfterMs: number | null;
  /** The same exactly, in microseconds. */
  readonly resetAfterUs: number | null;
  /** The kind of the limit that refused, or `"unavailable"` when none has: see `degraded`. `null` when granted. */
  readonly reason: Kind | "unavailable" | null;
  /** Which limit of the policy the numbers describe, counted from 0. */
  readonly index: number;
  /** The store's time of the decision in microseconds since 1970; 0 when no store was asked. */
  readonly atUs: number;
  /** The id by which a grant with an estimate is corrected and a lease released, from any process, else `null`. */
  readonly permit: string | null;
  /** Of a concurrency limit, milliseconds that the lease lasts. */
  readonly leaseMs: number | null;
  /** Of a concurrency limit, a number that rises with every lease of the limiter: it fences off holders that are late. */
  readonly fence: number | null;
  /** The number of the ticket of a queued call. */
  readonly ticket: number | null;
  /** How many stand before it. */
  readonly position: number | null;
  /** When it may pass if all before it do: whole milliseconds, rounded up; `null` where it waits for a release. */
  readonly readyAfterMs: number | null;
  /** The same exactly, in microseconds. */
  readonly readyAfterUs: number | null;
  /** Whether Redis could not decide, and the limiter's `onUnavailable` has. */
  readonly degraded: boolean;
}

/** What is done with a job. Frozen. */
export interface Admission {
  /**
   * `"run"`: now, and its permit is released when it has ended, however it has. `"wait"`: it stays where it is and keeps its
   * place. `"reschedule"`: it is put away until its time and keeps its place. `"drop"`: it is discarded, but never because
   * Redis is away: then it waits. `"refuse"`: it is over the limit, and `onLimit` is `"raise"` or `"ignore"`.
   */
  readonly action: "run" | "wait" | "reschedule" | "drop" | "refuse";
  /**
   * Whole milliseconds until it may run or should be asked about again, under the same id; `null` when no time is known (paused),
   * and of a job that runs or is dropped.
   */
  readonly afterMs: number | null;
  /** The answer behind it, with the place of a job that waits. */
  readonly decision: Decision;
  /** Of a job that runs, else `null`. */
  readonly permit: Permit | null;
}

/**
 * What became of a correction: the charge is now the actual cost; it was settled before; the permit is older than
 * five minutes; no such permit is open here.
 */
export type Settlement = "settled" | "already" | "late" | "unknown";

/**
 * What has changed by what an upstream says, and what has not, and why. What was known already is in neither list.
 * Frozen.
 */
export interface Learned {
  /** What became of the permit; `null` when no cost of one was told. */
  readonly settlement: Settlement | null;
  /**
   * What has changed: `"limit"`, `"interval"`, `"remaining"`, `"reset"` and `"pause"`. With several limits the index of
   * the limit follows, as in `"remaining[1]"`.
   */
  readonly learned: readonly string[];
  /** What was said and changed nothing, with the reason: `"remaining: calls are open"`. */
  readonly ignored: readonly string[];
  /** What the call did cost, as the answer says. */
  readonly cost: number | null;
  /** Milliseconds that the answer asks to pause. */
  readonly pauseMs: number | null;
  /** Of whom a refusal is; `"global"` concerns all limiters of this API. Only Discord tells. */
  readonly scope: "user" | "global" | "shared" | null;
  /** What the upstream calls the budget that counted the call. Only Discord tells. */
  readonly bucket: string | null;
}

/** What became of a lease: free for another; ended before its release; not here (given back, reset or forgotten). */
export type Release = "released" | "late" | "unknown";

/** What a grant hands over. */
export interface Permit {
  /**
   * The id by which any process may correct or release the grant; `null` without an estimate or a concurrency limit.
   */
  readonly id: string | null;
  /** The grant. */
  readonly decision: Decision;
  /** As in the decision. */
  readonly fence: number | null;
  /** As in the decision: then nothing of it is with Redis, and `release` and `pointsUsed` ask nobody. */
  readonly degraded: boolean;
  /** Milliseconds until the lease ends, by this process's clock; `null` without a concurrency limit. */
  readonly expiresInMs: number | null;
  /** Whether the lease ended before its release, so that another may hold it. Asks nobody. */
  readonly lost: boolean;
  /** Ends the lease, once. Without a concurrency limit there is none, and the answer is `"unknown"`. */
  release(): Promise<Release>;
  /** Gives the lease its whole time again; false when there is none, or none any more. */
  renew(): Promise<boolean>;
  /** Replaces the estimate by what the call did cost, once. Without an estimate it rejects with `InvalidError`. */
  pointsUsed(actual: number): Promise<Settlement>;
  /**
   * `learnFromResponse` of its limiter: replaces the estimate by the cost that the answer tells, and takes over what it says of the
   * budget, in one step. Of a lease without an estimate a cost is `"unknown"`; the rest is taken over.
   */
  learnFromResponse(response: UpstreamResponse, options?: AnswerOptions): Promise<Learned>;
}

/** What a limiter has done in all processes, and who is there now. Times are sums. Frozen. */
export interface Statistics {
  /** Calls that passed; leases, of a concurrency limit. */
  readonly granted: number;
  /** Calls that were refused, and waits whose time was up. */
  readonly refused: number;
  /** Grants that had to wait. */
  readonly waited: number;
  /** Grants that had not. */
  readonly immediate: number;
  /** The time that the former waited. */
  readonly waitTimeMs: number;
  /** Units taken, after corrections. */
  readonly units: number;
  /** Permits that were settled. */
  readonly corrections: number;
  /** The time that released leases were held. */
  readonly heldTimeMs: number;
  /** Leases whose holder released them after their end. */
  readonly overages: number;
  /** Leases that had ended without a release when somebody else was granted one. */
  readonly reclaimed: number;
  /** Tickets that lost their place because nobody came to claim them in time. */
  readonly lapsed: number;
  /** Leases held now. */
  readonly leases: number;
  /** Tickets in the queue now. */
  readonly tickets: number;
}

/** One limiter that some process used. */
export interface LimiterInfo {
  readonly name: string;
  /** As they were last used. */
  readonly limits: readonly LimitInfo[];
  /** Seconds since 1970, to the minute; `null` in memory. */
  readonly lastUsed: number | null;
  /** Seconds that the statistics are kept after it. */
  readonly ttl: number;
}

/** One limit of it. */
export interface LimitInfo {
  readonly kind: Kind;
  /** The limit or the capacity; 1 for a throttle. */
  readonly amount: number;
  /** Seconds: the interval, the time to drain or refill fully, or how long a lease lasts. */
  readonly interval: number;
  /** Seconds by which the intervals of a bucket start earlier. */
  readonly offset: number;
}

/**
 * A name and a policy; make it once and keep it. Every method rejects with `InvalidError` for a wrong argument, and
 * then has changed nothing, and with `UnavailableError` when the store cannot decide. `S` is what `withinLimit` gives
 * when it is refused: nothing but an error, or `SKIPPED`.
 */
export interface Limiter<S = never> {
  /** The name it was made with. */
  readonly name: string;
  /** What the document that it was loaded from says of refused work; `null` when it was made otherwise. */
  readonly onLimit: OnLimit | null;
  /**
   * Waits for its turn, runs `fn`, releases the lease and gives the value of `fn`. When the wait takes too long it
   * rejects with `OverLimitError`, or gives `SKIPPED` if that is the policy.
   *
   * A lease that ended while `fn` ran is told by `permit.lost`, and by a warning of the process, `LeaseLostWarning`.
   */
  withinLimit<T>(fn: (permit: Permit) => T | PromiseLike<T>): Promise<T | S>;
  withinLimit<T>(
    request: WaitingRequest | undefined,
    fn: (permit: Permit) => T | PromiseLike<T>,
  ): Promise<T | S>;
  /**
   * Waits for its turn, first come first served; `OverLimitError` when that takes too long, at once when a rate cannot
   * let it pass within `waitTimeoutMs`.
   */
  acquire(request?: WaitingRequest): Promise<Permit>;
  /** Takes the cost if every limit allows it and nobody waits before, else nothing. Never waits for a limit. */
  tryAcquire(request?: NamedRequest): Promise<Decision>;
  /** `tryAcquire` for a plain answer; `InvalidError` with a concurrency limit, whose lease nobody could release. */
  allow(request?: Request): Promise<boolean>;
  /** What `tryAcquire` would answer; changes nothing. `remaining` is what is there. */
  peek(request?: Request): Promise<Decision>;
  /** Replaces the estimate of a permit by the actual cost, once. Less gives back, more makes a debt. */
  correct(permit: string | Permit, actual: number, options?: CallOptions): Promise<Settlement>;
  /** Ends the lease of a permit, once; frees nobody else's. */
  release(permit: string | Permit, options?: CallOptions): Promise<Release>;
  /** Gives a lease its whole time again: the milliseconds it lasts, or `null` when it has ended. */
  renew(permit: string | Permit, options?: CallOptions): Promise<number | null>;
  /**
   * Takes the cost, or a ticket at the end of the queue: come back with `claim` after `retryAfterMs`. For those who do
   * not wait themselves. Asked again with the same id it keeps its place.
   */
  enqueue(id: string, request?: TicketRequest): Promise<Decision>;
  /** Takes the cost if its turn has come; the status is `"gone"` when it has no ticket. */
  claim(id: string, request?: TicketRequest): Promise<Decision>;
  /**
   * Decides about a job under its id, of 1 to 64 bytes. Asked again about one that runs it takes nothing; one that is tried
   * again is asked about under another id, and so counts as a new one. Never waits.
   */
  admit(job: string, request?: AdmissionRequest): Promise<Admission>;
  /**
   * Decides about several jobs of one unit each, in their order: all of them run or none. What was taken for the first is
   * given back when a later one cannot run, and none takes a place in the queue.
   */
  admitAll(jobs: readonly string[], options?: BatchOptions): Promise<Admission[]>;
  /** Leaves the queue, and gives back the lease that the ticket may have become. */
  cancel(id: string, options?: CallOptions): Promise<"cancelled" | "unknown">;
  /** What all processes did with this limiter. */
  stats(options?: CallOptions): Promise<Statistics>;
  /** Forgets all that was taken, all permits, leases and tickets, and the statistics. */
  reset(): Promise<void>;
  /**
   * Grants nothing for so long, in all processes; the reason of refusals is `"paused"`. Who waits goes on to wait. A
   * pause that ends later stays as it is.
   */
  pause(options: PauseOptions): Promise<RuntimeState>;
  /** Ends the pause. */
  resume(options?: CallOptions): Promise<RuntimeState>;
  /** Puts other numbers before those of every policy, in all processes. A lower limit takes nobody's lease. */
  override(options: OverrideOptions): Promise<RuntimeState>;
  /**
   * The same as a document of Open Job Spec says, its text or its object: `concurrency`, `rate` (or `limit` with
   * `period`), `throttle` and `expires_at`. What it does not name stays as it is, an earlier end too; null removes.
   */
  applyOjsOverride(document: string | object, options?: CallOptions): Promise<RuntimeState>;
  /**
   * Pauses as the failure of a job of Open Job Spec says, its text or its object; gives `false` when its `type` is neither
   * `"rate_limited"` nor `"RateLimitExceeded"`. Without `retry_after` and `rate_limit_until` it pauses for 30 seconds; a
   * pause that ends later stays.
   */
  applyOjsSignal(document: string | object, options?: CallOptions): Promise<boolean>;
  /** The policy, or what was learned from upstream, rules again. */
  restore(options?: RestoreOptions): Promise<RuntimeState>;
  /** What is in force beside the policy. */
  runtimeState(options?: CallOptions): Promise<RuntimeState>;
  /** Takes over what upstream says of its budget. */
  reportBudget(options: BudgetOptions): Promise<Learned>;
  /**
   * Takes over what an answer of upstream says, in one step: what is left of its budget, its numbers, and a pause for
   * all processes when it refused the call. Without a `status` only an answer is a refusal that the documents of the
   * provider tie to one.
   */
  learnFromResponse(response: UpstreamResponse, options?: LearnOptions): Promise<Learned>;
}

/** How several jobs are decided about. */
export interface BatchOptions {
  /** What becomes of those over the limit. Default: what the document of the limiter says, else `"wait"`. */
  readonly onLimit?: OnLimit;
  /** Each by itself, as `admit` does. Default `false`: all or none. */
  readonly partial?: boolean;
  /** Nobody waits for the answer any more; what was begun goes on to its end. */
  readonly signal?: AbortSignal;
}

/** What is known of a request. An element of the document whose criterion is not given does not apply. */
export interface Facts {
  /** Compared with `Context`. */
  readonly context?: string;
  /** Compared with `Url`. */
  readonly url?: string;
  /** Compared with `LogOnCode`. */
  readonly logOnCode?: string;
  /** Compared with `DataContainerId`. */
  readonly dataContainerId?: string;
  /** The address of the client without a port, compared with `IpAddressClientCidr`. */
  readonly ip?: string;
}

/** A request at a gate. */
export interface GateRequest extends Facts, CallOptions {}

/** What becomes of a request at a gate. Frozen. */
export interface GateDecision {
  /** Whether it may go ahead. If not, its answer is a failure. */
  readonly allowed: boolean;
  /** Milliseconds by which its answer is delayed, also that of a failure; 0 without a delay. */
  readonly delayMs: number;
  /** The slot that counted; `null` when nothing limits the request. */
  readonly slot: string | null;
  /** The level that refused, or the one that delays longest; `null` when no level is full. */
  readonly level: "second" | "minute" | "hour" | null;
  /** Milliseconds from the decision on until a refused request may pass; 0 when allowed, `null` when no time is known. */
  readonly retryAfterMs: number | null;
  /** The kind of the limit that refused; `null` when allowed. */
  readonly reason: "bucket" | "paused" | null;
}

/**
 * Chooses which slot of a `RateLimitControl` of Invantive limits a request. Make it once and keep it; all processes with
 * the same slots share their counts.
 */
export interface Gate {
  /**
   * Counts a request in the slot of the first element that applies. One that a level fails counts nowhere; else it counts
   * in every level, and the longest delay of a full one rules. Never waits.
   */
  admit(request?: GateRequest): Promise<GateDecision>;
  /**
   * Sleeps the delay, then runs `fn` and gives its value. When a level fails it rejects with `OverLimitError` after the
   * delay, and does not run `fn`.
   */
  withinLimit<T>(fn: (verdict: GateDecision) => T | PromiseLike<T>): Promise<T>;
  withinLimit<T>(
    request: GateRequest | undefined,
    fn: (verdict: GateDecision) => T | PromiseLike<T>,
  ): Promise<T>;
}

/** Options of the limiter of a workflow's run. */
export interface WorkflowOptions extends UnavailableOptions {
  /** Milliseconds after which a lease ends that is not renewed. Default 30,000. */
  readonly lockTimeoutMs?: number;
}

/** The numbers that rule in place of those of a policy's limit. Frozen. */
export interface LimitSettings {
  readonly kind: Kind;
  /** The limit or the capacity; 1 for a throttle. */
  readonly limit: number;
  /** Milliseconds: the interval, the time to drain or refill fully, or how long a lease lasts. */
  readonly intervalMs: number;
}

/** What is in force beside the policy, in all processes. Frozen. */
export interface RuntimeState {
  /** Rises with every change; 0 when nothing is in force. */
  readonly version: number;
  /**
   * Whether the store knew the limiter before this call: it had a state or statistics. `false` for a name that nobody has
   * used, for limits of other kinds than those in use under it, and without any limit. An earlier order counts as a use.
   */
  readonly inUse: boolean;
  /** Milliseconds that the pause still lasts; `null` without one. */
  readonly pausedForMs: number | null;
  /** By the policy's limits: what was ordered, and rules. */
  readonly overrides: readonly (LimitSettings | null)[];
  /** Milliseconds that the overrides still hold; `null` when they hold until they are removed. */
  readonly expiresInMs: number | null;
  /** By the policy's limits: what was learned from upstream, and rules where nothing was ordered. */
  readonly learned: readonly (LimitSettings | null)[];
}

/** How long to pause: one of the two. */
export interface PauseOptions extends CallOptions {
  /** Milliseconds from now, up to ten years. */
  readonly forMs?: number;
  /** A time, or milliseconds since 1970. */
  readonly until?: Date | number;
}

/** The numbers that shall rule; what is not given stays as the policy has it. */
export interface OverrideOptions extends CallOptions {
  /** The limit or the capacity. */
  readonly limit?: number;
  /** Milliseconds: the interval, the time to drain or refill fully, or how long a lease lasts. */
  readonly intervalMs?: number;
  /** Which limit of the policy, counted from 0. Default 0. */
  readonly index?: number;
  /** Milliseconds that all overrides hold. Default: until `restore`, or 90 days without a grant. */
  readonly expiresInMs?: number;
  /** The same as a time, or milliseconds since 1970. */
  readonly expiresAt?: Date | number;
}

/** What ends. */
export interface RestoreOptions extends CallOptions {
  /** Which limit of the policy, counted from 0. Default: all. */
  readonly index?: number;
}

/** What upstream says of the budget behind one limit; of its numbers what is not given stays as the policy has it. */
export interface BudgetOptions extends CallOptions {
  /** Units that are left there, from 0 to 10^12. */
  readonly remaining?: number;
  /** Its limit or capacity. */
  readonly limit?: number;
  /** Milliseconds: its interval, or from empty to full. */
  readonly intervalMs?: number;
  /** Units per second that come back, in place of `intervalMs`. */
  readonly restoreRate?: number;
  /** Milliseconds until the interval of a bucket ends. */
  readonly resetInMs?: number;
  /** The same as a time, or milliseconds since 1970. */
  readonly resetAt?: Date | number;
  /** Which limit of the policy, counted from 0. Default 0. */
  readonly index?: number;
  /** The permit of the call that was answered; its time tells older reports from newer ones. */
  readonly permit?: string | Permit | null;
}

/** Whose answers they are; `"auto"` tells it from each answer. */
export type Provider =
  | "auto"
  | "shopify"
  | "github"
  | "discord"
  | "linear"
  | "stripe"
  | "openai"
  | "anthropic"
  | "ietf";

/** What a caller says beside a document. */
export interface LoadOptions extends UnavailableOptions {
  /** How long a lease lasts that is not renewed, in milliseconds: Open Job Spec and Conductor. */
  readonly lockTimeoutMs?: number;
  /** Whose job it is: Open Job Spec. */
  readonly tenant?: string;
  /** What is limited by itself: guild-queues. */
  readonly group?: string;
}

/** How an answer is read. */
export interface AnswerOptions {
  /** Default `"auto"`. */
  readonly provider?: Provider;
  /** Milliseconds: the longest pause to take from an upstream's word. Default one hour. */
  readonly maxPauseMs?: number;
  /** The most units that a limit is raised to. Default ten times the policy's own. */
  readonly maxLearned?: number;
}

/** How an answer is read, and whose it is. */
export interface LearnOptions extends AnswerOptions, CallOptions {
  /** The permit of the call that was answered, which its cost settles. Without one it settles nothing. */
  readonly permit?: string | Permit | null;
}

/** A header's value. What is `null` or `undefined` is as if it were not sent. */
export type HeaderValue = string | number | null | undefined | readonly (string | number)[];

/**
 * An answer as it came over HTTP. A `Response` of `fetch` fits, but then only its headers are read: its body cannot be
 * read at once. `{ status, headers, body: await response.text() }` says all.
 */
export interface UpstreamResponse {
  /** The status code. Default: `statusCode`, as Node's own client calls it, else not known. */
  readonly status?: number;
  readonly statusCode?: number | undefined;
  /** `Headers`, a `Map`, pairs, or an object; names are compared without case. */
  readonly headers?:
    | Iterable<readonly [name: string, value: HeaderValue]>
    | { readonly [name: string]: HeaderValue }
    | null;
  /** A text, its bytes in UTF-8, or what `JSON.parse` made of it. A stream says nothing. */
  readonly body?: string | ArrayBuffer | ArrayBufferView | object | null;
}

/** Options of `graphqlCost`. */
export interface GraphqlCostOptions {
  /** Whose rules count. Default `"shopify"`. */
  readonly rules?: "shopify" | "github";
  /** The `operationName`, needed only when the query holds several. */
  readonly operation?: string;
}

/**
 * What a query is likely to cost, in points of its provider, from 1; for the estimate of a call. `variables` are an
 * object or its JSON text.
 */
export function graphqlCost(
  query: string,
  variables?: object | string | null,
  options?: GraphqlCostOptions,
): number;

/** What a document says of work that is refused. */
export type OnLimit = "raise" | "ignore" | "wait" | "reschedule" | "drop";

/** What `withinLimit` gives when it is refused. */
type Refusal<P extends Policy> = P extends "raise" ? never : Skipped;

/** A store to make limiters on. Making it and its limiters connects to nothing. */
export class Paddlegate {
  /**
   * @param url `redis://[user:password@]host[:port][/db]`, `rediss://` for TLS, `unix:///path[?db=n]` or `memory://`;
   *   more nodes of a cluster follow the first after commas. Default: `PADDLEGATE_URL`, else this process's memory.
   */
  constructor(url?: string | null, options?: StoreOptions);

  /** At most `limit` (0 to 100,000; 0 is a pause) leases at once, each until its release or `lockTimeoutMs` long. */
  concurrent<P extends Policy = "raise">(
    name: string,
    limit: number,
    options?: ConcurrencyOptions<P>,
  ): Limiter<Refusal<P>>;
  /** At most `limit` in each interval that starts at a multiple of `interval` since 1970. */
  bucket<P extends Policy = "raise">(
    name: string,
    limit: number,
    interval: Interval,
    options?: BucketOptions<P>,
  ): Limiter<Refusal<P>>;
  /** At most `limit` (up to 100,000) in any interval, exactly. */
  window<P extends Policy = "raise">(
    name: string,
    limit: number,
    interval: Interval,
    options?: LimiterOptions<P>,
  ): Limiter<Refusal<P>>;
  /** A burst of `capacity`, which drains fully in `drain`. */
  leaky<P extends Policy = "raise">(
    name: string,
    capacity: number,
    drain: Interval,
    options?: LimiterOptions<P>,
  ): Limiter<Refusal<P>>;
  /** A budget of `capacity` points, full again after `refill`; calls give an estimate and correct it. */
  points<P extends Policy = "raise">(
    name: string,
    capacity: number,
    refill: Interval,
    options?: LimiterOptions<P>,
  ): Limiter<Refusal<P>>;
  /** Starts at least `interval` apart, whatever they cost. */
  throttle<P extends Policy = "raise">(
    name: string,
    interval: Interval,
    options?: LimiterOptions<P>,
  ): Limiter<Refusal<P>>;
  /** Everything passes. Takes the options of all others. */
  unlimited<P extends Policy = "raise">(
    name?: string,
    options?: ConcurrencyOptions<P> & BucketOptions<P>,
  ): Limiter<Refusal<P>>;
  /** Nothing passes. */
  paused<P extends Policy = "raise">(
    name: string,
    options?: LimiterOptions<P>,
  ): Limiter<Refusal<P>>;
  /** One to eight limits that are decided together: all are charged or none. `name` has 1 to 512 bytes. */
  limiter<P extends Policy = "raise">(
    name: string,
    limits: Limits | readonly Limit[],
    options?: ConcurrencyOptions<P>,
  ): Limiter<Refusal<P>>;
  /**
   * The limiters that a document defines, by name: our own format, whose limiters come sorted by name, or that of Open
   * Job Spec, Conductor, Invantive or guild-queues, whose limiters come in its order. Its text or what `JSON.parse` made
   * of it. With `on_limit` `"ignore"` the policy is `"ignore"`, else `"raise"`; of a document that
   * says `"ignore"` somewhere, write `limitersFromDocument<Skipped>(...)`.
   */
  limitersFromDocument<S extends Skipped = never>(
    document: string | object,
    options?: LoadOptions,
  ): Map<string, Limiter<S>>;
  /** The same of a file, read at once. */
  load<S extends Skipped = never>(
    path: string | URL,
    options?: LoadOptions,
  ): Map<string, Limiter<S>>;
  /** The gate of a `RateLimitControl` of Invantive, its text or its object. The error names the path to what is wrong. */
  invantiveGate(document: string | object): Gate;
  /**
   * The limiter of a run of a Conductor workflow; both are text or object. Its name is `conductor/workflow/` and the key that the
   * definition gives the run, an object with `input`, `correlationId` and `version` as far as the key needs them. A run without a key has
   * an unlimited one. `onLimit` is `"wait"` for `QUEUE`, `"raise"` for `REJECT`.
   */
  conductorLimiter(
    definition: string | object,
    run: string | object,
    options?: WorkflowOptions,
  ): Limiter;
  /** The limiters that any process used, by name, until the `ttl` of each is over. */
  limiters(): Promise<LimiterInfo[]>;
  /**
   * Closes the connections to Redis: waits end with `InvalidError` (`argument` is `"store"`) and leave the queue, calls that
   * are under way end first, and later ones are `InvalidError`s too. Limits and leases stay as they are. Twice is as good
   * as once; in memory it does nothing.
   */
  close(): Promise<void>;
  /** `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** What all errors of this package are. The text of the message is no API. */
export abstract class PaddlegateError extends Error {
  readonly code: "OVER_LIMIT" | "INVALID" | "UNAVAILABLE" | "DATA" | "INTERNAL";
}

/** Over the limit; come back after `retryAfterMs`. */
export class OverLimitError extends PaddlegateError {
  private constructor();
  readonly code: "OVER_LIMIT";
  /** The name of the limiter, or of the slot of a gate. */
  readonly limiter: string;
  /** The refusal; that of a gate has a `slot`. */
  readonly decision: Decision | GateDecision;
  /** As in the decision; `"unavailable"` when Redis could not decide. */
  readonly reason: Kind | "unavailable" | null;
  /** As in the decision. */
  readonly retryAfterMs: number | null;
}

/** The call is wrong; fix the argument that is named. Nothing was changed. */
export class InvalidError extends PaddlegateError {
  private constructor();
  readonly code: "INVALID";
  /** The name of the wrong argument. */
  readonly argument: string;
}

/** The store cannot decide now. `cause` is the error of the socket, if there was one. */
export class UnavailableError extends PaddlegateError {
  private constructor();
  readonly code: "UNAVAILABLE";
  /** Whether the call may have been charged all the same. */
  readonly mayHaveCounted: boolean;
}

/** The stored value is not ours or is damaged; reset the limiter or use another database. */
export class DataError extends PaddlegateError {
  private constructor();
  readonly code: "DATA";
}

/** A defect of this library; please report it. */
export class InternalError extends PaddlegateError {
  private constructor();
  readonly code: "INTERNAL";
}

declare global {
  interface SymbolConstructor {
    /** As in TypeScript's own `esnext.disposable`, which not everybody has. */
    readonly asyncDispose: unique symbol;
  }
}
