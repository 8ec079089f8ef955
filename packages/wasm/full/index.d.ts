export * from "../index.js";
export type * from "./limiter.js";
// Named, for they come in place of those of the small module.
export { graphqlCost, type Limiter, Paddlegate, type Permit } from "./limiter.js";

/** A document, and the limiters that it defines. */
export interface Policies {
  /** The format in words. */
  readonly format:
    | "Paddlegate limits"
    | "OJS rate limit"
    | "Conductor task definition"
    | "Conductor workflow definition"
    | "Invantive rate limit control"
    | "guild-queues reservoir";
  /** In the order of the document; none of a workflow, whose key depends on the run. */
  readonly policies: readonly {
    readonly name: string;
    readonly limits: readonly SimulatedLimit[];
    /** An ISO 8601 duration, when the document says. */
    readonly waitTimeout: string | null;
    readonly onLimit: "raise" | "ignore" | "wait" | "reschedule" | "drop";
  }[];
}

/**
 * Reads a document of any of the formats.
 *
 * @throws InvalidError with the argument `document`, and a message that begins with the path of the fault.
 */
export function limitersFromDocument(text: string): Policies;

/** A length of time: `"500ms"`, `"10s"`, `"5m"`, `"1h"`, `"1d"`, a word, or an ISO 8601 duration. */
export type Span = string;

/** One limit of a simulated policy. */
export interface SimulatedLimit {
  readonly kind:
    | "bucket"
    | "window"
    | "leaky"
    | "points"
    | "throttle"
    | "concurrency"
    | "unlimited"
    | "paused";
  /** Units, or calls at once; not of a throttle. */
  readonly limit?: number;
  /** The interval, the time to drain or refill all of it, or how long a lease lasts (default 30 s). */
  readonly interval?: Span;
  /** Of a bucket: by how much earlier its intervals start. */
  readonly offset?: Span;
}

/** One of the policies that are compared, and what callers do whom it refuses. */
export interface SimulatedPolicy {
  readonly name?: string;
  readonly limits: readonly SimulatedLimit[];
  /**
   * `none` (default): they go away. `linear`: they come again as Sidekiq's jobs do. `exponential`: after a random time
   * below `min(cap, base * 2^n)`. `wait`: they stand in the limiter's queue. `ticket`: they take a place in the queue
   * and come again when it is their turn.
   */
  readonly retry?: "none" | "linear" | "exponential" | "wait" | "ticket";
  /** How often they come again (linear, exponential). Default 20. */
  readonly attempts?: number;
  /** Default 1 s. */
  readonly base?: Span;
  /** Default 1 h. */
  readonly cap?: Span;
  /** How long they wait at most (wait, ticket). Default ten years. */
  readonly wait?: Span;
  /** Whether they report actual costs. Default true. */
  readonly correct?: boolean;
}

/**
 * Who comes when; `from` is a span before the first. `daily` swings from `count` at midnight of the clock to `to` at
 * noon.
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
  /** Times one a line, or CSV with the columns `at` and any of `cost`, `actual`, `work`, `count`. */
  | { readonly kind: "times"; readonly text: string };

/** What happens at a time from the start. */
export type ScenarioEvent =
  | { readonly at: Span; readonly do: "pause"; readonly for: Span }
  | { readonly at: Span; readonly do: "resume" }
  | {
      readonly at: Span;
      readonly do: "override";
      readonly index?: number;
      readonly limit?: number;
      readonly interval?: Span;
      readonly for?: Span;
    }
  | { readonly at: Span; readonly do: "crash"; readonly client: number; readonly for?: Span };

/** What is simulated. Where two numbers are given, each between them is as likely. */
export interface Scenario {
  /** Default 1. */
  readonly seed?: number;
  /** How long to look; by default until nothing is left to happen. */
  readonly until?: Span;
  /** One to four; all face the same arrivals. */
  readonly policies: readonly SimulatedPolicy[];
  readonly arrivals: Arrivals;
  /** Units of a call; with `actual` it is the estimate. Default 1. */
  readonly cost?: number | readonly [least: number, most: number];
  /** What calls did cost; without it the cost is final. */
  readonly actual?: number | readonly [least: number, most: number];
  /** How long a call takes. Default none. */
  readonly work?: Span | readonly [least: Span, most: Span];
  /** How many processes call. Default 1. */
  readonly clients?: number;
  /** How many calls each has at once; 0, the default, is any number. */
  readonly at_once?: number;
  /** What the called service enforces by itself; `learnFromResponse`: its refusal pauses the limiter. */
  readonly upstream?: {
    readonly limits: readonly SimulatedLimit[];
    readonly latency?: Span;
    readonly learn?: boolean;
  };
  readonly events?: readonly ScenarioEvent[];
}

/**
 * What was decided when: each column has one value for each decision, up to two million. Times are milliseconds.
 */
export interface Columns {
  readonly at: Float64Array;
  readonly job: Uint32Array;
  readonly client: Uint16Array;
  /** How often the job had come before. */
  readonly attempt: Uint16Array;
  /** 0 refused, 1 granted, 2 queued, 3 retries, 4 gave up, 5 lost, 6 throttled by upstream. */
  readonly outcome: Uint8Array;
  readonly cost: Float64Array;
  readonly wait: Float64Array;
  /** The index of the limit that refused or is the tightest; the number of limits for a pause, 255 for none. */
  readonly limit: Uint8Array;
  /** Not a number where it is not known, as in `resetAfter`. */
  readonly retryAfter: Float64Array;
  readonly resetAfter: Float64Array;
  /** What was left of that limit; not a number where none decided (lost, throttled, a pause that was ordered). */
  readonly before: Float64Array;
  readonly after: Float64Array;
  /** How many had tickets, and how many calls were under way. */
  readonly queue: Float64Array;
  readonly held: Float64Array;
  /** What was left of each limit after it. */
  readonly levels: readonly Float64Array[];
}

/** What a policy did in all; times are microseconds. */
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
  /** Of all that went ahead, also of those that were lost then. */
  readonly units: number;
  /**
   * What was used of the busiest limit, in thousandths of the most that it lets through in that time under the numbers
   * that ruled it. Above 1000 only where calls cost more than they asked for, or after an order of other numbers.
   */
  readonly utilisation_permille: number;
  readonly largest_burst: { readonly interval_us: number; readonly units: number };
  readonly drained_after_us: number | null;
  readonly ended_at_us: number;
  /** Whether it was stopped after 20 million decisions with more to do. */
  readonly cut_off: boolean;
  /** How many rows the timeline lacks: those after two million. */
  readonly unrecorded: number;
}

/**
 * One policy of a scenario on a virtual clock, through the limiter that decides in production. The same seed gives the
 * same decisions on every machine.
 *
 * @throws InvalidError with the argument `scenario`, and a message that begins with the path of the fault.
 */
export class Simulation {
  /** @param policy which of the policies, from 0 (default) */
  constructor(scenario: Scenario, policy?: number);
  /** Goes on for so many decisions, by default to the end; whether there is more to do. */
  run(decisions?: number): boolean;
  /** About how much is done, from 0 to 1. */
  readonly progress: number;
  /** How many rows the timeline has; at most two million. */
  readonly rows: number;
  /** The timeline from a row on. */
  columns(from?: number): Columns;
  totals(): Totals;
  /** The totals as one line of JSON, as the terminal prints them. */
  totalsText(): string;
  /** What a caller would be told with a row: names and values of headers. */
  headers(row: number): [name: string, value: string][];
  /** Keeps no timeline from now on: faster, and small. */
  withoutTimeline(): this;
  /** Gives its memory back; it must not be used after. */
  free(): void;
}
