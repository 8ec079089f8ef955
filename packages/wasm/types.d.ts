/* The types that the packages `paddlegate` and `paddlegate-wasm` share. The latter has a copy: `make generate`. */

/**
 * A duration: seconds, or `"second"`, `"minute"`, `"hour"`, `"day"`, or an ISO 8601 duration such as `"PT0.1S"`.
 * From one microsecond to ten years.
 */
export type Interval = number | "second" | "minute" | "hour" | "day" | `P${string}`;

/** The kind of a limit. */
export type Kind =
  | "bucket"
  | "window"
  | "leaky"
  | "points"
  | "throttle"
  | "concurrency"
  | "quota"
  | "unlimited"
  | "paused";

/** A period of the calendar. */
export type CalendarPeriod = "day" | "week" | "month" | "quarter" | "year";

/**
 * What a correction to a lower cost gives back of a meter. `"full"`: the whole difference, as Shopify does, also units that
 * have drained since the grant. `"undrained"`: at most what cannot have drained since the grant.
 */
export type Refund = "full" | "undrained";

/**
 * A limit that names its kind, as `window(500, "minute")` returns it. In a policy as an object it may have any label, in
 * one as a list its label is the name of its kind. Frozen.
 */
export type Limit =
  | readonly ["bucket", limit: number, interval: Interval, offset?: Interval]
  | readonly ["window", limit: number, interval: Interval]
  | readonly ["leaky", capacity: number, drain: Interval, refund?: Refund]
  | readonly ["points", capacity: number, refill: Interval, refund?: Refund]
  | readonly ["throttle", interval: Interval]
  | readonly ["throttle", limit: number, interval: Interval]
  | readonly ["concurrency", limit: number, lockTimeout?: Interval]
  | readonly [
      "quota",
      limit: number,
      per: CalendarPeriod,
      timezone?: string | null,
      starts?: string | null,
    ]
  | readonly ["unlimited"]
  | readonly ["paused"];

/** What a limit with the name of its kind as label needs in a policy as an object. */
export interface LimitArguments {
  readonly bucket: readonly [limit: number, interval: Interval, offset?: Interval];
  readonly window: readonly [limit: number, interval: Interval];
  readonly leaky: readonly [capacity: number, drain: Interval, refund?: Refund];
  readonly points: readonly [capacity: number, refill: Interval, refund?: Refund];
  readonly throttle: Interval | readonly [limit: number, interval: Interval];
  /** As in all lists the lock timeout is in seconds, or a text; `lockTimeoutMs` of `concurrency()` is in milliseconds. */
  readonly concurrency: number | readonly [limit: number, lockTimeout?: Interval];
  readonly quota: readonly [
    limit: number,
    per: CalendarPeriod,
    timezone?: string | null,
    starts?: string | null,
  ];
  readonly unlimited: true;
  readonly paused: true;
}

/**
 * A policy as an object: its limits by label, in the order of the members. A label has 1 to 32 characters: `a` to `z`,
 * then also digits, `_` and `-`.
 *
 * ```js
 * pg.limiter("erp", { concurrency: 20, window: [80, 60], throttle: 0.1 });
 * pg.limiter("llm", { rpm: window(500, "minute"), tpm: points(150_000, 60), concurrency: 20 });
 * ```
 */
export interface Limits {
  readonly [label: string]: Limit | LimitArguments[Kind] | undefined;
}

/** The form of a member of `Limits` that fits its label: arguments alone only where the label is the name of a kind. */
export type Labelled<L extends Limits> = {
  readonly [K in keyof L]: string extends K
    ? L[K]
    : K extends Kind
      ? Limit | LimitArguments[K] | undefined
      : Limit | undefined;
};

/** Options of `bucket` as one limit of several. */
export interface BucketLimitOptions {
  /** The time by which each interval starts earlier, below `interval`. Default 0. */
  readonly offset?: Interval;
}

/** Options of `leaky` and `points` as one limit of several. */
export interface MeterLimitOptions {
  /** What a correction to a lower cost gives back. Default `"full"`. */
  readonly refund?: Refund;
}

