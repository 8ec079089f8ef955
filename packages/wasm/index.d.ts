import type {
  BaseDecision,
  CalendarPeriod,
  Closed,
  Cost,
  History,
  Inspection,
  InspectionOptions,
  Interval,
  KeyOptions,
  Labelled,
  Learned,
  Limit,
  LimitInfo,
  Limits,
  LimitsOption,
  ListOptions,
  MeterLimitOptions,
  Mode,
  ModeOptions,
  NamedRequest,
  OverrideOptions,
  PaddlegateError,
  PageOptions,
  PauseOptions,
  Policy,
  QueueOptions,
  QuotaLimitOptions,
  Reason,
  Refusal,
  Release,
  Request,
  RestoreOptions,
  RuntimeState,
  Settlement,
  Skipped,
  StateOptions,
  Statistics,
  TestClock,
  TicketInfo,
  TicketRequest,
  TogetherOptions,
  WaitOptions,
} from "./types.js";

export * from "./types.js";

/** Options of a store. */
export interface StoreOptions {
  /** The clock that decides in place of the clock of the runtime, for tests and simulations. */
  readonly clock?: TestClock;
}

/** Options of a limiter. */
export interface LimiterOptions<P extends Policy = Policy>
  extends WaitOptions,
    StateOptions,
    ModeOptions {
  /** The behaviour of `withinLimit` when the call is refused. Default `"raise"`. */
  readonly onLimit?: P;
  /** The retention of the statistics after the last use, at least one second. Default 90 days. */
  readonly ttl?: Interval;
  /** The group, 1 to 512 bytes, as in the package `paddlegate`: a name in another group has another state. */
  readonly group?: string;
}

/** Options of a concurrency limit. */
export interface ConcurrencyOptions<P extends Policy = Policy> extends LimiterOptions<P> {
  /** The time in milliseconds after which an unreleased lease ends. Default 30,000. */
  readonly lockTimeoutMs?: number;
}

/** Options of a bucket. */
export interface BucketOptions<P extends Policy = Policy> extends LimiterOptions<P> {
  /** The time by which each interval starts earlier, below `interval`; two hours for days of UTC+2. Default 0. */
  readonly offset?: Interval;
}

/** Options of a meter: `leaky` and `points`. */
export interface MeterOptions<P extends Policy = Policy>
  extends LimiterOptions<P>,
    MeterLimitOptions {}

/** Options of a quota. */
export interface QuotaOptions<P extends Policy = Policy>
  extends LimiterOptions<P>,
    QuotaLimitOptions {}

/** Options of a throttle. */
export interface ThrottleOptions<P extends Policy = Policy> extends LimiterOptions<P> {
  /** The evenly spaced starts per interval, at most one per microsecond. Default 1. */
  readonly limit?: number;
}

/** A request that may wait. */
export interface WaitingRequest extends NamedRequest, QueueOptions, WaitOptions, LimitsOption {
  /** Ends the wait on abort with the reason of the signal, and leaves neither ticket nor lease. */
  readonly signal?: AbortSignal;
}

/** The decision about one call, with the values of the tightest limit. Frozen. */
export interface Decision extends BaseDecision {
  /** Why the call was refused or queued; `null` when granted. */
  readonly reason: Reason | null;
  /** Always false: memory is always available. In the package `paddlegate` Redis may be unavailable. */
  readonly degraded: false;
}

/** A grant. */
export interface Permit {
  /**
   * The id with which any caller can correct or release the grant; `null` without an estimate or a concurrency limit.
   */
  readonly id: string | null;
  /** The decision that granted the call. */
  readonly decision: Decision;
  /** As in the decision. */
  readonly fencingToken: number | null;
  /** As in the decision. */
  readonly degraded: false;
  /** The milliseconds until the lease ends, by the clock of the runtime; `null` without a concurrency limit. */
  readonly expiresInMs: number | null;
  /** Whether the lease ended before its release, so that another caller may hold it. Sends nothing. */
  readonly lost: boolean;
  /** Ends the lease, once. Returns `"unknown"` without a concurrency limit. */
  release(): Release;
  /** Renews the lease for its full duration. Returns false if there is no lease or it has ended. */
  renew(): boolean;
  /**
   * Replaces the estimate with the actual cost, once, as `correct` of the limiter does. Without an estimate it throws
   * `InvalidError`.
   */
  correct(actual: Cost): Settlement;
  /**
   * Reserves more units for the call, as `extend` of the limiter does; a grant replaces `id`. Without an estimate it
   * throws `InvalidError`, whose argument is `estimate`.
   */
  extend(units: Cost): Decision | Closed;
  /** The same as `correct`, for one budget of points. */
  pointsUsed(actual: Cost): Settlement;
}

