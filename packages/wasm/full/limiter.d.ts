// The additional members of the classes in the full module. The comments of the other members are in `../index.d.ts`.
import type * as small from "../index.js";
import type {
  BucketOptions,
  CalendarPeriod,
  ConcurrencyOptions,
  Decision,
  Interval,
  KeyOptions,
  Labelled,
  Learned,
  Limit,
  LimiterOptions,
  Limits,
  MeterOptions,
  Policy,
  QueueOptions,
  QuotaOptions,
  Refusal,
  Request,
  RuntimeState,
  Skipped,
  ThrottleOptions,
  TogetherOptions,
  WaitingRequest,
} from "../index.js";

/** A grant. */
export interface Permit extends small.Permit {
  /**
   * Replaces the estimate with the cost in the response and applies its budget, in one step, as `learnFromResponse` of
   * the limiter does. For a lease without an estimate the settlement of a cost is `"unknown"`; the rest is applied.
   */
  learnFromResponse(response: UpstreamResponse, options?: AnswerOptions): Learned;
}

/**
 * A limiter: a name and a policy. Every method throws `InvalidError` for an invalid argument, without changing
 * anything. A keyed limiter needs a `key` for each call but `stats` and `history`. `S` is the additional result type of `withinLimit`
 * for a refused call: `never`, or `Skipped`.
 */
export interface Limiter<S = never> extends small.Limiter<S> {
  /** The handling of refused work in the limiter's document; `null` for a limiter that is not from a document. */
  readonly onLimit: OnLimit | null;
  withKey(key: string): Limiter<S>;
  withinLimit<T>(fn: (permit: Permit) => T | PromiseLike<T>): Promise<T | S>;
  withinLimit<T>(
    request: WaitingRequest | undefined,
    fn: (permit: Permit) => T | PromiseLike<T>,
  ): Promise<T | S>;
  acquire(request?: WaitingRequest): Promise<Permit>;
  /**
   * Applies an upstream response in one step: the remaining budget, the limits, and, if the upstream refused the call,
   * a pause. Without a `status` a response counts as a refusal only if the provider's documentation defines it as one.
   */
  learnFromResponse(response: UpstreamResponse, options?: LearnOptions): Learned;
  /**
   * Decides about a job with its id, 1 to 64 bytes. A repeated call for a job that runs takes nothing. Use another id
   * for each retry of a failed job, which counts as a new job. Never waits.
   */
  admit(job: string, request?: AdmissionRequest): Admission;
  /**
   * Decides about several jobs of one unit each, in order: all of them run or none. If a job cannot run, the units of
   * the earlier ones are given back, and none gets a ticket.
   */
  admitAll(jobs: readonly string[], options?: BatchOptions): Admission[];
  /**
   * Applies the overrides of an Open Job Spec document, given as text or as an object: `concurrency`, `rate` (or
   * `limit` with `period`), `throttle` and `expires_at`. Absent members leave the current override and its end
   * unchanged; `null` removes it.
   */
  applyOjsOverride(document: string | object, options?: KeyOptions): RuntimeState;
  /**
   * Pauses the limiter after the rate limit failure of an Open Job Spec job, given as text or as an object. Without
   * `retry_after` and `rate_limit_until` the pause is 30 seconds; a pause that ends later is left unchanged. Returns
   * `false` if `type` is neither `"rate_limited"` nor `"RateLimitExceeded"`.
   */
  applyOjsSignal(document: string | object, options?: KeyOptions): boolean;
}

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

/** Options of a decision about several jobs. */
export interface BatchOptions extends KeyOptions {
  /** The handling of refused jobs. Default: the handling in the limiter's document, otherwise `"wait"`. */
  readonly onLimit?: OnLimit;
  /** Whether to decide about each job separately, as `admit` does. Default `false`: all or none. */
  readonly partial?: boolean;
}

