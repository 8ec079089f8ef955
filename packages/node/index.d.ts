import type * as shared from "./types.js";
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
  PaddlegateError,
  PageOptions,
  Policy,
  QueueOptions,
  QuotaLimitOptions,
  Reason,
  Refusal,
  Release,
  RuntimeState,
  Settlement,
  Skipped,
  StateOptions,
  Statistics,
  TestClock,
  TicketInfo,
  TogetherOptions,
  WaitOptions,
} from "./types.js";

export * from "./types.js";

/** Options of a store. */
export interface StoreOptions {
  /** The timeout of a call to Redis in milliseconds, from 1 to 60,000. Default 1000. */
  readonly timeoutMs?: number;
  /**
   * The clock that decides in place of the store's own, for tests. For a store in Redis it is an `InvalidError` with
   * the argument `clock`, unless the environment has `PADDLEGATE_TEST_CLOCK=1`.
   */
  readonly clock?: TestClock;
}

/**
 * The behaviour of `acquire`, `withinLimit`, `tryAcquire`, `allow`, `peek`, `enqueue`, `claim` and `admit` when Redis
 * is unavailable. `"raise"`: `UnavailableError`. `"fail_closed"`: refused until the next attempt to reach Redis. `"fail_open"`:
 * granted and never counted. `"local"`: decided by this process alone, with `localSharePercent`. With all but `"raise"` the
 * decision is `degraded`, no call waits, and after five failures in a row one call per second goes to Redis until one
 * succeeds.
 */
export type OnUnavailable = "raise" | "fail_closed" | "fail_open" | "local";

/** Options for the time when Redis is unavailable. */
export interface UnavailableOptions {
  /** The behaviour when Redis is unavailable. Default `"raise"`. It has no effect in memory. */
  readonly onUnavailable?: OnUnavailable;
  /**
   * With `"local"`: the percentage of each limit that this process may take, from 1 to 100, rounded down. Default 100.
   * The limits hold over all processes if the sum of their shares is at most 100.
   */
  readonly localSharePercent?: number;
}