/** A limiter of this store. */
export interface LimiterInfo {
  readonly name: string;
  /** The group of the limiter; `null` without one. */
  readonly group: string | null;
  /** Whether the limiter has a state for each key. */
  readonly keyed: boolean;
  /** The mode as last used. An override of it is in the `runtimeState`. */
  readonly mode: Mode;
  /** The limits of the last use. */
  readonly limits: readonly LimitInfo[];
  /** Always `null`: memory does not record the time of the last use. */
  readonly lastUsed: null;
  /** The retention of the statistics after the last use, in seconds. */
  readonly ttl: number;
}

/** A page of the list of limiters. */
export interface LimiterPage {
  /** The limiters of the page, sorted by name. */
  readonly limiters: LimiterInfo[];
  /** Always `null`: in memory there is one page. */
  readonly cursor: null;
}

/** The upstream's report of the budget behind one limit; an absent limit or interval stays as in the policy. */
export interface BudgetOptions extends KeyOptions {
  /** The remaining units, from 0 to 10^12. */
  readonly remaining?: number;
  /** The limit or capacity of the budget. */
  readonly limit?: number;
  /** The interval of the budget, or its time from empty to full, in milliseconds. */
  readonly intervalMs?: number;
  /** The restored units per second, in place of `intervalMs`. */
  readonly restoreRate?: number;
  /** The milliseconds until the interval of a bucket ends. */
  readonly resetInMs?: number;
  /** The same as a date, or in milliseconds since 1970. */
  readonly resetAt?: Date | number;
  /** The label of the limit. Default: the only limit of the policy. */
  readonly label?: string;
  /** The permit of the call that received the report; its time distinguishes older reports from newer ones. */
  readonly permit?: string | Permit | null;
}

/** A store, which creates limiters. Their state is in the memory of this page or process, separate for each object. */
export class Paddlegate {
  /** @param url Only `"memory://"`, which is also the default. For Redis use the package `paddlegate`. */
  constructor(url?: "memory://" | null, options?: StoreOptions);