/** Options of `quota` as one limit of several. */
export interface QuotaLimitOptions {
  /**
   * The time zone of the calendar: `"UTC"`, an offset such as `"+05:30"`, or a name of the time zone database such as
   * `"Europe/Berlin"`. Default `"UTC"`. An unknown zone is an `InvalidError` with the argument `timezone`.
   */
  readonly timezone?: string;
  /**
   * The start of the periods, in local time. Of a day the time (`"06:00"`; default midnight), of a week the day
   * (`"sunday"`; default Monday), of a month the day (`"15"`, in a shorter month its last day; default 1), of a quarter and
   * a year month and day (`"04-06"`; default January 1), or a date at which one of the periods starts (`"2025-01-31"`,
   * `"2025-01-31T09:30"`). Another text is an `InvalidError` with the argument `starts`.
   */
  readonly starts?: string;
}

/** Options of `throttle` as one limit of several. */
export interface ThrottleLimitOptions {
  /** The evenly spaced starts per interval, at most one per microsecond. Default 1. */
  readonly limit?: number;
}

/** Options of `concurrency` as one limit of several. */
export interface ConcurrencyLimitOptions {
  /** The time in milliseconds after which an unreleased lease ends. Default 30,000. */
  readonly lockTimeoutMs?: number;
}

/** Returns a limit of `limit` units per interval; intervals start at multiples of `interval` since 1970. */
export function bucket(limit: number, interval: Interval, options?: BucketLimitOptions): Limit;

/** Returns a limit of `limit` units in any interval, exact. */
export function window(limit: number, interval: Interval): Limit;

/** Returns a limit with a burst of `capacity` units, which drains fully in `drain`. */
export function leaky(capacity: number, drain: Interval, options?: MeterLimitOptions): Limit;

/** Returns a budget of `capacity` points, which refills fully in `refill`. */
export function points(capacity: number, refill: Interval, options?: MeterLimitOptions): Limit;

/** Returns a limit whose grants are at least `interval` apart, or evenly spaced with several per interval. */
export function throttle(interval: Interval, options?: ThrottleLimitOptions): Limit;

/** Returns a limit of `limit` concurrent leases. */
export function concurrency(limit: number, options?: ConcurrencyLimitOptions): Limit;

/**
 * Returns a limit of `limit` units, from 1 to 10^12, in each period of the calendar; all of them return when a period ends. An
 * amount of money is whole micro-units: `quota(50_000_000, "month")` is 50 dollars a month.
 */
export function quota(limit: number, per: CalendarPeriod, options?: QuotaLimitOptions): Limit;

/**
 * The units of a call, from 0 to 10^12: a number for every limit that counts units, or a number for each label. A limit
 * that is not named counts one, the call; a `points` limit must be named. `concurrency` and `throttle` count calls and
 * may not be named.
 *
 * Of limiters that decide together, a number is the cost of each, and a key may also be the name of a limiter, with a
 * number or with a number for each label.
 *
 * ```js
 * await llm.tryAcquire({ cost: { tpm: 900 } });
 * await both.tryAcquire({ cost: { "openai:gpt-5": { tpm: 900 }, team: 3 } });
 * ```
 */
export type Cost = number | Readonly<Record<string, number | Readonly<Record<string, number>>>>;

/**
 * Why a call was refused or queued: the kind of the limit; `"too_large"` if a limit that was lowered at run time is below the
 * cost, so that the call can pass when the limit is raised again; `"blocked"`; or `"running"` for a job
 * in its worker, if another run of it holds its lease.
 */
export type Reason = Kind | "too_large" | "blocked" | "running";

/**
 * Whether a limiter refuses. `"enforce"`: calls above a limit are refused or wait. `"shadow"`: they are granted at once, charge
 * nothing, and say so in `wouldRefuse` of the decision.
 */
export type Mode = "enforce" | "shadow";

/** After a number of refusals within a time, a key, or a name without keys, is blocked for a time. */
export interface BlockAfter {
  /** The refusals by a limit that lead to a block, from 1 to 1,000,000. Those by a pause or during a block do not count. */
  readonly refusals: number;
  /** The milliseconds within which they are counted, from 1000 to 7 days; they begin with the first refusal. */
  readonly withinMs: number;
  /** The milliseconds for which the block lasts, from 1000 to 7 days. */
  readonly forMs: number;
}