/** Options of a limiter. */
export interface LimiterOptions<P extends Policy = Policy>
  extends WaitOptions,
    StateOptions,
    ModeOptions,
    UnavailableOptions {
  /** The behaviour of `withinLimit` when the call is refused. Default `"raise"`. */
  readonly onLimit?: P;
  /** The retention of the statistics after the last use, at least one second. Default 90 days. */
  readonly ttl?: Interval;
  /**
   * The group, 1 to 512 bytes. Only limiters of one group can decide together in a Redis Cluster, which keeps them on
   * one node. All processes must give a name the same group: with another, or none, it has another state.
   */
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

/** The cancellation of a call. */
export interface CallOptions {
  /**
   * Rejects the call with the reason of the signal on abort. A signal that is aborted before the call takes nothing.
   *
   * `acquire`, `withinLimit` and `tryAcquire` leave neither ticket nor lease: if it is aborted while Redis decides, they
   * give back a lease and an estimate that were granted after the abort; units of a rate without an estimate stay taken.
   * The ticket or the lease of `enqueue`, `claim`, `admit` and `admitAll` stays then, since its id names a job:
   * call `cancel(id)`, or repeat the call.
   */
  readonly signal?: AbortSignal;
}

/** The cancellation of a call, and its key. */
export interface KeyedCallOptions extends CallOptions, KeyOptions {}

/** The options of a loop over turns. */
export interface TurnsOptions extends KeyedCallOptions {
  /**
   * How many turns one question returns at most, from 1 to 100, the default. A loop that runs each job itself before it takes
   * the next turn asks for 1, since the others would wait for it.
   */
  readonly count?: number;
  /** After how many milliseconds without a turn the loop ends. Default: it does not. */
  readonly waitTimeoutMs?: number;
}

/** The demand of a call: a final cost, or an estimate to be corrected later. */
export interface Request extends shared.Request, CallOptions {}

/** A request with an id. */
export interface NamedRequest extends shared.NamedRequest, CallOptions {}

/** A request that may wait. */
export interface WaitingRequest extends NamedRequest, QueueOptions, WaitOptions, LimitsOption {}

/** A request to admit a job. */
export interface AdmissionRequest extends Request, QueueOptions {
  /**
   * The handling of a refused job. `"wait"` and `"reschedule"` take a ticket. Default: the handling in the limiter's
   * document, otherwise `"wait"`.
   */
  readonly onLimit?: OnLimit;
  /**
   * The time in milliseconds after its turn for which a queued job is not passed by, from 0.001 to ten years. Others pass a
   * job by that has not called by then; its queue position is kept for a minute more. Default 5000.
   */
  readonly claimTimeoutMs?: number;
}

/** A request for a ticket that the caller claims later. */
export interface TicketRequest extends shared.TicketRequest, CallOptions {}

/** The decision about one call, with the values of the tightest limit. Frozen. */
export interface Decision extends BaseDecision {
  /** Why the call was refused or queued; `"unavailable"` when Redis was (see `degraded`). `null` when granted. */
  readonly reason: Reason | "unavailable" | null;
  /** Whether Redis was unavailable and `onUnavailable` determined the decision. */
  readonly degraded: boolean;
}

/** The action for a job. Frozen. */
export interface Admission {
  /**
   * `"run"`: run the job now and release its permit when it has ended, whether it succeeded or failed. `"wait"`: leave
   * the job where it is; it keeps its queue position. `"reschedule"`: put the job off until its time; it keeps its
   * queue position. `"drop"`: discard the job; when Redis is unavailable the action is `"wait"` instead. `"refuse"`:
   * the job is over the limit and `onLimit` is `"raise"` or `"ignore"`.
   */
  readonly action: "run" | "wait" | "reschedule" | "drop" | "refuse";
  /**
   * Whole milliseconds until the job may run or until the next attempt with the same id; `null` when unknown (paused),
   * and for a job that runs or is dropped.
   */
  readonly afterMs: number | null;
  /** The decision behind the action, with the queue position of a job that waits. */
  readonly decision: Decision;
  /** The permit of a job that runs, otherwise `null`. */
  readonly permit: Permit | null;
}

/** A grant. */
export interface Permit {
  /**
   * The id with which any process can correct or release the grant; `null` without an estimate or a concurrency limit.
   */
  readonly id: string | null;
  /** The decision that granted the call. */
  readonly decision: Decision;
  /** As in the decision. */
  readonly fencingToken: number | null;
  /** As in the decision. If true, Redis has no record of the grant, and `release` and `correct` send nothing. */
  readonly degraded: boolean;
  /** The milliseconds until the lease ends, by this process's clock; `null` without a concurrency limit. */
  readonly expiresInMs: number | null;
  /** Whether the lease ended before its release, so that another caller may hold it. Sends nothing. */
  readonly lost: boolean;
  /** Ends the lease, once. Returns `"unknown"` without a concurrency limit. */
  release(): Promise<Release>;
  /** Renews the lease for its full duration. Returns false if there is no lease or it has ended. */
  renew(): Promise<boolean>;
  /**
   * Replaces the estimate with the actual cost, once, as `correct` of the limiter does. Without an estimate it rejects
   * with `InvalidError`.
   */
  correct(actual: Cost): Promise<Settlement>;
  /**
   * Reserves more units for the call, as `extend` of the limiter does; a grant replaces `id`. Without an estimate it
   * rejects with `InvalidError`, whose argument is `estimate`.
   */
  extend(units: Cost): Promise<Decision | Closed>;
  /** The same as `correct`, for one budget of points. */
  pointsUsed(actual: Cost): Promise<Settlement>;
  /**
   * Replaces the estimate with the cost in the response and applies its budget, in one step, as `learnFromResponse` of
   * the limiter does. For a lease without an estimate the settlement of a cost is `"unknown"`; the rest is applied.
   */
  learnFromResponse(response: UpstreamResponse, options?: AnswerOptions): Promise<Learned>;
}

/** A limiter that a process has used. */
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
  /** The time of the last use in seconds since 1970, to the minute; `null` in memory. */
  readonly lastUsed: number | null;
  /** The retention of the statistics after the last use, in seconds. */
  readonly ttl: number;
}

