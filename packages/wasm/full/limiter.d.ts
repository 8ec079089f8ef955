// What the classes of the small module have besides in the larger one. Comments that are not here are there.
import type * as small from "../index.js";
import type {
  At,
  BucketOptions,
  ConcurrencyOptions,
  Decision,
  Interval,
  Learned,
  Limit,
  LimiterOptions,
  Limits,
  Policy,
  Refusal,
  Request,
  RuntimeState,
  Skipped,
  WaitingRequest,
} from "../index.js";

/** What a grant hands over. */
export interface Permit extends small.Permit {
  /**
   * `learnFromResponse` of its limiter: replaces the estimate by the cost that the answer tells, and takes over what it says of the
   * budget, in one step. Of a lease without an estimate a cost is `"unknown"`; the rest is taken over.
   */
  learnFromResponse(response: UpstreamResponse, options?: AnswerOptions): Learned;
}

/**
 * A name and a policy. Every method throws an `InvalidError` for a wrong argument, and then has changed nothing. `S` is
 * what `withinLimit` gives when it is refused: nothing but an error, or `SKIPPED`.
 */
export interface Limiter<S = never> extends small.Limiter<S> {
  /** What the document that it was loaded from says of refused work; `null` when it was made otherwise. */
  readonly onLimit: OnLimit | null;
  withinLimit<T>(fn: (permit: Permit) => T | PromiseLike<T>): Promise<T | S>;
  withinLimit<T>(
    request: WaitingRequest | undefined,
    fn: (permit: Permit) => T | PromiseLike<T>,
  ): Promise<T | S>;
  acquire(request?: WaitingRequest): Promise<Permit>;
  /**
   * Takes over what an answer of upstream says, in one step: what is left of its budget, its numbers, and a pause when it
   * refused the call. Without a `status` only an answer is a refusal that the documents of the provider tie to one.
   */
  learnFromResponse(response: UpstreamResponse, options?: LearnOptions): Learned;
  /**
   * Decides about a job under its id, of 1 to 64 bytes. Asked again about one that runs it takes nothing; one that is tried
   * again is asked about under another id, and so counts as a new one. Never waits.
   */
  admit(job: string, request?: AdmissionRequest): Admission;
  /**
   * Decides about several jobs of one unit each, in their order: all of them run or none. What was taken for the first is
   * given back when a later one cannot run, and none takes a place in the queue.
   */
  admitAll(jobs: readonly string[], options?: BatchOptions): Admission[];
  /**
   * `override` as a document of Open Job Spec says, its text or its object: `concurrency`, `rate` (or `limit` with
   * `period`), `throttle` and `expires_at`. What it does not name stays as it is, an earlier end too; null removes.
   */
  applyOjsOverride(document: string | object, options?: At): RuntimeState;
  /**
   * Pauses as the failure of a job of Open Job Spec says, its text or its object; gives `false` when its `type` is neither
   * `"rate_limited"` nor `"RateLimitExceeded"`. Without `retry_after` and `rate_limit_until` it pauses for 30 seconds; a
   * pause that ends later stays.
   */
  applyOjsSignal(document: string | object, options?: At): boolean;
}

/** A request for a job. */
export interface AdmissionRequest extends Request {
  /**
   * What becomes of a job that is refused: `"wait"` and `"reschedule"` take a place in the queue, which is kept for a
   * minute after its time. Default: what the document of the limiter says, else `"wait"`.
   */
  readonly onLimit?: OnLimit;
}

/** How several jobs are decided about. */
export interface BatchOptions extends At {
  /** What becomes of those over the limit. Default: what the document of the limiter says, else `"wait"`. */
  readonly onLimit?: OnLimit;
  /** Each by itself, as `admit` does. Default `false`: all or none. */
  readonly partial?: boolean;
}