/** Options of a limiter that refuses nobody, that blocks automatically, or whose calls rise in the queue. */
export interface ModeOptions {
  /**
   * The mode. Default `"enforce"`. For the roll-out of a limit `"shadow"` decides and counts as ever, but refuses nobody:
   * statistics have the calls as `shadowRefused`. It is of the limiter in this process; `override` changes it in all.
   */
  readonly mode?: Mode;
  /**
   * Blocks a key of a keyed limiter, or the name of another, after a number of refusals in all processes; `resume` ends a
   * block. Default: never. Other numbers are an `InvalidError` with the argument `blockAfter`.
   *
   * ```js
   * const blockAfter = { refusals: 100, withinMs: 60_000, forMs: 3_600_000 };
   * const login = pg.window("login", 5, "minute", { keyed: true, blockAfter });
   * ```
   */
  readonly blockAfter?: BlockAfter;
  /**
   * Gives a call that waits the next higher priority after each such time, from one second to seven days, so that those of
   * a higher one cannot hold it up for ever. It rises when it asks again. Default: never. Other values are an
   * `InvalidError` with the argument `aging`.
   */
  readonly aging?: Interval;
}

/** The place of a call in the queue. A call that does not queue has no use for it. */
export interface QueueOptions {
  /** The priority, from 0 to 9: higher first. Default 0. */
  readonly priority?: number;
  /**
   * Whose call this is, such as a tenant: 1 to 128 bytes without control characters. Shares with calls in the queue take
   * turns by what their calls cost, whatever the number of their calls. Default: nobody's, which is a share of its own.
   */
  readonly share?: string;
  /** How much the share gets beside others, from 1 to 1000. Default 1. Only with a share. */
  readonly weight?: number;
}

/** The wait timeout of a call. */
export interface WaitOptions {
  /** The longest wait of `acquire` and `withinLimit` in milliseconds; 0 does not wait. Default 5000. */
  readonly waitTimeoutMs?: number;
}

/**
 * The behaviour of `withinLimit` when the call is refused: `"raise"` rejects, `"ignore"` resolves with `SKIPPED`.
 * `"skip"` is the same as `"ignore"`.
 */
export type Policy = "raise" | "ignore" | "skip";

/** The key of a call. */
export interface KeyOptions {
  /**
   * The key of a keyed limiter, 1 to 512 bytes: `limiter.allow({ key })` is `limiter.withKey(key).allow()`. A keyed
   * limiter needs one, any other takes none: otherwise `InvalidError` with the argument `key`.
   */
  readonly key?: string;
}

/** Options for the state of a limiter and its statistics. */
export interface StateOptions {
  /**
   * Whether each key has a state of its own: a limit for each user, address or tenant. A key that is not used costs
   * nothing. All keys have one set of statistics and one entry in the list of limiters. In a Redis Cluster they are
   * spread over up to 16 nodes; with a group they are on one. Default `false`. A keyed limiter and one without keys have
   * nothing in common, even with the same name.
   */
  readonly keyed?: boolean;
  /**
   * Whether the limiter has statistics and an entry in the list of limiters. Without them Redis does less for each call,
   * and `stats` and `history` fail with `InvalidError`, whose argument is `statistics`. Default `true`.
   */
  readonly statistics?: boolean;
}

/** Options of the limiter of several limiters that decide together. */
export interface TogetherOptions<P extends Policy = Policy> extends WaitOptions {
  /** The behaviour of `withinLimit` when the call is refused. Default `"raise"`. */
  readonly onLimit?: P;
}

/**
 * The result of a correction. `"settled"`: the charge is now the actual cost. `"already"`: the permit was settled
 * before. `"late"`: the permit is older than five minutes, or than its `settleWithinMs`. `"unknown"`: there is no such
 * open permit.
 */
export type Settlement = "settled" | "already" | "late" | "unknown";

/** Why a permit cannot be extended: it is not open, as the settlement of the same name says. */
export type Closed = Exclude<Settlement, "settled">;

/**
 * The effect of an upstream's report: its changes, and its values that changed nothing, with reasons. Values that were
 * known already are in neither list. Frozen.
 */