/** A page of the list of limiters. */
export interface LimiterPage {
  /** The limiters of the page, sorted by name. A name may be on two pages. */
  readonly limiters: LimiterInfo[];
  /** The cursor of the next page; `null` on the last page. */
  readonly cursor: string | null;
}

/**
 * A limiter: a name and a policy. Create it once and reuse it. Every method rejects with `InvalidError` for an invalid
 * argument, without changing anything, and with `UnavailableError` if the store is unavailable. A keyed limiter needs a
 * `key` for each call but `stats` and `history`. `S` is the additional result type of `withinLimit` for a refused call: `never`, or
 * `Skipped`.
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
  /** The handling of refused work in the limiter's document; `null` for a limiter that is not from a document. */
  readonly onLimit: OnLimit | null;
  /**
   * Returns the limiter of one key of a keyed limiter, with the same options. It is made for one call: cheap, and
   * nothing remains of it. Throws `InvalidError` with the argument `key` if the key has not 1 to 512 bytes or is no
   * string, and for a limiter that is not keyed.
   */
  withKey(key: string): Limiter<S>;
  /**
   * Waits in the queue, runs `fn`, releases the lease and resolves with the result of `fn`. If the wait times out it
   * rejects with `OverLimitError`, or resolves with `SKIPPED`, depending on the policy.
   *
   * If the lease ends while `fn` runs, `permit.lost` is true and the process emits the warning `LeaseLostWarning`.
   */
  withinLimit<T>(fn: (permit: Permit) => T | PromiseLike<T>): Promise<T | S>;
  withinLimit<T>(
    request: WaitingRequest | undefined,
    fn: (permit: Permit) => T | PromiseLike<T>,
  ): Promise<T | S>;
  /**
   * Takes the cost, and waits in the queue for up to `waitTimeoutMs`, first come, first served. Rejects with
   * `OverLimitError` if the wait times out, or at once if a rate needs longer than `waitTimeoutMs`.
   */
  acquire(request?: WaitingRequest): Promise<Permit>;
  /** Takes the cost if every limit allows it and no call is waiting, otherwise nothing. Never waits for a limit. */
  tryAcquire(request?: NamedRequest & LimitsOption): Promise<Decision>;
  /**
   * Takes the cost as `tryAcquire` does and returns only whether the call was granted. Fails with `InvalidError` for a
   * limiter with a concurrency limit, because the lease could not be released.
   */
  allow(request?: Request): Promise<boolean>;
  /**
   * Decides as `allow` does, without a promise, in half of its time. Only in memory: for a store in Redis it throws
   * `InvalidError`, argument `store`.
   *
   * @example
   * const api = new Paddlegate("memory://").window("api", 100, "minute");
   * if (!api.allowSync()) throw new Error("too many");
   */
  allowSync(request?: Request): boolean;
  /** Returns the decision that `tryAcquire` would make and changes nothing. `remaining` is the units available now. */
  peek(request?: Request & LimitsOption): Promise<Decision>;
  /**
   * Replaces the estimate of a permit with the actual cost, once, within five minutes of its grant or within its
   * `settleWithinMs`. A lower cost is refunded; a higher cost becomes debt. A cost by label changes the limits that it or
   * the estimate names; the others count one call before and after.
   */
  correct(permit: string | Permit, actual: Cost, options?: KeyedCallOptions): Promise<Settlement>;
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
  extend(
    permit: string | Permit,
    units: Cost,
    options?: KeyedCallOptions,
  ): Promise<Decision | Closed>;
  /**
   * Charges a cost in any case, whatever is left, up to one whole limit of debt; a repeated call charges again. For
   * costs that are known only afterwards. The decision is a grant and describes the limit with the fewest remaining
   * units. `concurrency` and `throttle` are not charged; a policy of these alone fails with `InvalidError`.
   */
  debit(cost: Cost, options?: KeyedCallOptions): Promise<Decision>;
  /**
   * Gives units back without a permit, for those who count first and give back later: the opposite of `debit`. It gives back at
   * most what is taken of each limit now, of a window the newest units; a repeated call gives back again. `concurrency` and
   * `throttle` are not changed; a policy of these alone fails with `InvalidError`.
   */
  refund(units: Cost, options?: KeyedCallOptions): Promise<Decision>;
  /** Ends the lease of a permit, once; leases of other permits are not affected. */
  release(permit: string | Permit, options?: KeyedCallOptions): Promise<Release>;
  /** Renews a lease for its full duration. Returns the duration in milliseconds, or `null` if the lease has ended. */
  renew(permit: string | Permit, options?: KeyedCallOptions): Promise<number | null>;
  /**
   * Takes the cost, or a ticket at the end of the queue, for callers that do not wait themselves: call `claim` after
   * `retryAfterMs`. A repeated call with the same id keeps its queue position.
   */
  enqueue(id: string, request?: TicketRequest): Promise<Decision>;
  /** Takes the cost if the turn of its ticket has come. The status is `"no_ticket"` if there is no ticket for the id. */
  claim(id: string, request?: TicketRequest): Promise<Decision>;
  /**
   * Decides about a job with its id, 1 to 64 bytes. A repeated call for a job that runs takes nothing. Use another id
   * for each retry of a failed job, which counts as a new job. Never waits.
   */
  admit(job: string, request?: AdmissionRequest): Promise<Admission>;
  /**
   * Decides about several jobs of one unit each, in order: all of them run or none. If a job cannot run, the units of
   * the earlier ones are given back, and none gets a ticket.
   */
  admitAll(jobs: readonly string[], options?: BatchOptions): Promise<Admission[]>;
  /** Leaves the queue, and gives back the lease if the ticket was already granted one. */
  cancel(id: string, options?: KeyedCallOptions): Promise<"cancelled" | "unknown">;
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
   * `count` is from 1 to 100, the default. Rejects with `InvalidError`, whose argument is `count`.
   *
   * ```js
   * for (const job of await workers.ready()) start(job);
   * ```
   */
  ready(count?: number, options?: KeyedCallOptions): Promise<string[]>;
  /**
   * Returns an iterator over the ids of queued jobs, each when its turn comes: `ready` for a process that starts jobs and has
   * nothing else to do. It sleeps until the next turn comes, over the connection of the wake-ups, and asks again after at
   * most 5 seconds. Each id comes once, to one process, and the job calls `admit` or `claim` within its claim timeout.
   *
   * The loop ends when no turn has come for `waitTimeoutMs`, if that is given, and rejects with the reason of an aborted
   * `signal`, with `InvalidError`, whose argument is `count`, and with the errors of a call.
   *
   * ```js
   * for await (const job of workers.turns()) start(job);
   * ```
   */
  turns(options?: TurnsOptions): AsyncGenerator<string, void, undefined>;
  /**
   * Returns the limits with the numbers that rule, a page of the leases and of the tickets, the pause, the block and the mode.
   * Takes nothing and changes nothing, and works under a pause too. Rejects with `InvalidError`, whose argument is `offset`
   * or `count`, for a page out of range.
   *
   * ```js
   * const { limits } = await api.inspect();
   * for (const { label, remaining } of limits) console.log(label, remaining);
   * ```
   */
  inspect(options?: KeyedCallOptions & InspectionOptions): Promise<Inspection>;
  /** Returns a page of the tickets, in the order of the queue, as `inspect` has them. */
  queue(options?: KeyedCallOptions & InspectionOptions): Promise<readonly TicketInfo[]>;
  /**
   * Returns the statistics of this limiter over all processes; the statistics of a keyed limiter cover all keys, and it takes no
   * key. Rejects with `InvalidError`, whose argument is `statistics`, for a limiter without statistics.
   */
  stats(options?: CallOptions): Promise<Statistics>;
  /**
   * Returns what was counted in each of the last 60 minutes and 48 hours by all processes, for charts. Rejects as `stats`
   * does.
   *
   * ```js
   * const { minutes } = await api.history();
   * for (const { start, granted, refused } of minutes) console.log(new Date(start * 1000), granted, refused);
   * ```
   */
  history(options?: CallOptions): Promise<History>;
  /**
   * Deletes all taken units, permits, leases and tickets, and the statistics; for a keyed limiter only what belongs to
   * one key, and the statistics of all keys stay.
   */
  reset(options?: KeyedCallOptions): Promise<void>;
  /**
   * Grants nothing for a time, in all processes; the reason of refusals is `"paused"`. Waiting calls keep waiting. A
   * pause that ends later is left unchanged.
   */
  pause(options: PauseOptions): Promise<RuntimeState>;
  /**
   * Refuses every call for a time, in all processes, with the reason `"blocked"`: for a key that was abused. A block that
   * ends later is left unchanged; `resume` ends it.
   */
  block(options: PauseOptions): Promise<RuntimeState>;
  /** Ends the pause and the block. */
  resume(options?: KeyedCallOptions): Promise<RuntimeState>;
  /** Overrides values, or the mode, of every limiter of this name, in all processes. A lower limit ends no existing lease. */
  override<L extends Limits = Limits>(options: OverrideOptions<L>): Promise<RuntimeState>;
  /**
   * Applies the overrides of an Open Job Spec document, given as text or as an object: `concurrency`, `rate` (or
   * `limit` with `period`), `throttle` and `expires_at`. Absent members leave the current override and its end
   * unchanged; `null` removes it.
   */
  applyOjsOverride(document: string | object, options?: KeyedCallOptions): Promise<RuntimeState>;
  /**
   * Pauses the limiter after the rate limit failure of an Open Job Spec job, given as text or as an object. Without
   * `retry_after` and `rate_limit_until` the pause is 30 seconds; a pause that ends later is left unchanged. Returns
   * `false` if `type` is neither `"rate_limited"` nor `"RateLimitExceeded"`.
   */
  applyOjsSignal(document: string | object, options?: KeyedCallOptions): Promise<boolean>;
  /** Removes overrides; the policy or the limits learned from upstream apply again. */
  restore(options?: RestoreOptions): Promise<RuntimeState>;
  /** Returns the runtime state: pause, overrides and learned limits. */
  runtimeState(options?: KeyedCallOptions): Promise<RuntimeState>;
  /** Applies the upstream's report of its budget. */
  reportBudget(options: BudgetOptions): Promise<Learned>;
  /**
   * Applies an upstream response in one step: the remaining budget, the limits, and, if the upstream refused the call,
   * a pause for all processes. Without a `status` a response counts as a refusal only if the provider's documentation
   * defines it as one.
   */
  learnFromResponse(response: UpstreamResponse, options?: LearnOptions): Promise<Learned>;
}

