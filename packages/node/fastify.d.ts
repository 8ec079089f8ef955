import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from "fastify";
import type { Permit } from "./index.js";
import type { Guard, LimiterOf } from "./lib/guard.js";

export type { LimiterOf } from "./lib/guard.js";

/** How a route is limited, with what it does not say taken from the options of the plugin. */
export interface RouteLimit extends Guard<FastifyRequest, FastifyReply> {
  /** The limiter, or a function that returns one for a request. */
  readonly limiter?: LimiterOf<FastifyRequest>;
}

/** The options of the plugin. */
export interface RateLimitOptions extends RouteLimit {
  /**
   * When a request takes its turn. Default `"onRequest"`, before its body is read; a key that other hooks set, such as a user,
   * needs a later one.
   */
  readonly hook?: "onRequest" | "preParsing" | "preValidation" | "preHandler";
  /** Whether routes are limited that say nothing of it. Default `true`. */
  readonly global?: boolean;
}

declare module "fastify" {
  interface FastifyContextConfig {
    /** The limit of the route: a limiter, options, or `false` for none. */
    rateLimit?: LimiterOf<FastifyRequest> | RouteLimit | false;
  }

  interface FastifyRequest {
    /** The grant of a limited request. */
    permit: Permit | null;
  }
}

/**
 * A plugin that keeps the requests of Fastify 5 within a limit. A route chooses another limiter, other options or none by
 * `rateLimit` in its `config`. A request has its grant as `permit`.
 *
 * A request over its limit is answered with 429. With a concurrency limit it holds a lease, which is renewed until the response
 * has ended or the client has gone. When Redis is away, `onUnavailable` of the limiter decides; with `"raise"` the answer is 503.
 * `register` fails with `InvalidError`, argument `limiter` or that of an option.
 *
 * ```js
 * import Fastify from "fastify";
 * import rateLimit from "paddlegate/fastify";
 *
 * const fastify = Fastify();
 * await fastify.register(rateLimit, { limiter: pg.window("http", 100, "minute", { keyed: true }) });
 * ```
 */
export declare const rateLimit: FastifyPluginAsync<RateLimitOptions>;
export default rateLimit;