  /**
   * Creates a limiter with at most `limit` concurrent leases (0 to 100,000; 0 is a pause). A lease ends at its release
   * or after `lockTimeoutMs`.
   */
  concurrent<P extends Policy = "raise">(
    name: string,
    limit: number,
    options?: ConcurrencyOptions<P>,
  ): Limiter<Refusal<P>>;
  /**
   * Creates a limiter with at most `limit` units per interval; intervals start at multiples of `interval` since 1970.
   */
  bucket<P extends Policy = "raise">(
    name: string,
    limit: number,
    interval: Interval,
    options?: BucketOptions<P>,
  ): Limiter<Refusal<P>>;
  /** Creates a limiter with at most `limit` units (up to 100,000) in any interval, exact. */
  window<P extends Policy = "raise">(
    name: string,
    limit: number,
    interval: Interval,
    options?: LimiterOptions<P>,
  ): Limiter<Refusal<P>>;
  /** Creates a limiter with a burst of `capacity` units, which drains fully in `drain`. */
  leaky<P extends Policy = "raise">(
    name: string,
    capacity: number,
    drain: Interval,
    options?: MeterOptions<P>,
  ): Limiter<Refusal<P>>;
  /**
   * Creates a limiter with a budget of `capacity` points, which refills fully in `refill`. Calls pass an estimate and
   * correct it.
   */
  points<P extends Policy = "raise">(
    name: string,
    capacity: number,
    refill: Interval,
    options?: MeterOptions<P>,
  ): Limiter<Refusal<P>>;
  /**
   * Creates a limiter whose grants are at least `interval` apart, regardless of their cost; with `limit: 3` it grants
   * three per interval, evenly spaced.
   */
  throttle<P extends Policy = "raise">(
    name: string,
    interval: Interval,
    options?: ThrottleOptions<P>,
  ): Limiter<Refusal<P>>;
  /**
   * Creates a limiter with at most `limit` units, from 1 to 10^12, in each period of the calendar. All units return when a
   * period ends, by the clock of the store.
   *
   * ```js
   * const tenant = pg.quota("tenant-7", 50_000_000, "month", { timezone: "Europe/Berlin" });
   * ```
   */
  quota<P extends Policy = "raise">(
    name: string,
    limit: number,
    per: CalendarPeriod,
    options?: QuotaOptions<P>,
  ): Limiter<Refusal<P>>;
  /** Creates a limiter that grants every call. It accepts the options of all other limiters. */
  unlimited<P extends Policy = "raise">(
    name?: string,
    options?: ConcurrencyOptions<P> &
      BucketOptions<P> &
      MeterOptions<P> &
      QuotaOptions<P> &
      ThrottleOptions<P>,
  ): Limiter<Refusal<P>>;
  /** Creates a limiter that grants nothing. */
  paused<P extends Policy = "raise">(
    name: string,
    options?: LimiterOptions<P>,
  ): Limiter<Refusal<P>>;
  /**
   * Creates a limiter with one to eight limits that are decided together: all are charged or none. `name` has 1 to 512
   * bytes. Limiters of one name share what was taken under the labels and kinds that they have in common.
   */
  limiter<P extends Policy = "raise", L extends Limits = Limits>(
    name: string,
    limits: (L & Labelled<L>) | readonly Limit[],
    options?: ConcurrencyOptions<P>,
  ): Limiter<Refusal<P>>;
  /**
   * Creates a limiter of one to four limiters of this store that decide together: all are charged or none. A keyed
   * limiter is given with its key: `pg.together([org.withKey("acme"), user.withKey("alice")])`. Its name is theirs with
   * ` + ` between; `decision.limiter` names the one that refused, or that has the fewest remaining units. It has the verbs
   * of a limiter, but statistics, runtime states, reports and resets, which are of one name and throw `InvalidError`.
   *
   * Each keeps its own queue. A call waits in the queue of the first limiter that refuses it; while another holds it up, it
   * keeps its position there and stops nobody behind it. A permit is for the same limiters in the same order.
   */
  together<P extends Policy = "raise">(
    limiters: readonly Limiter<Skipped>[],
    options?: TogetherOptions<P>,
  ): Limiter<Refusal<P>>;
  /** Returns the limiters of this store with statistics, sorted by name; with `prefix` those whose names begin with it. */
  limiters(options?: ListOptions): LimiterInfo[];
  /**
   * Returns the same as a page: in memory there is one, whose `cursor` is `null`. In the package `paddlegate` a list in
   * Redis has several.
   */
  limiterPage(options?: PageOptions): LimiterPage;
}

/**
 * A limiter: a name and a policy. Every method throws `InvalidError` for an invalid argument, without changing
 * anything. A keyed limiter needs a `key` for each call but `stats` and `history`. `S` is the additional result type of `withinLimit`
 * for a refused call: `never`, or `Skipped`.
 */