/** Options of a decision about several jobs. */
export interface BatchOptions extends KeyOptions {
  /** The handling of refused jobs. Default: the handling in the limiter's document, otherwise `"wait"`. */
  readonly onLimit?: OnLimit;
  /** Whether to decide about each job separately, as `admit` does. Default `false`: all or none. */
  readonly partial?: boolean;
  /** Rejects the promise on abort; the operations that have started still run to their end. */
  readonly signal?: AbortSignal;
}

/** The attributes of a request. An element of the document with a criterion for an absent attribute does not apply. */
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

/** The decision about a request at a gate. Frozen. */
export interface GateDecision {
  /** Whether the request may proceed. If not, respond with a failure. */
  readonly allowed: boolean;
  /** The delay of the response in milliseconds, also of a failure; 0 without a delay. */
  readonly delayMs: number;
  /** The slot that counted the request; `null` if no slot limits it. */
  readonly slot: string | null;
  /** The level that refused, or that causes the longest delay; `null` if no level is full. */
  readonly level: "second" | "minute" | "hour" | null;
  /** The milliseconds after the decision until a refused request may pass; 0 when allowed, `null` when unknown. */
  readonly retryAfterMs: number | null;
  /** The kind of the limit that refused; `null` when allowed. */
  readonly reason: "bucket" | "paused" | null;
}