export interface Learned {
  /** The settlement of the permit; `null` if the report has no cost for a permit. */
  readonly settlement: Settlement | null;
  /**
   * The changed values: `"limit"`, `"interval"`, `"remaining"`, `"reset"` and `"pause"`, with the label of the limit if
   * there are several, as in `"remaining[rpm]"`.
   */
  readonly learned: readonly string[];
  /** The values that changed nothing, with the reason, such as `"remaining: calls are open"`. */
  readonly ignored: readonly string[];
  /** The actual cost of the call according to the response; `null` if it has none. */
  readonly cost: number | null;
  /** The pause that the response requests, in milliseconds; `null` if it requests none. */
  readonly pauseMs: number | null;
  /** The scope of a refusal; `"global"` concerns all limiters of this API. Only Discord reports it. */
  readonly scope: "user" | "global" | "shared" | null;
  /** The upstream's name of the budget that counted the call. Only Discord reports it. */
  readonly bucket: string | null;
}

/**
 * The result of a release. `"released"`: the lease is free for another caller. `"late"`: the lease ended before its
 * release. `"unknown"`: there is no such lease (it was released, reset or deleted).
 */
export type Release = "released" | "late" | "unknown";

/** One limit of an inspection, without regard to the others. */
export interface InspectedLimit {
  readonly label: string;
  readonly kind: Kind;
  /** The amount that rules. */
  readonly limit: number;
  /** The interval that rules, in milliseconds, as in `LimitSettings`. */
  readonly intervalMs: number;
  /** Whose numbers these are. */
  readonly source: "policy" | "override" | "learned";
  /** The units, starts or leases that count now; above the limit in debt, or after the limit was lowered. */
  readonly taken: number;
  /** The units that are left, of a throttle 1 or 0. Those that tickets wait for are not subtracted. */
  readonly remaining: number;
  /**
   * The time until this limit passes one more unit to a call that nobody is ahead of, whatever the other limits and a pause
   * say, in milliseconds; `null` when unknown, as under a limit of zero.
   */
  readonly nextAfterMs: number | null;
  /** The time until all of it is available again, in milliseconds. */
  readonly resetAfterMs: number;
}

/** One lease of an inspection. */
export interface LeaseInfo {
  /** The id of the call that holds it. */
  readonly id: string;
  /** The time since the grant in milliseconds; `null` when the store no longer knows it. */
  readonly heldForMs: number | null;
  /** The time until it ends, unless it is renewed or released, in milliseconds. */
  readonly endsInMs: number;
  /** The fencing token; `null` when the store no longer knows it. */
  readonly fencingToken: number | null;
}

/** One ticket of an inspection. */
export interface TicketInfo {
  /** The id of the call that waits. */
  readonly id: string;
  /** The priority, from 0 to 9; the highest first. */
  readonly priority: number;
  /** The share that the ticket counts for; `null` without one. */
  readonly share: string | null;
  /** The time since it joined the queue, in milliseconds. */
  readonly waitedMs: number;
  /** Whether its call may retry now: it was called, or the time of its next try has come. */
  readonly ready: boolean;
}

/** What a limiter contains at one moment. Frozen. */
export interface Inspection {
  /** The time of the store in microseconds since 1970. */
  readonly atUs: number;
  /** The limits of the policy, in its order; none of an unlimited policy. */
  readonly limits: readonly InspectedLimit[];
  /** The remaining time of the pause in milliseconds; `null` without a pause. */
  readonly pausedForMs: number | null;
  /** The remaining time of the block in milliseconds; `null` without a block. */
  readonly blockedForMs: number | null;
  /** The mode in force: its override, otherwise the mode of the limiter. */
  readonly mode: Mode;
  /** A page of the leases, also of other policies of the name; the first to end first. */
  readonly leases: readonly LeaseInfo[];
  /** The number of all leases. */
  readonly leaseCount: number;
  /** A page of the tickets, in the order of the queue. Lapsed tickets leave gaps in a page. */
  readonly tickets: readonly TicketInfo[];
  /** The number of all tickets, with lapsed ones that no call has removed yet. */
  readonly ticketCount: number;
}

