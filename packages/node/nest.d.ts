import type { CanActivate, DynamicModule, ExecutionContext, ModuleMetadata } from "@nestjs/common";
import type { Limit, Limiter, LimiterOptions, Limits, Paddlegate, TestClock } from "./index.js";
import type { Guard, LimiterOf } from "./lib/guard.js";

export type { Guard, LimiterOf } from "./lib/guard.js";

/** The limiters of an application. */
export interface PaddlegateModuleOptions {
  /** The URL of the store, as of `new Paddlegate(url)`. */
  readonly url?: string;
  readonly timeoutMs?: number;
  readonly clock?: TestClock;
  /** A store in place of a URL. The application does not close it. */
  readonly store?: Paddlegate;
  /** The limiters by name: policies, which become limiters of this name, or limiters. */
  readonly limits?: Readonly<Record<string, Limit | readonly Limit[] | Limits | Limiter<unknown>>>;
  /** The options of the limiters that are made of policies. They are keyed, if these say nothing else: each caller has a limit. */
  readonly options?: LimiterOptions;
  /** The options of all `Limited`, which may have others. */
  // biome-ignore lint/suspicious/noExplicitAny: the request is that of Express or of Fastify
  readonly guard?: Guard<any, any>;
}

/** Options that are made of what the application has. */
export interface PaddlegateModuleAsyncOptions extends Pick<ModuleMetadata, "imports"> {
  // biome-ignore lint/suspicious/noExplicitAny: as Nest has it
  readonly inject?: any[];
  readonly useFactory: (
    // biome-ignore lint/suspicious/noExplicitAny: as Nest has it
    ...given: any[]
  ) => PaddlegateModuleOptions | Promise<PaddlegateModuleOptions>;
}

/**
 * Makes limiters for an application of NestJS, on Express or Fastify. `Paddlegate` can be injected. The store is closed at the
 * end of the application.
 *
 * ```ts
 * const limits = { api: window(100, "minute") };
 *
 * @Module({ imports: [PaddlegateModule.forRoot({ url, limits })], controllers: [Orders] })
 * class App {}
 *
 * @Controller("orders")
 * @Limited("api")
 * class Orders {}
 * ```
 */
// biome-ignore lint/complexity/noStaticOnlyClass: a module of Nest is a class
export declare class PaddlegateModule {
  static forRoot(options: PaddlegateModuleOptions): DynamicModule;
  static forRootAsync(options: PaddlegateModuleAsyncOptions): DynamicModule;
}

/**
 * Keeps the routes of a controller, or one route, within a limit: that of a name, a limiter, or a function that returns one for
 * a request. That of a route is instead of that of its controller; `false` is none. The request has the grant as `permit`.
 *
 * A request over its limit is answered with 429, by an `HttpException`. With a concurrency limit it
 * holds a lease, which is renewed until the response has ended or the client has gone. When Redis is away, `onUnavailable` of
 * the limiter decides; with `"raise"` the status is 503. A wrong option fails at the first request.
 */
export declare function Limited<
  // biome-ignore lint/suspicious/noExplicitAny: the request is that of Express or of Fastify
  Req = any,
  // biome-ignore lint/suspicious/noExplicitAny: the response too
  Res = any,
>(
  limiter: string | LimiterOf<Req> | false,
  guard?: Guard<Req, Res>,
): MethodDecorator & ClassDecorator;

/** What `Limited` uses. As a guard of the application it limits nothing more. */
export declare class LimitedGuard implements CanActivate {
  canActivate(context: ExecutionContext): Promise<boolean>;
}