/** The action for a job. Frozen. */
export interface Admission {
  /**
   * `"run"`: run the job now and release its permit when it has ended, whether it succeeded or failed. `"wait"`: leave
   * the job where it is; it keeps its queue position. `"reschedule"`: put the job off until its time; it keeps its
   * queue position. `"drop"`: discard the job. `"refuse"`: the job is over the limit and `onLimit` is `"raise"` or
   * `"ignore"`.
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

/**
 * The attributes of a request at a gate. An element of the document with a criterion for an absent attribute does not
 * apply.
 */
export interface GateRequest {
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

/** Selects the slot of an Invantive `RateLimitControl` that limits a request. */
export interface Gate {
  /**
   * Counts a request in the slot of the first element that applies. A request that a level refuses is not counted; any
   * other is counted in every level. The longest delay of the full levels applies to both.
   */
  admit(request?: GateRequest): GateDecision;
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
export interface LoadOptions {
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
export interface LearnOptions extends AnswerOptions, KeyOptions {
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

/** The handling of refused work. */
export type OnLimit = "raise" | "ignore" | "wait" | "reschedule" | "drop";

/** A store, which creates limiters. Their state is in the memory of this page or process, separate for each object. */
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
    options?: MeterOptions<P>,
  ): Limiter<Refusal<P>>;
  points<P extends Policy = "raise">(
    name: string,
    capacity: number,
    refill: Interval,
    options?: MeterOptions<P>,
  ): Limiter<Refusal<P>>;
  throttle<P extends Policy = "raise">(
    name: string,
    interval: Interval,
    options?: ThrottleOptions<P>,
  ): Limiter<Refusal<P>>;
  quota<P extends Policy = "raise">(
    name: string,
    limit: number,
    per: CalendarPeriod,
    options?: QuotaOptions<P>,
  ): Limiter<Refusal<P>>;
  unlimited<P extends Policy = "raise">(
    name?: string,
    options?: ConcurrencyOptions<P> &
      BucketOptions<P> &
      MeterOptions<P> &
      QuotaOptions<P> &
      ThrottleOptions<P>,
  ): Limiter<Refusal<P>>;
  paused<P extends Policy = "raise">(
    name: string,
    options?: LimiterOptions<P>,
  ): Limiter<Refusal<P>>;
  limiter<P extends Policy = "raise", L extends Limits = Limits>(
    name: string,
    limits: (L & Labelled<L>) | readonly Limit[],
    options?: ConcurrencyOptions<P>,
  ): Limiter<Refusal<P>>;
  together<P extends Policy = "raise">(
    limiters: readonly Limiter<Skipped>[],
    options?: TogetherOptions<P>,
  ): Limiter<Refusal<P>>;
  /**
   * Returns the limiters of a document by name. The document is text or the value of `JSON.parse`, in Paddlegate's own
   * format (limiters sorted by name) or that of Open Job Spec, Conductor, Invantive or guild-queues (limiters in the
   * document's order). With `on_limit` `"ignore"` the policy is `"ignore"`, otherwise `"raise"`; for a document with an
   * `"ignore"` write `load<Skipped>(...)`.
   */
  load<S extends Skipped = never>(
    document: string | object,
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
   *
   * @param options `lockTimeoutMs`: the time in milliseconds after which a lease ends if it is not renewed. Default
   * 30,000.
   */
  conductorLimiter(
    definition: string | object,
    run: string | object,
    options?: { readonly lockTimeoutMs?: number },
  ): Limiter;
}

/**
 * Finds the usage in the body of a response that is read in chunks, without holding the body: JSON, or server-sent events
 * with JSON, of OpenAI (in chat it sends usage if the request has `stream_options: { include_usage: true }`), Anthropic,
 * Gemini and Groq; or GraphQL with `extensions.cost`. `learnFromResponse` takes it as the `body`.
 *
 * ```js
 * const usage = new StreamUsage();
 * for await (const chunk of response.body) usage.feed(chunk);
 * permit.learnFromResponse({ status: response.status, headers: response.headers, body: usage });
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