/** A part of the leases and of the tickets: of each list `count` entries from `offset` on. */
export interface InspectionOptions {
  /** The number of entries before the page, at most 100,000. Default 0. */
  readonly offset?: number;
  /** The length of the page, at most 250; 0 only counts. Default 100. */
  readonly count?: number;
}

/**
 * The statistics of a limiter in all processes that share it, with its current leases and tickets. Times are sums. Those
 * of a keyed limiter are of all keys, and have no leases and tickets (0). Frozen.
 */
export interface Statistics {
  /** Granted calls; with a concurrency limit, leases. */
  readonly granted: number;
  /** Refused calls, and waits that timed out. */
  readonly refused: number;
  /** Grants after a wait. */
  readonly waited: number;
  /** Grants without a wait. */
  readonly immediate: number;
  /** The total wait of the grants after a wait. */
  readonly waitTimeMs: number;
  /** Units taken, after corrections; of a cost by label the largest number. */
  readonly units: number;
  /** Settled permits. */
  readonly corrections: number;
  /** The total time that released leases were held. */
  readonly heldTimeMs: number;
  /** Leases that were released after their end. */
  readonly overages: number;
  /** Leases that had ended without a release when another caller was granted a lease. */
  readonly reclaimed: number;
  /** Tickets that lost their queue position because they were not claimed in time. */
  readonly lapsed: number;
  /** Current leases. */
  readonly leases: number;
  /** Tickets currently in the queue. */
  readonly tickets: number;
  /** Calls that only `mode: "shadow"` let pass; they count neither as granted nor as refused. */
  readonly shadowRefused: number;
  /**
   * How many of the refused calls each limit refused, by its label, such as `{ window: 3 }`. A pause, a block and the end of
   * a wait refuse the others.
   */
  readonly refusedBy: Readonly<Record<string, number>>;
  /**
   * How many of the grants that waited have waited how long, in powers of two of a millisecond: below 1 ms, from 1 ms to below
   * 2 ms, then to below 4 ms, and so on; the last, the 22nd, from 2^20 ms (17 minutes and a half) on.
   */
  readonly waits: readonly number[];
  /** Calls that processes decided without the store, by `onUnavailable`; they count neither as granted nor as refused. */
  readonly degraded: number;
  /** Calls that failed because the store was unavailable. */
  readonly errors: number;
  /** Granted calls after which at most a fifth of a limit was left. */
  readonly nearLimit: number;
  /** Units that grants and extensions took: `units` before corrections. */
  readonly estimatedUnits: number;
  /** How long released leases were held, as a histogram with the same 22 buckets as `waits`. */
  readonly holds: readonly number[];
}

/** What a limiter has counted in each minute and hour, as UTC has them, by the clock of the store. Frozen. */
export interface History {
  /** The last 60 minutes, the oldest first; the last one is not over. */
  readonly minutes: readonly HistoryEntry[];
  /** The last 48 hours, the oldest first; the last one is not over. They contain the minutes. */
  readonly hours: readonly HistoryEntry[];
}

/** The counts of one minute or hour. Frozen. */
export interface HistoryEntry {
  /** When it began, in seconds since 1970. */
  readonly start: number;
  /** Granted calls; with a concurrency limit, leases. */
  readonly granted: number;
  /** Refused calls, and waits that timed out. */
  readonly refused: number;
  /** Grants after a wait. */
  readonly waited: number;
  /** Units taken; a correction counts when it is made. When more was given back than taken, this is 0. */
  readonly units: number;
}

/** Options of the list of limiters. */
export interface ListOptions {
  /** The beginning of the names to list. Default: all names. */
  readonly prefix?: string;
}

/** Options of a page of the list of limiters. */
export interface PageOptions extends ListOptions {
  /**
   * The `cursor` of the page before, with the same prefix; `null` for the first page, as by default. Another text is an
   * `InvalidError` with the argument `cursor`.
   */
  readonly cursor?: string | null;
}

/** One limit of a listed limiter. */
export interface LimitInfo {
  readonly label: string;
  readonly kind: Kind;
  /** The limit or the capacity; for a throttle the starts per interval. */
  readonly amount: number;
  /**
   * The interval, the time to drain or refill fully, the duration of a lease, or the longest period of a quota, in seconds.
   */
  readonly interval: number;
  /** The time by which the intervals of a bucket start earlier, in seconds. */
  readonly offset: number;
  /** The period of a quota, its time zone and the start of its periods; absent for other limits. */
  readonly per?: CalendarPeriod;
  readonly timezone?: string;
  readonly starts?: string;
}

