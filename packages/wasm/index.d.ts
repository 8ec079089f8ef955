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

/** How long a call waits. */
export interface WaitOptions {
  /** Milliseconds that `acquire` and `withinLimit` wait for their turn. 0 does not wait. Default 5000. */
  readonly waitTimeoutMs?: number;
}

/** What `withinLimit` does when it is refused: it rejects, or it gives `SKIPPED`. `"skip"` is the same as `"ignore"`. */
export type Policy = "raise" | "ignore" | "skip";

/** Options of a limiter. */
export interface LimiterOptions<P extends Policy = Policy> extends WaitOptions {
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

/** The time of a call; a time before the limiter's last one counts as that one. */
export interface At {
  /** Microseconds since 1970, up to 2^52. Default: the clock of the host. */
  readonly atUs?: number;
}

/** What a call asks for: a final cost, or an estimate to be corrected later. */
export interface Request extends At {
  /** Units to take, from 0 to 10^12. Default 1, none with `points`. 0 looks without taking. */
  readonly cost?: number;
  /** Units to take for now, from 1 to 10^12; a grant has a `permit` to report the actual cost with. */
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
export interface WaitingRequest extends NamedRequest, WaitOptions {
  /** Ends the waiting at once with its reason, and leaves neither ticket nor lease. */
  readonly signal?: AbortSignal;
}

/** A request of somebody who comes back to claim. */
export interface TicketRequest extends Request {
  /** Milliseconds that it would wait; a rate that cannot let it pass by then refuses. Default ten years. */
  readonly waitTimeoutMs?: number;
  /** Milliseconds that the ticket keeps its place after the time to claim it. Default 60,000. */
  readonly claimTimeoutMs?: number;
}

/** The answer to one call, with the numbers of the limit that is the tightest. */
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
  /** The same exactly: refused a microsecond before, granted at it. */
  readonly retryAfterUs: number | null;
  /**
   * Until all of the limit is there again, if nobody calls: whole milliseconds, rounded up; `null` when no time is known
   * (paused).
   */
  readonly resetAfterMs: number | null;
  /** The same exactly, in microseconds. */
  readonly resetAfterUs: number | null;
  /** The kind of the limit that refused; `null` when granted. */
  readonly reason: Kind | null;
  /** Which limit of the policy the numbers describe, counted from 0. */
  readonly index: number;
  /** The time of the decision in microseconds since 1970; 0 when no limit had to be asked. */
  readonly atUs: number;
  /** The id by which a grant with an estimate is corrected and a lease released, else `null`. */
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
  /** False: memory can always decide. Redis in the package `paddlegate` cannot. */
  readonly degraded: false;
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
   * The id by which anybody may correct or release the grant; `null` without an estimate or a concurrency limit.
   */
  readonly id: string | null;
  /** The grant. */
  readonly decision: Decision;
  /** As in the decision. */
  readonly fence: number | null;
  /** As in the decision. */
  readonly degraded: false;
  /** Milliseconds until the lease ends, by the clock of the host; `null` without a concurrency limit. */
  readonly expiresInMs: number | null;
  /** Whether the lease ended before its release, so that another may hold it. Asks nobody. */
  readonly lost: boolean;
  /** Ends the lease, once. Without a concurrency limit there is none, and the answer is `"unknown"`. */
  release(): Release;
  /** Gives the lease its whole time again; false when there is none, or none any more. */
  renew(): boolean;
  /** Replaces the estimate by what the call did cost, once. Without an estimate it throws an `InvalidError`. */
  pointsUsed(actual: number): Settlement;
}

/** What a limiter has done, and who is there now. Times are sums. Frozen. */
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

/** One limiter of this store. */
export interface LimiterInfo {
  readonly name: string;
  /** As they were last used. */
  readonly limits: readonly LimitInfo[];
  /** Not kept in memory. */
  readonly lastUsed: null;
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

/** The numbers that rule in place of those of a policy's limit. Frozen. */
export interface LimitSettings {
  readonly kind: Kind;
  /** The limit or the capacity; 1 for a throttle. */
  readonly limit: number;
  /** Milliseconds: the interval, the time to drain or refill fully, or how long a lease lasts. */
  readonly intervalMs: number;
}

/** What is in force beside the policy. Frozen. */
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
export interface PauseOptions extends At {
  /** Milliseconds from now, up to ten years. */
  readonly forMs?: number;
  /** A time, or milliseconds since 1970. */
  readonly until?: Date | number;
}

/** The numbers that shall rule; what is not given stays as the policy has it. */
export interface OverrideOptions extends At {
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
export interface RestoreOptions extends At {
  /** Which limit of the policy, counted from 0. Default: all. */
  readonly index?: number;
}

/** What upstream says of the budget behind one limit; of its numbers what is not given stays as the policy has it. */
export interface BudgetOptions extends At {
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

/** What `withinLimit` gives when it is refused. */
type Refusal<P extends Policy> = P extends "raise" ? never : Skipped;

/** Makes limiters that share one memory: that of this page or process, and of this object alone. */
export class Paddlegate {
  /** @param url only `"memory://"`, which is also the default. For Redis there is the package `paddlegate`. */
  constructor(url?: "memory://");

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
  /** The limiters of this store, by name. */
  limiters(): LimiterInfo[];
}

/**
 * A name and a policy. Every method throws an `InvalidError` for a wrong argument, and then has changed nothing. `S` is
 * what `withinLimit` gives when it is refused: nothing but an error, or `SKIPPED`.
 */
export interface Limiter<S = never> {
  /** The name it was made with. */
  readonly name: string;
  /**
   * Waits for its turn, runs `fn`, releases the lease and gives the value of `fn`. When the wait takes too long it
   * rejects with `OverLimitError`, or gives `SKIPPED` if that is the policy.
   */
  withinLimit<T>(fn: (permit: Permit) => T | PromiseLike<T>): Promise<T | S>;
  withinLimit<T>(
    request: WaitingRequest | undefined,
    fn: (permit: Permit) => T | PromiseLike<T>,
  ): Promise<T | S>;
  /** Waits for its turn, first come first served; `OverLimitError` when that takes too long. */
  acquire(request?: WaitingRequest): Promise<Permit>;
  /** Takes the cost if every limit allows it and nobody waits before, else nothing. */
  tryAcquire(request?: NamedRequest): Decision;
  /** `tryAcquire` for a plain answer; `InvalidError` with a concurrency limit, whose lease nobody could release. */
  allow(request?: Request): boolean;
  /** What `tryAcquire` would answer; changes nothing. `remaining` is what is there. */
  peek(request?: Request): Decision;
  /** Replaces the estimate of a permit by the actual cost, once. Less gives back, more makes a debt. */
  correct(permit: string | Permit, actual: number, options?: At): Settlement;
  /** Ends the lease of a permit, once; frees nobody else's. */
  release(permit: string | Permit, options?: At): Release;
  /** Gives a lease its whole time again: the milliseconds it lasts, or `null` when it has ended. */
  renew(permit: string | Permit, options?: At): number | null;
  /**
   * Takes the cost, or a ticket at the end of the queue: come back with `claim` after `retryAfterMs`. Asked again with
   * the same id it keeps its place.
   */
  enqueue(id: string, request?: TicketRequest): Decision;
  /** Takes the cost if its turn has come; the status is `"gone"` when it has no ticket. */
  claim(id: string, request?: TicketRequest): Decision;
  /** Leaves the queue, and gives back the lease that the ticket may have become. */
  cancel(id: string, options?: At): "cancelled" | "unknown";
  /** What was done with this limiter. */
  stats(options?: At): Statistics;
  /** Forgets all that was taken, all permits, leases and tickets, and the statistics. */
  reset(): void;
  /**
   * Grants nothing for so long; the reason of refusals is `"paused"`. Who waits goes on to wait. A
   * pause that ends later stays as it is.
   */
  pause(options: PauseOptions): RuntimeState;
  /** Ends the pause. */
  resume(options?: At): RuntimeState;
  /** Puts other numbers before those of every policy of this name. A lower limit takes nobody's lease. */
  override(options: OverrideOptions): RuntimeState;
  /** The policy, or what was learned from upstream, rules again. */
  restore(options?: RestoreOptions): RuntimeState;
  /** What is in force beside the policy. */
  runtimeState(options?: At): RuntimeState;
  /** Takes over what upstream says of its budget. */
  reportBudget(options: BudgetOptions): Learned;
}

/** What all errors of this package are. The text of the message is no API. */
export abstract class PaddlegateError extends Error {
  readonly code: "OVER_LIMIT" | "INVALID" | "UNAVAILABLE" | "DATA" | "INTERNAL";
}

/** Over the limit; come back after `retryAfterMs`. Only `acquire` and `withinLimit` reject with it. */
export class OverLimitError extends PaddlegateError {
  private constructor();
  readonly code: "OVER_LIMIT";
  /** The name of the limiter. */
  readonly limiter: string;
  /** The refusal. */
  readonly decision: Decision;
  /** As in the decision. */
  readonly retryAfterMs: number | null;
}

/** The call is wrong; fix the argument that is named. */
export class InvalidError extends PaddlegateError {
  private constructor();
  readonly code: "INVALID";
  /** The name of the wrong argument. */
  readonly argument: string | null;
}

/** The store cannot decide now: it holds a million limiters already. */
export class UnavailableError extends PaddlegateError {
  private constructor();
  readonly code: "UNAVAILABLE";
  /** Whether the call may have been charged all the same; never so in memory. */
  readonly mayHaveCounted: boolean;
}

/** A stored value is damaged; cannot happen in memory. */
export class DataError extends PaddlegateError {
  private constructor();
  readonly code: "DATA";
}

/** A defect of this package; please report it. */
export class InternalError extends PaddlegateError {
  private constructor();
  readonly code: "INTERNAL";
}