/**
 * Selects the slot of an Invantive `RateLimitControl` that limits a request. Create it once and reuse it; all processes
 * with the same slots share their counts.
 */
export interface Gate {
  /**
   * Counts a request in the slot of the first element that applies. A request that a level refuses is not counted; any
   * other is counted in every level. The longest delay of the full levels applies to both. Never waits.
   */
  admit(request?: GateRequest): Promise<GateDecision>;
  /**
   * Sleeps for the delay, then runs `fn` and resolves with its result. If a level refuses the request it rejects with
   * `OverLimitError` after the delay and does not run `fn`.
   */
  withinLimit<T>(fn: (decision: GateDecision) => T | PromiseLike<T>): Promise<T>;
  withinLimit<T>(
    request: GateRequest | undefined,
    fn: (decision: GateDecision) => T | PromiseLike<T>,
  ): Promise<T>;
}

/** Options of the limiter of a workflow run. */
export interface WorkflowOptions extends UnavailableOptions {
  /** The time in milliseconds after which a lease ends if it is not renewed. Default 30,000. */
  readonly lockTimeoutMs?: number;
}

/** The duration or the end of a pause or a block: give exactly one. */
export interface PauseOptions extends shared.PauseOptions, CallOptions {}

/** An override: `limit` or `intervalMs` of one limit of the policy, or `limits`, or `mode`. */
export interface OverrideOptions<L extends Limits = Limits>
  extends shared.OverrideOptions<L>,
    CallOptions {}