/** What is done with a job. Frozen. */
export interface Admission {
  /**
   * `"run"`: now, and its permit is released when it has ended, however it has. `"wait"`: it stays where it is and keeps its
   * place. `"reschedule"`: it is put away until its time and keeps its place. `"drop"`: it is discarded. `"refuse"`: it is
   * over the limit, and `onLimit` is `"raise"` or `"ignore"`.
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

/** What is known of a request at a gate. An element of the document whose criterion is not given does not apply. */
export interface GateRequest extends At {
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

/** Chooses which slot of a `RateLimitControl` of Invantive limits a request. */
export interface Gate {
  /**
   * Counts a request in the slot of the first element that applies. One that a level fails counts nowhere; else it counts
   * in every level, and the longest delay of a full one rules.
   */
  admit(request?: GateRequest): GateDecision;
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
export interface LoadOptions {
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
export interface LearnOptions extends AnswerOptions, At {
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

/** What a document says of work that is refused. */
export type OnLimit = "raise" | "ignore" | "wait" | "reschedule" | "drop";

/** Makes limiters that share one memory: that of this page or process, and of this object alone. */
export class Paddlegate extends small.Paddlegate {
  concurrent<P extends Policy = "raise">(
    name: string,
    limit: number,
    options?: ConcurrencyOptions<P>,
  ): Limiter<Refusal<P>>;
  bucket<P extends Policy = "raise">(
    name: string,
    limit: number,
    interval: Interval,
    options?: BucketOptions<P>,
  ): Limiter<Refusal<P>>;
  window<P extends Policy = "raise">(
    name: string,
    limit: number,
    interval: Interval,
    options?: LimiterOptions<P>,
  ): Limiter<Refusal<P>>;
  leaky<P extends Policy = "raise">(
    name: string,
    capacity: number,
    drain: Interval,
    options?: LimiterOptions<P>,
  ): Limiter<Refusal<P>>;
  points<P extends Policy = "raise">(
    name: string,
    capacity: number,
    refill: Interval,
    options?: LimiterOptions<P>,
  ): Limiter<Refusal<P>>;
  throttle<P extends Policy = "raise">(
    name: string,
    interval: Interval,
    options?: LimiterOptions<P>,
  ): Limiter<Refusal<P>>;
  unlimited<P extends Policy = "raise">(
    name?: string,
    options?: ConcurrencyOptions<P> & BucketOptions<P>,
  ): Limiter<Refusal<P>>;
  paused<P extends Policy = "raise">(
    name: string,
    options?: LimiterOptions<P>,
  ): Limiter<Refusal<P>>;
  limiter<P extends Policy = "raise">(
    name: string,
    limits: Limits | readonly Limit[],
    options?: ConcurrencyOptions<P>,
  ): Limiter<Refusal<P>>;
  /**
   * The limiters that a document defines, by name: our own format, whose limiters come sorted by name, or that of Open
   * Job Spec, Conductor, Invantive or guild-queues, whose limiters come in its order. Its text or what `JSON.parse` made
   * of it. With `on_limit` `"ignore"` the policy is `"ignore"`, else `"raise"`; of a document that
   * says `"ignore"` somewhere, write `load<Skipped>(...)`.
   */
  load<S extends Skipped = never>(
    document: string | object,
    options?: LoadOptions,
  ): Map<string, Limiter<S>>;
  /** The gate of a `RateLimitControl` of Invantive, its text or its object. The error names the path to what is wrong. */
  invantiveGate(document: string | object): Gate;
  /**
   * The limiter of a run of a Conductor workflow; both are text or object. Its name is `conductor/workflow/` and the key that
   * the definition gives the run, an object with `input`, `correlationId` and `version` as far as the key needs them. A run
   * without a key has an unlimited one. `onLimit` is `"wait"` for `QUEUE`, `"raise"` for `REJECT`.
   *
   * @param options `lockTimeoutMs`: milliseconds after which a lease ends that is not renewed. Default 30,000.
   */
  conductorLimiter(
    definition: string | object,
    run: string | object,
    options?: { readonly lockTimeoutMs?: number },
  ): Limiter;
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