/** The settings of a limit that apply in place of the policy's. Frozen. */
export interface LimitSettings {
  readonly kind: Kind;
  /** The limit or the capacity; for a throttle the starts per interval. */
  readonly limit: number;
  /** The interval, the time to drain or refill fully, or the duration of a lease, in milliseconds; 0 for a quota. */
  readonly intervalMs: number;
}

/** Settings of limits by label. Frozen. */
export interface SettingsByLabel {
  readonly [label: string]: LimitSettings;
}

/** The runtime state of a limiter in all processes that share it: pause, block, overrides and learned limits. Frozen. */
export interface RuntimeState {
  /** A number that increases with every change; 0 without a pause, a block, overrides or learned limits. */
  readonly version: number;
  /**
   * Whether the store had a state or statistics of the limiter before this call. `false` for an unused name. An earlier
   * admin command counts as a use.
   */
  readonly inUse: boolean;
  /** The remaining time of the pause in milliseconds; `null` without a pause. */
  readonly pausedForMs: number | null;
  /** The remaining time of the block in milliseconds, by `block` or by `blockAfter`; `null` without a block. */
  readonly blockedForMs: number | null;
  /** The mode that an override gives to every limiter of the name; `null` without one. It expires as the overrides do. */
  readonly mode: Mode | null;
  /** The active overrides, also of labels that the policy does not have. */
  readonly overrides: SettingsByLabel;
  /** The remaining time of the overrides in milliseconds; `null` if they last until they are removed. */
  readonly expiresInMs: number | null;
  /** The settings learned from upstream, which apply without an override. */
  readonly learned: SettingsByLabel;
}

/** The names of the fields that `headers` of a decision returns. */
export type HeaderFields = "draft" | "draft-6" | "x";

/** One limit after a decision, without regard to the others: a pause and the calls ahead in the queue do not count. Frozen. */
export interface DecisionLimit {
  /** Of limiters that decide together the name of the one that has the limit, otherwise `null`. */
  readonly limiter: string | null;
  /** The label. */
  readonly label: string;
  readonly kind: Kind;
  /** The limit or capacity in units, 1 for a throttle. */
  readonly limit: number;
  /**
   * The interval, the time to drain or refill fully, the duration of a lease, or the longest period of a quota, in
   * milliseconds.
   */
  readonly intervalMs: number;
  /** The units that can be taken right after the decision. */
  readonly remaining: number;
  /**
   * How long this limit holds the call up, in whole milliseconds, rounded up; 0 when it does not, as after a grant; `null`
   * when unknown.
   */
  readonly retryAfterMs: number | null;
  /** The same in microseconds, exact. */
  readonly retryAfterUs: number | null;
  /** The time until the full limit is available again, in whole milliseconds, rounded up; `null` when unknown. */
  readonly resetAfterMs: number | null;
  /** The same in microseconds, exact. */
  readonly resetAfterUs: number | null;
}

