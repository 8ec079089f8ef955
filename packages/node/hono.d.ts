import type { Context, MiddlewareHandler } from "hono";
import type { Permit } from "./index.js";
import type { Guard, LimiterOf } from "./lib/guard.js";

export type { Guard, LimiterOf } from "./lib/guard.js";

declare module "hono" {
  interface ContextVariableMap {
    /** The grant of a limited request. */
    permit: Permit | undefined;
  }
}

/**
 * Returns a middleware that keeps requests to Hono, on Node, within a limit. A handler has the grant as `c.get("permit")`.
 *
 * A request over its limit is answered with 429; `overLimit` may also return a `Response`. With a concurrency limit it holds a
 * lease, which is renewed until the body of the response has ended or the client has gone. When Redis is away, `onUnavailable`
 * of the limiter decides; with `"raise"` the answer is 503. Throws `InvalidError`, argument `limiter` or that of an option.
 *
 * ```js
 * import { Hono } from "hono";
 * import { rateLimit } from "paddlegate/hono";
 *
 * const app = new Hono();
 * app.use(rateLimit(pg.window("http", 100, "minute", { keyed: true })));
 * ```
 */
export declare function rateLimit(
  limiter: LimiterOf<Context>,
  guard?: Guard<Context>,
): MiddlewareHandler;

/**
 * Does the same for any function that makes a `Response` of a `Request`, such as a route of Next. The request has the grant as
 * `permit`. Only a server that hands on the request of Node, as @hono/node-server does, tells the address of the caller: elsewhere a
 * keyed limiter needs `key`.
 *
 * ```js
 * export const GET = limitHandler(perUser, async (request) => Response.json({}), {
 *   key: (request) => request.headers.get("x-api-key"),
 * });
 * ```
 */
export declare function limitHandler<Req extends Request, Rest extends unknown[]>(
  limiter: LimiterOf<Req>,
  handler: (request: Req & { permit?: Permit }, ...rest: Rest) => Response | Promise<Response>,
  guard?: Guard<Req>,
): (request: Req, ...rest: Rest) => Promise<Response>;
