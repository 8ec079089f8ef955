import type { CalendarPeriod, Kind, Refund } from "../types.js";

export * from "../index.js";
export type * from "./limiter.js";
// Named exports, because they replace exports of the small module.
export {
  callerKey,
  graphqlCost,
  type Limiter,
  Paddlegate,
  type Permit,
  plainKey,
  StreamUsage,
} from "./limiter.js";

/** A document and its limiters. */
export interface Policies {
  /** The name of the format. */
  readonly format:
    | "Paddlegate limits"
    | "OJS rate limit"
    | "Conductor task definition"
    | "Conductor workflow definition"
    | "Invantive rate limit control"
    | "guild-queues reservoir";
  /** The limiters in the order of the document; empty for a workflow, whose key depends on the run. */
  readonly policies: readonly {
    readonly name: string;
    readonly limits: readonly SimulatedLimit[];
    /** An ISO 8601 duration; `null` if the document has none. */
    readonly waitTimeout: string | null;
    readonly onLimit: "raise" | "ignore" | "wait" | "reschedule" | "drop";
  }[];
}

/**
 * Reads a document in any of the formats.
 *
 * @throws InvalidError with the argument `document`, and a message that begins with the path of the invalid value.
 */
export function limitersFromDocument(text: string): Policies;

/** A duration: `"500ms"`, `"10s"`, `"5m"`, `"1h"`, `"1d"`, a word such as `"minute"`, or an ISO 8601 duration. */
export type Span = string;

/** One limit of a simulated policy. */
export interface SimulatedLimit {
  readonly kind: Kind;
  /** The label of the limit. Default: the name of the kind; a second limit of a kind needs one of its own. */
  readonly label?: string;
  /** The limit in units, or in concurrent calls; for a throttle the starts per interval (1). */
  readonly limit?: number;
  /** The interval, the time to drain or refill fully, or the duration of a lease (default 30 s). */
  readonly interval?: Span;
  /** The time by which the intervals of a bucket start earlier. */
  readonly offset?: Span;
  /** What a correction of `leaky` or `points` to a lower cost gives back. Default `"full"`. */
  readonly refund?: Refund;
  /** Of a quota, in the place of `interval`: its period, its time zone (`"UTC"`) and the start of its periods. */
  readonly per?: CalendarPeriod;
  readonly timezone?: string;
  readonly starts?: string;
}

/** One of the compared policies, and the behaviour of refused callers. */
export interface SimulatedPolicy {
  readonly name?: string;
  readonly limits: readonly SimulatedLimit[];
  /**
   * The behaviour of refused callers. `none` (default): they give up. `linear`: they retry with the backoff of
   * Sidekiq's jobs. `exponential`: they retry after a random time below `min(cap, base * 2^n)`. `wait`: they wait in
   * the limiter's queue. `ticket`: they take a ticket and return at their turn.
   */
  readonly retry?: "none" | "linear" | "exponential" | "wait" | "ticket";
  /** The number of retries (linear, exponential). Default 20. */
  readonly attempts?: number;
  /** The base of the exponential backoff. Default 1 s. */
  readonly base?: Span;
  /** The upper bound of the exponential backoff. Default 1 h. */
  readonly cap?: Span;
  /** The longest wait (wait, ticket). Default ten years. */
  readonly wait?: Span;
  /** Whether callers report actual costs. Default true. */
  readonly correct?: boolean;
}

/**
 * The times of the arrivals. `from` is the time before the first arrival. The rate of `daily` varies between `count` at
 * midnight of the clock and `to` at noon.
 */
export type Arrivals =
  | {
      readonly kind: "steady" | "poisson";
      readonly count: number;
      readonly per: Span;
      readonly for: Span;
      readonly from?: Span;
    }
  | {
      readonly kind: "burst";
      readonly count: number;
      readonly every: Span;
      readonly for: Span;
      readonly from?: Span;
    }
  | {
      readonly kind: "ramp" | "daily";
      readonly count: number;
      readonly to: number;
      readonly per: Span;
      readonly for: Span;
      readonly from?: Span;
    }
  | { readonly kind: "jobs"; readonly count: number; readonly from?: Span }
  /**
   * Times, one per line, or CSV with the columns `at` and any of `cost`, `actual`, `work`, `count`. Costs by label have a
   * column for each, such as `cost.tpm`.
   */
  | { readonly kind: "times"; readonly text: string };

/** An event at a time after the start. */
export type ScenarioEvent =
  | { readonly at: Span; readonly do: "pause"; readonly for: Span }
  | { readonly at: Span; readonly do: "resume" }
  | {
      readonly at: Span;
      readonly do: "override";
      /** The label of the limit; a policy without it ignores the event. Default: the only limit of the policy. */
      readonly label?: string;
      readonly limit?: number;
      readonly interval?: Span;
      readonly for?: Span;
    }
  | { readonly at: Span; readonly do: "crash"; readonly client: number; readonly for?: Span };

/** Units, or equally likely units from the least to the most. */
export type UnitsRange = number | readonly [least: number, most: number];