/** The fields of a decision that all packages have. */
export interface BaseDecision {
  /** `"queued"`: the call has a ticket; retry after `retryAfterMs`. `"no_ticket"`: `claim` found no ticket. */
  readonly status: "refused" | "granted" | "queued" | "no_ticket";
  /** Whether the call was granted. */
  readonly allowed: boolean;
  /** The limit or capacity in units, 1 for a throttle; `null` without a limit. */
  readonly limit: number | null;
  /** The units that can be taken right after this decision; `null` without a limit. */
  readonly remaining: number | null;
  /**
   * Why `mode: "shadow"` alone let the call pass: the reason of the refusal that others would get. Such a grant charges
   * nothing, and its permit is settled without effect. Otherwise `null`.
   */
  readonly wouldRefuse: Reason | null;
  /**
   * The time until the next attempt in whole milliseconds, rounded up, the unit of timers. 0 when granted, but the wait that
   * the call would have had with `wouldRefuse`; `null` when unknown (paused, or too large for a limit that was lowered
   * without an end).
   */
  readonly retryAfterMs: number | null;
  /**
   * The same in microseconds, exact: unless another caller releases a lease earlier, an attempt one microsecond earlier
   * is refused and one at this time is granted.
   */
  readonly retryAfterUs: number | null;
  /**
   * The time until the full limit is available again if there are no further calls, in whole milliseconds, rounded up;
   * `null` when unknown (paused).
   */
  readonly resetAfterMs: number | null;
  /** The same in microseconds, exact. */
  readonly resetAfterUs: number | null;
  /** The label of the limit that these values describe; `null` for a pause, and without a limit. */
  readonly label: string | null;
  /** Whether the estimate was above the capacity of a limit and was lowered to it. */
  readonly isLowered: boolean;
  /** Each limit, in the order of the policy, for a call with `limits: true`; otherwise empty, as where no store decided. */
  readonly limits: readonly DecisionLimit[];
  /**
   * Returns the header fields that tell the caller of a server what this decision left: of all `limits` if the call asked for
   * them, otherwise of the tightest limit. A refusal has `Retry-After`, in whole seconds, if the time is known. Throws
   * `InvalidError` for other names.
   *
   * @param fields `"draft"`, the default: `RateLimit-Policy` and `RateLimit` of the newest draft of the IETF. `"draft-6"`:
   *   `RateLimit-Limit`, `RateLimit-Remaining`, `RateLimit-Reset` and `RateLimit-Policy` of the sixth draft. `"x"`:
   *   `X-RateLimit-Limit`, `X-RateLimit-Remaining`, and `X-RateLimit-Reset` in seconds since 1970.
   */
  headers(fields?: HeaderFields): Record<string, string>;
  /** Of limiters that decide together the name of the one that these values describe, otherwise `null`. */
  readonly limiter: string | null;
  /** The store's time of the decision in microseconds since 1970; 0 when the store was not used. */
  readonly atUs: number;
  /** The id with which any process can correct an estimate and release a lease; `null` without either. */
  readonly permit: string | null;
  /** The duration of the lease in milliseconds; `null` without a concurrency limit. */
  readonly leaseMs: number | null;
  /**
   * The fencing token: a number that increases with every lease of the limiter, so that a resource can reject holders
   * whose lease has ended. `null` without a concurrency limit.
   */
  readonly fencingToken: number | null;
  /** The number of the ticket of a queued call, otherwise `null`. */
  readonly ticket: number | null;
  /** The number of calls before it in the queue. */
  readonly position: number | null;
  /**
   * The time until it can be granted if all calls before it are, in whole milliseconds, rounded up; `null` if that
   * depends on a release.
   */
  readonly readyAfterMs: number | null;
  /** The same in microseconds, exact. */
  readonly readyAfterUs: number | null;
}

/** The result of `withinLimit` if its limiter has the policy `"ignore"` and its function was not run. */
export const SKIPPED: unique symbol;

/** The type of `SKIPPED`. `value === SKIPPED` distinguishes it from a result of the function. */
export type Skipped = typeof SKIPPED;

/** The additional result type of `withinLimit` for a refused call. */
export type Refusal<P extends Policy> = P extends "raise" ? never : Skipped;

/** An option of a call that returns its decision. */
export interface LimitsOption {
  /** Whether the decision has each limit of the policy as `limits`, for headers and dashboards. Default `false`. */
  readonly limits?: boolean;
}

/** The demand of a call: a final cost, or an estimate to be corrected later. */
export interface Request extends KeyOptions {
  /** The units to take. Default 1; `points` has no default. A cost of 0 checks without taking. */
  readonly cost?: Cost;
  /** The units to take for now, not 0. The grant has a `permit` with which the actual cost is reported. */
  readonly estimate?: Cost;
  /**
   * How long after its grant the estimate can be settled, in milliseconds, from 5 minutes to 7 days. Default 5 minutes.
   * Another value, or one without an estimate, is an `InvalidError` with the argument `settleWithinMs`.
   */
  readonly settleWithinMs?: number;
}

/** A request with an id. */
export interface NamedRequest extends Request {
  /**
   * The id of the call, 1 to 64 bytes. A repeated call with the same id takes no second lease while it holds one, and
   * keeps its queue position while it has a ticket. Default: a new id.
   */
  readonly id?: string;
}

