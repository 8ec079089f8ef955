/** What the adapters for web servers have in common. */

import type { Cost, Limiter, OverLimitError } from "../index.js";

/** A value, or a function that returns it for a request. */
export type Of<Req, T> = T | ((request: Req) => T | Promise<T>);

/** A limiter, or a function that returns one for a request. A request without one is not limited. */
export type LimiterOf<Req> = Limiter<unknown> | ((request: Req) => Chosen | Promise<Chosen>);

/** What a function that chooses a limiter returns. */
export type Chosen = Limiter<unknown> | null | undefined;

/** What a key may be: another value is written as JSON. What no limiter takes as a key, such as a text that is too long, is digested. */
export type Key = string | number | bigint | Uint8Array;

/** How an adapter limits requests. */
export interface Guard<Req, Res = undefined> {
  /**
   * The key of a request for a keyed limiter. A request without one is not limited. Default: the address of the caller, by
   * `callerKey`.
   */
  readonly key?: (request: Req) => Key | null | undefined | Promise<Key | null | undefined>;
  /** The units that a request takes, as in `acquire`. Default 1. */
  readonly cost?: Of<Req, Cost | undefined>;
  /** The priority in the queue of the limiter, from 0 (default) to 9, the highest first. */
  readonly priority?: Of<Req, number | undefined>;
  /** The share that a request counts for, such as a tenant: shares of one priority take turns. */
  readonly share?: Of<Req, string | undefined>;
  /** How long a request waits for its turn, in milliseconds. Default 0: it is refused at once. */
  readonly wait?: number;
  /**
   * The fields that a response gets: those of the newest draft of the IETF (`"draft"`, the default), of draft 6, or `"x"` for
   * `X-RateLimit-*`. With `false` a refusal has `Retry-After` alone.
   */
  readonly fields?: "draft" | "draft-6" | "x" | false;
  /** The status of a refusal, from 400 to 599. Default 429. */
  readonly status?: number;
  /**
   * Returns the body of a refusal: a text, or something that is sent as JSON; or answers by itself and returns nothing.
   * Default: `application/problem+json` with `retry_after` in seconds.
   */
  readonly overLimit?: (request: Req, error: OverLimitError, response: Res) => unknown;
  /** Whether a request is not limited, such as a check of health. */
  readonly skip?: (request: Req) => boolean | Promise<boolean>;
  /** Whether a response with this status costs nothing: its units are given back when it has ended. Default: never. */
  readonly refundIf?: (status: number) => boolean;
  /**
   * The proxies whose `X-Forwarded-For` is believed: addresses, networks such as `"10.0.0.0/8"`, and `"unix"` for one that
   * connects by a Unix socket. Default: none.
   */
  readonly trustedProxies?: readonly string[];
}