export interface Limiter<S = never> {
  /** The name of the limiter. */
  readonly name: string;
  /** The group of the limiter; `null` without one. */
  readonly group: string | null;
  /** Whether the limiter has a state for each key. */
  readonly keyed: boolean;
  /** The limits of the policy, in its order; those of each limiter in turn, where several decide together. Frozen. */
  readonly limits: readonly LimitInfo[];
  /** The key that was given to `withKey`, otherwise `null`. */
  readonly key: string | null;
  /**
   * Returns the limiter of one key of a keyed limiter, with the same options. It is made for one call: cheap, and
   * nothing remains of it. Throws `InvalidError` with the argument `key` if the key has not 1 to 512 bytes or is no
   * string, and for a limiter that is not keyed.
   */
  withKey(key: string): Limiter<S>;
  /**
   * Waits in the queue, runs `fn`, releases the lease and resolves with the result of `fn`. If the wait times out it
   * rejects with `OverLimitError`, or resolves with `SKIPPED`, depending on the policy.
   */
  withinLimit<T>(fn: (permit: Permit) => T | PromiseLike<T>): Promise<T | S>;
  withinLimit<T>(
    request: WaitingRequest | undefined,
    fn: (permit: Permit) => T | PromiseLike<T>,
  ): Promise<T | S>;
  /**
   * Takes the cost, and waits in the queue for up to `waitTimeoutMs`, first come, first served. Rejects with
   * `OverLimitError` if the wait times out.
   */
  acquire(request?: WaitingRequest): Promise<Permit>;
  /** Takes the cost if every limit allows it and no call is waiting, otherwise nothing. */
  tryAcquire(request?: NamedRequest & LimitsOption): Decision;
  /**
   * Takes the cost as `tryAcquire` does and returns only whether the call was granted. Fails with `InvalidError` for a
   * limiter with a concurrency limit, because the lease could not be released.
   */
  allow(request?: Request): boolean;
  /** Returns the decision that `tryAcquire` would make and changes nothing. `remaining` is the units available now. */
  peek(request?: Request & LimitsOption): Decision;
  /**
   * Replaces the estimate of a permit with the actual cost, once. A lower cost is refunded; a higher cost becomes debt.
   * A cost by label changes the limits that it or the estimate names; the others count one call before and after.
   */
  correct(permit: string | Permit, actual: Cost, options?: KeyOptions): Settlement;
  /**
   * Reserves more units for the call of an open permit, such as a stream that grows: all of them if every limit allows it,
   * otherwise nothing. The decision of a grant has the id of the permit with the sum as `permit`, which replaces that of a
   * permit object; older ids stay valid. A refusal leaves the permit as it was. A permit that is not open returns the name of
   * its settlement. It does not wait behind the queue. `units` that can never be granted are an `InvalidError` with the
   * argument `units`; so is a sum above 10^12.
   *
   * A repeated call with the same id reserves the units once, so extend with the id of the last grant, one call after the
   * other; a permit object sees to both. A cost by label takes nothing of limits that it does not name. The time in which the
   * permit can be settled stays.
   *
   * ```js
   * const permit = await tokens.acquire({ estimate: 200 });
   * const extended = await permit.extend(300);
   * if (typeof extended === "string" || !extended.allowed) stream.abort();
   * ```
   */
  extend(permit: string | Permit, units: Cost, options?: KeyOptions): Decision | Closed;
  /**
   * Charges a cost in any case, whatever is left, up to one whole limit of debt; a repeated call charges again. For
   * costs that are known only afterwards. The decision is a grant and describes the limit with the fewest remaining
   * units. `concurrency` and `throttle` are not charged; a policy of these alone throws `InvalidError`.
   */
  debit(cost: Cost, options?: KeyOptions): Decision;
  /**
   * Gives units back without a permit, for those who count first and give back later: the opposite of `debit`. It gives back at
   * most what is taken of each limit now, of a window the newest units; a repeated call gives back again. `concurrency` and
   * `throttle` are not changed; a policy of these alone throws `InvalidError`.
   */
  refund(units: Cost, options?: KeyOptions): Decision;
  /** Ends the lease of a permit, once; leases of other permits are not affected. */
  release(permit: string | Permit, options?: KeyOptions): Release;
  /** Renews a lease for its full duration. Returns the duration in milliseconds, or `null` if the lease has ended. */
  renew(permit: string | Permit, options?: KeyOptions): number | null;
  /**
   * Takes the cost, or a ticket at the end of the queue: call `claim` after `retryAfterMs`. A repeated call with the
   * same id keeps its queue position.
   */
  enqueue(id: string, request?: TicketRequest): Decision;
  /** Takes the cost if the turn of its ticket has come. The status is `"no_ticket"` if there is no ticket for the id. */
  claim(id: string, request?: TicketRequest): Decision;
  /** Leaves the queue, and gives back the lease if the ticket was already granted one. */
  cancel(id: string, options?: KeyOptions): "cancelled" | "unknown";
  /**
   * Returns the ids of up to `count` queued jobs whose turn has come, in the order of the queue, for a process that starts
   * the jobs: a job that starts then calls `admit` or `claim`. It takes nothing. Each id is returned once, to one process,
   * and the claim timeout of the job begins then: after it those behind the job may pass. Calls that wait in `acquire` are
   * left out, as is a job whose cost the limits no longer allow.
   *
   * While a process asks at least every 10 seconds, `admit` tells a refused job to come back after a minute instead of after
   * an estimate, as do `enqueue` and `claim` with a `claimTimeoutMs` of a minute or more: the job makes one call to queue
   * and one to run.
   *
   * `count` is from 1 to 100, the default. Throws `InvalidError`, whose argument is `count`.
   *
   * ```js
   * for (const job of workers.ready()) start(job);
   * ```
   */
  ready(count?: number, options?: KeyOptions): string[];
  /**
   * Returns the limits with the numbers that rule, a page of the leases and of the tickets, the pause, the block and the mode.
   * Takes nothing and changes nothing, and works under a pause too. Throws `InvalidError`, whose argument is `offset`
   * or `count`, for a page out of range.
   *
   * ```js
   * const { limits } = api.inspect();
   * for (const { label, remaining } of limits) console.log(label, remaining);
   * ```
   */
  inspect(options?: KeyOptions & InspectionOptions): Inspection;
  /** Returns a page of the tickets, in the order of the queue, as `inspect` has them. */
  queue(options?: KeyOptions & InspectionOptions): readonly TicketInfo[];
  /**
   * Returns the statistics of this limiter; the statistics of a keyed limiter cover all keys, and it takes no key. Throws
   * `InvalidError`, whose argument is `statistics`, for a limiter without statistics.
   */
  stats(): Statistics;
  /** Returns what was counted in each of the last 60 minutes and 48 hours, for charts. Throws as `stats` does. */
  history(): History;
  /**
   * Deletes all taken units, permits, leases and tickets, and the statistics; for a keyed limiter only what belongs to
   * one key, and the statistics of all keys stay.
   */
  reset(options?: KeyOptions): void;
  /**
   * Grants nothing for a time; the reason of refusals is `"paused"`. Waiting calls keep waiting. A pause that ends
   * later is left unchanged.
   */
  pause(options: PauseOptions): RuntimeState;
  /**
   * Refuses every call for a time, in all processes, with the reason `"blocked"`: for a key that was abused. A block that
   * ends later is left unchanged; `resume` ends it.
   */
  block(options: PauseOptions): RuntimeState;
  /** Ends the pause and the block. */
  resume(options?: KeyOptions): RuntimeState;
  /** Overrides values of every policy of this name. A lower limit ends no existing lease. */
  override<L extends Limits = Limits>(options: OverrideOptions<L>): RuntimeState;
  /** Removes overrides; the policy or the limits learned from upstream apply again. */
  restore(options?: RestoreOptions): RuntimeState;
  /** Returns the runtime state: pause, overrides and learned limits. */
  runtimeState(options?: KeyOptions): RuntimeState;
  /** Applies the upstream's report of its budget. */
  reportBudget(options: BudgetOptions): Learned;
}

/** The call was refused by a limit; retry after `retryAfterMs`. Only `acquire` and `withinLimit` reject with it. */
export class OverLimitError extends PaddlegateError {
  private constructor();
  readonly code: "OVER_LIMIT";
  /** The name of the limiter, of several the one that refused. */
  readonly limiter: string;
  /** The decision that refused the call. */
  readonly decision: Decision;
  /** As in the decision. */
  readonly reason: Reason | null;
  /** As in the decision. */
  readonly retryAfterMs: number | null;
}
