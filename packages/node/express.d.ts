import type { Permit } from "./index.js";
import type { Guard, LimiterOf } from "./lib/guard.js";

export type { Guard, LimiterOf } from "./lib/guard.js";

/** A request of `node:http`, which is also one of Express and Polka. */
export interface Incoming {
  readonly headers: { readonly [name: string]: string | string[] | undefined };
  readonly socket: { readonly remoteAddress?: string };
}

/** A response of `node:http`. */
export interface Outgoing {
  statusCode: number;
  readonly headersSent: boolean;
  setHeader(name: string, value: string): unknown;
  end(body: string): unknown;
}

declare global {
  namespace Express {
    interface Request {
      /** The grant of a limited request. */
      permit?: Permit;
    }
  }
}

/**
 * Returns a middleware that keeps requests within a limit: of Express 4 and 5, Polka, and whatever calls functions of a request,
 * a response and `next`. The request has the grant as `permit`.
 *
 * A request over its limit is answered with 429. With a concurrency limit it holds a lease, which is renewed until the response
 * has ended or the client has gone. When Redis is away, `onUnavailable` of the limiter decides; with `"raise"` the answer is 503.
 * An error of an option of the request goes to `next`. Throws `InvalidError`, argument `limiter` or that of an option.
 *
 * ```js
 * import express from "express";
 * import { rateLimit } from "paddlegate/express";
 *
 * const app = express();
 * app.use(rateLimit(pg.window("http", 100, "minute", { keyed: true })));
 * ```
 */
export declare function rateLimit<Req extends Incoming = Incoming, Res extends Outgoing = Outgoing>(
  limiter: LimiterOf<Req>,
  guard?: Guard<Req, Res>,
): (req: Req, res: Res, next: (error?: unknown) => void) => Promise<void>;