/** A request for a ticket that the caller claims later. */
export interface TicketRequest extends Request, QueueOptions {
  /** The longest acceptable wait in milliseconds. A rate that needs longer refuses the call. Default ten years. */
  readonly waitTimeoutMs?: number;
  /** The time in milliseconds that a ticket keeps its queue position after it can be claimed. Default 60,000. */
  readonly claimTimeoutMs?: number;
}

/** The duration or the end of a pause or a block: give exactly one. */
export interface PauseOptions extends KeyOptions {
  /** The duration from now in milliseconds, up to ten years. */
  readonly forMs?: number;
  /** The end as a date, or in milliseconds since 1970. */
  readonly until?: Date | number;
}

/** An override: `limit` or `intervalMs` of one limit of the policy, or `limits`, or `mode`. */
export interface OverrideOptions<L extends Limits = Limits> extends KeyOptions {
  /** The limit or the capacity. Default: as in the policy. */
  readonly limit?: number;
  /**
   * The interval, the time to drain or refill fully, or the duration of a lease, in milliseconds. Default: as in the
   * policy.
   */
  readonly intervalMs?: number;
  /** The label of the limit. Default: the only limit of the policy. */
  readonly label?: string;
  /** Whole limits by label, also by labels that the policy does not have, in place of the three above. */
  readonly limits?: (L & Labelled<L>) | readonly Limit[];
  /** The mode of every limiter of the name, alone. */
  readonly mode?: Mode;
  /** The lifetime of all overrides in milliseconds. Default: until `restore`, or 90 days without a grant. */
  readonly expiresInMs?: number;
  /** The same as a date, or in milliseconds since 1970. */
  readonly expiresAt?: Date | number;
}

/** The overrides to remove. */
export interface RestoreOptions extends KeyOptions {
  /** The label of the limit. Default: all limits and the mode. */
  readonly label?: string;
  /** Whether to remove the override of the mode alone. Default `false`. */
  readonly mode?: boolean;
}

/**
 * A clock that moves only when a test moves it, for the option `clock` of one or several stores. Calls that wait still
 * sleep in real time; they see the clock at each attempt.
 *
 * ```js
 * const clock = new TestClock();
 * const api = new Paddlegate("memory://", { clock }).window("api", 1, "minute");
 * await api.allow(); // true
 * clock.advance("minute");
 * await api.allow(); // true again
 * ```
 */
export class TestClock {
  /** @param nowUs The time in microseconds since 1970, from 0 to 2^52. Default 0. Otherwise throws `InvalidError`. */
  constructor(nowUs?: number);
  /**
   * The time in microseconds since 1970, from 0 to 2^52. An earlier time acts as a clock that ran backwards:
   * the limiters keep their own time, which does not.
   */
  nowUs: number;
  /** Moves the clock forward; a number is seconds. Throws `InvalidError` if the time would be above 2^52. */
  advance(span: Interval): void;
}

/** The base class of all errors of this package. The text of the message is not part of the API. */
export abstract class PaddlegateError extends Error {
  readonly code: "OVER_LIMIT" | "INVALID" | "UNAVAILABLE" | "DATA" | "INTERNAL";
}

/** An argument is invalid; correct the named argument. Nothing was changed. */
export class InvalidError extends PaddlegateError {
  private constructor();
  readonly code: "INVALID";
  /** The name of the invalid argument. */
  readonly argument: string;
}

/**
 * The store is unavailable: Redis, with the error of the socket as `cause`, if there was one; or memory, which already holds a
 * million limiters.
 */
export class UnavailableError extends PaddlegateError {
  private constructor();
  readonly code: "UNAVAILABLE";
  /** Whether the call may have been charged nevertheless; always false in memory. */
  readonly mayHaveCounted: boolean;
}

/**
 * The stored value belongs to other software or is damaged; reset the limiter or use another database. Does not occur in
 * memory.
 */
export class DataError extends PaddlegateError {
  private constructor();
  readonly code: "DATA";
}

/** A defect of this package; please report it. */
export class InternalError extends PaddlegateError {
  private constructor();
  readonly code: "INTERNAL";
}