/** The overrides to remove. */
export interface RestoreOptions extends shared.RestoreOptions, CallOptions {}

/** The upstream's report of the budget behind one limit; an absent limit or interval stays as in the policy. */
export interface BudgetOptions extends KeyedCallOptions {
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

/** The provider of a response; `"auto"` detects it from each response. */
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

/** Options of a document. */
export interface LoadOptions extends UnavailableOptions {
  /** The duration of a lease that is not renewed, in milliseconds. For Open Job Spec and Conductor. */
  readonly lockTimeoutMs?: number;
  /** The tenant of the jobs. For Open Job Spec. */
  readonly tenant?: string;
  /** The group, which is limited separately. For guild-queues. */
  readonly group?: string;
}

/** Options for reading a response. */
export interface AnswerOptions {
  /** The provider of the response. Default `"auto"`. */
  readonly provider?: Provider;
  /** The longest accepted pause in milliseconds. Default one hour. */
  readonly maxPauseMs?: number;
  /** The pause after a refusal that does not say for how long, in milliseconds. Default none. */
  readonly defaultPauseMs?: number;
  /** The highest limit to accept, in units. Default ten times the policy's limit. */
  readonly maxLearned?: number;
}

/** Options for reading a response, and its permit. */
export interface LearnOptions extends AnswerOptions, KeyedCallOptions {
  /** The permit of the call that received the response, to settle it with the cost. Without one nothing is settled. */
  readonly permit?: string | Permit | null;
}

/** The value of a header. A header with `null` or `undefined` is ignored. */
export type HeaderValue = string | number | null | undefined | readonly (string | number)[];

/**
 * An HTTP response. From a `Response` of `fetch` only status and headers are read, since its body is a stream. For a
 * complete response pass `{ status, headers, body: await response.text() }`.
 */
export interface UpstreamResponse {
  /** The status code. Default: `statusCode`, the name in Node's own client, otherwise unknown. */
  readonly status?: number;
  readonly statusCode?: number | undefined;
  /** `Headers`, a `Map`, pairs, or an object. Names are not case-sensitive. */
  readonly headers?:
    | Iterable<readonly [name: string, value: HeaderValue]>
    | { readonly [name: string]: HeaderValue }
    | null;
  /** The body as text, as bytes in UTF-8, or as the value of `JSON.parse`. A stream is ignored: see `StreamUsage`. */
  readonly body?: string | ArrayBuffer | ArrayBufferView | object | null;
}

/**
 * Finds the usage in the body of a response that is read in chunks, without holding the body: JSON, or server-sent events
 * with JSON, of OpenAI (in chat it sends usage if the request has `stream_options: { include_usage: true }`), Anthropic,
 * Gemini and Groq; or GraphQL with `extensions.cost`. `learnFromResponse` takes it as the `body`.
 *
 * ```js
 * const usage = new StreamUsage();
 * for await (const chunk of response.body) usage.feed(chunk);
 * await permit.learnFromResponse({ status: response.status, headers: response.headers, body: usage });
 * ```
 */
export class StreamUsage {
  /** Reads the next bytes of the body, or its text; a chunk may end anywhere. */
  feed(chunk: string | ArrayBuffer | ArrayBufferView): void;
  /** What was found, as the body of a response: JSON, or an empty text for nothing. */
  readonly body: string;
  /** What was found and not kept, with the reason; complete after the last chunk. */
  readonly ignored: readonly string[];
}

/** Options of `graphqlCost`. */
export interface GraphqlCostOptions {
  /** The provider whose rules apply. Default `"shopify"`. */
  readonly rules?: "shopify" | "github";
  /** The `operationName`, required only if the query has several operations. */
  readonly operation?: string;
}

/**
 * Returns the estimated cost of a query in points of its provider, at least 1, for the estimate of a call. `variables`
 * is an object or its JSON text.
 */
export function graphqlCost(
  query: string,
  variables?: object | string | null,
  options?: GraphqlCostOptions,
): number;

/** Options of `callerKey`. */
export interface CallerKeyOptions {
  /** The value of `X-Forwarded-For`, with a comma between several fields. It counts only behind a trusted proxy. */
  readonly forwardedFor?: string | Uint8Array | null;
  /**
   * The proxies in front of this process: addresses, networks such as `"10.0.0.0/8"`, and `"unix"` for a proxy that connects
   * by a Unix socket. Default: none.
   */
  readonly trustedProxies?: readonly string[] | null;
  /** The bits of an IPv6 address that tell callers apart, from 1 to 128. Default 64. */
  readonly ipv6Prefix?: number | null;
}

/**
 * Returns the key of a caller by the address of its connection: an IPv4 address, or the network of an IPv6 address, such as
 * `2001:db8:1:2::/64`. Ports, brackets and zones are cut. Behind a trusted proxy the caller is the last entry of
 * `forwardedFor` that is no trusted proxy. What is no address is a `plainKey`; a Unix socket has the address `""` or
 * `undefined`. Throws `InvalidError` only for the options `trustedProxies` and `ipv6Prefix`.
 */
export function callerKey(
  address: string | Uint8Array | null | undefined,
  options?: CallerKeyOptions,
): string;

/**
 * Returns the key for a text of a stranger, such as a header: the text itself if it is a key, which has 1 to 512 bytes of
 * UTF-8, otherwise `sha256:` and its digest in hexadecimal.
 */
export function plainKey(text: string | ArrayBuffer | ArrayBufferView): string;

/** The handling of refused work. */
export type OnLimit = "raise" | "ignore" | "wait" | "reschedule" | "drop";

/** A store, which creates limiters. Creating it or a limiter opens no connection. */
export class Paddlegate {
  /**
   * @param url `redis://[user:password@]host[:port][/db]`, `rediss://` for TLS, `unix:///path[?db=n]` or `memory://`.
   *   Further nodes of a cluster follow after commas. Default: the environment variable `PADDLEGATE_URL`, otherwise the
   *   memory of this process.
   */
  constructor(url?: string | null, options?: StoreOptions);

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
   * Creates a limiter of one to four limiters of this store that decide together: all are charged or none, in one call.
   * A keyed limiter is given with its key: `pg.together([org.withKey("acme"), user.withKey("alice")])`.
   * Its name is theirs with ` + ` between; `decision.limiter` names the one that refused, or that has the fewest
   * remaining units. It has the verbs of a limiter, but statistics, runtime states, reports and resets, which are of one
   * name and fail with `InvalidError`.
   *
   * Each keeps its own queue. A call waits in the queue of the first limiter that refuses it; while another holds it up, it
   * keeps its position there and stops nobody behind it. A permit is for the same limiters in the same order. While Redis
   * is unavailable the strictest `onUnavailable` applies, and `"local"` refuses. In a Redis Cluster they need one `group`.
   */
  together<P extends Policy = "raise">(
    limiters: readonly Limiter<Skipped>[],
    options?: TogetherOptions<P>,
  ): Limiter<Refusal<P>>;
  /**
   * Returns the limiters of a document by name. The document is text or the value of `JSON.parse`, in Paddlegate's own
   * format (limiters sorted by name) or that of Open Job Spec, Conductor, Invantive or guild-queues (limiters in the
   * document's order). With `on_limit` `"ignore"` the policy is `"ignore"`, otherwise `"raise"`; for a document with an
   * `"ignore"` write `limitersFromDocument<Skipped>(...)`.
   */
  limitersFromDocument<S extends Skipped = never>(
    document: string | object,
    options?: LoadOptions,
  ): Map<string, Limiter<S>>;
  /** Returns the limiters of a document in a file, as `limitersFromDocument` does. Reads the file synchronously. */
  load<S extends Skipped = never>(
    path: string | URL,
    options?: LoadOptions,
  ): Map<string, Limiter<S>>;
  /**
   * Returns the gate of an Invantive `RateLimitControl`, given as text or as an object. An error names the path of the
   * invalid value.
   */
  invantiveGate(document: string | object): Gate;
  /**
   * Returns the limiter of a Conductor workflow run. `definition` and `run` are text or objects; `run` has `input`,
   * `correlationId` and `version`, as far as the key of the definition needs them. The name is `conductor/workflow/`
   * and the key of the run; a run without a key gets an unlimited limiter. `onLimit` is `"wait"` for `QUEUE`, `"raise"`
   * for `REJECT`.
   */
  conductorLimiter(
    definition: string | object,
    run: string | object,
    options?: WorkflowOptions,
  ): Limiter;
  /**
   * Returns the limiters that any process has used, sorted by name; each is listed until its `ttl` has passed. With
   * `prefix` only those whose names begin with it. For many names read pages.
   */
  limiters(options?: ListOptions): Promise<LimiterInfo[]>;
  /**
   * Returns a page of the limiters: about 100 to 300, or the rest. In memory there is one page.
   *
   * ```js
   * let cursor = null;
   * do {
   *   const page = await pg.limiterPage({ prefix: "shop-", cursor });
   *   for (const { name } of page.limiters) console.log(name);
   *   cursor = page.cursor;
   * } while (cursor !== null);
   * ```
   */
  limiterPage(options?: PageOptions): Promise<LimiterPage>;
  /**
   * Closes the connections to Redis after the pending calls have ended. Waits end with `InvalidError` (`argument` is
   * `"store"`) and leave the queue; later calls fail with `InvalidError` too, also in memory. Limits and leases are not affected.
   * Further calls of `close` do nothing.
   */
  close(): Promise<void>;
  /** Closes the store at the end of `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The call was refused by a limit; retry after `retryAfterMs`. */
export class OverLimitError extends PaddlegateError {
  private constructor();
  readonly code: "OVER_LIMIT";
  /** The name of the limiter, of several the one that refused; or of the slot of a gate. */
  readonly limiter: string;
  /** The decision that refused the call; the decision of a gate has a `slot`. */
  readonly decision: Decision | GateDecision;
  /** As in the decision; `"unavailable"` when Redis was unavailable. */
  readonly reason: Reason | "unavailable" | null;
  /** As in the decision. */
  readonly retryAfterMs: number | null;
}

declare global {
  interface SymbolConstructor {
    /** As in TypeScript's library `esnext.disposable`, which may not be enabled. */
    readonly asyncDispose: unique symbol;
  }
}