/** A scenario to simulate. A list of two values is a range with a uniform distribution. */
export interface Scenario {
  /** The seed of the random numbers. Default 1. */
  readonly seed?: number;
  /** The simulated time. Default: until no event is left. */
  readonly until?: Span;
  /** One to four policies; all get the same arrivals. */
  readonly policies: readonly SimulatedPolicy[];
  readonly arrivals: Arrivals;
  /**
   * The units of a call, for every limit that counts units or by label; with `actual` the estimate. A policy ignores the
   * labels that it does not have. Default 1.
   */
  readonly cost?: UnitsRange | { readonly [label: string]: UnitsRange };
  /** The actual cost of calls; without it `cost` is final. */
  readonly actual?: UnitsRange | { readonly [label: string]: UnitsRange };
  /** The duration of a call. Default 0. */
  readonly work?: Span | readonly [least: Span, most: Span];
  /** The number of processes that call. Default 1. */
  readonly clients?: number;
  /** The concurrent calls of each process; 0, the default, is unlimited. */
  readonly at_once?: number;
  /** The limits that the called service enforces itself. `learn`: whether its refusals pause the limiter. */
  readonly upstream?: {
    readonly limits: readonly SimulatedLimit[];
    readonly latency?: Span;
    readonly learn?: boolean;
  };
  readonly events?: readonly ScenarioEvent[];
}

/**
 * The timeline: each column has one value per decision, up to two million. Times are milliseconds.
 */
export interface Columns {
  readonly at: Float64Array;
  readonly job: Uint32Array;
  readonly client: Uint16Array;
  /** The number of earlier attempts of the job. */
  readonly attempt: Uint16Array;
  /** 0 refused, 1 granted, 2 queued, 3 retries, 4 gave up, 5 lost, 6 throttled by upstream. */
  readonly outcome: Uint8Array;
  /** The requested units; of a cost by label the largest number. */
  readonly cost: Float64Array;
  readonly wait: Float64Array;
  /** The position in `levels` of the limit that refused or is the tightest; for a pause their number, for none 255. */
  readonly limit: Uint8Array;
  /** NaN if unknown, as in `resetAfter`. */
  readonly retryAfter: Float64Array;
  readonly resetAfter: Float64Array;
  /** The remaining units of that limit; NaN where no limit decided (lost, throttled, a pause by an event). */
  readonly before: Float64Array;
  readonly after: Float64Array;
  /** The number of tickets, and of running calls. */
  readonly queue: Float64Array;
  readonly held: Float64Array;
  /** The remaining units of each limit after the decision. */
  readonly levels: readonly Float64Array[];
}

/** The totals of a policy. Times are microseconds. */
export interface Totals {
  readonly name: string;
  readonly arrived: number;
  readonly granted: number;
  readonly refused: number;
  readonly gave_up: number;
  readonly lost: number;
  readonly pending: number;
  readonly decisions: number;
  readonly waited: number;
  readonly throttled: number;
  readonly wait_us: {
    readonly mean: number;
    readonly p50: number;
    readonly p95: number;
    readonly max: number;
  };
  /** The units of all granted calls, including those that were lost afterwards; of a cost by label the largest number. */
  readonly units: number;
  /**
   * The use of the busiest limit, in thousandths of the most that it allows in that time with the settings that
   * applied. Above 1000 only if calls cost more than their estimate, or after an override.
   */
  readonly utilisation_permille: number;
  readonly largest_burst: { readonly interval_us: number; readonly units: number };
  readonly drained_after_us: number | null;
  readonly ended_at_us: number;
  /** Whether the simulation was stopped after 20 million decisions, before its end. */
  readonly cut_off: boolean;
  /** The number of rows that the timeline lacks: those after two million. */
  readonly unrecorded: number;
}

/** See {@link Simulation.overTime}. */
export interface OverTime {
  readonly at: Float64Array;
  /** The length of the queue. */
  readonly queue: Float64Array;
  /** The number of running calls. */
  readonly held: Float64Array;
  /** The remaining units of each limit. */
  readonly levels: readonly Float64Array[];
}

/**
 * The simulation of one policy of a scenario on a virtual clock, with the limiter that is used in production. The same
 * seed results in the same decisions on every machine.
 *
 * @throws InvalidError with the argument `scenario`, and a message that begins with the path of the invalid value.
 */
export class Simulation {
  /** @param policy The index of the policy. Default 0. */
  constructor(scenario: Scenario, policy?: number);
  /** Runs up to the given number of decisions, by default to the end. Returns whether there are more. */
  run(decisions?: number): boolean;
  /** The approximate progress from 0 to 1. */
  readonly progress: number;
  /** The number of rows of the timeline; at most two million. */
  readonly rows: number;
  /** Returns the timeline from the row `from` on. */
  columns(from?: number): Columns;
  /**
   * Returns what is left and who waits over time, also between decisions: an entry per change, each until the next. Times are
   * milliseconds, at most one late; a change of up to a hundredth of a limit may be later.
   */
  overTime(): OverTime;
  totals(): Totals;
  /** Returns the totals as one line of JSON, the same text that the command line prints. */
  totalsText(): string;
  /** Returns the HTTP headers, as names and values, that a caller would get with the decision of a row. */
  headers(row: number): [name: string, value: string][];
  /** Stops recording the timeline, which saves time and memory. */
  withoutTimeline(): this;
  /** Frees the memory of the simulation, which must not be used afterwards. */
  free(): void;
}
