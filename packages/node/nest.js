"use strict";

const nest = require("@nestjs/common");
const { Guard, callerOf } = require("./lib/guard.js");
const { lifeOf } = require("./lib/life.js");
const { NamedLimits } = require("./lib/named-limits.js");
const { Paddlegate } = require("./lib/paddlegate.js");

const LIMITED = "paddlegate:limited";
/** The requests that were limited: a guard of the application and one of a route are one limit. */
const limited = new WeakSet();

class Limits extends NamedLimits {
  onApplicationShutdown() {
    return this.close();
  }
}

class Refused extends nest.HttpException {
  constructor(answer) {
    super(answer.body ?? "", answer.status);
    this.answer = answer;
  }
}

/** Sends the answer of a refusal as it is: Nest itself would make `application/json` of each object. */
class RefusedFilter {
  catch({ answer: { status, headers, body } }, host) {
    const response = host.switchToHttp().getResponse();
    if (body === undefined || (response.raw ?? response).headersSent) return;
    for (const name in headers) response.header(name, headers[name]);
    response.status(status).send(body);
  }
}
nest.Catch(Refused)(RefusedFilter);

class LimitedGuard {
  #limits;
  #guards = new Map();

  constructor(limits) {
    this.#limits = limits;
  }

  async canActivate(context) {
    const places = [context.getHandler(), context.getClass()];
    const [asked] = places.map((it) => Reflect.getMetadata(LIMITED, it)).filter(Boolean);
    const http = context.switchToHttp();
    const [request, response] = [http.getRequest(), http.getResponse()];
    if (!asked?.limiter || context.getType() !== "http" || limited.has(request)) return true;
    limited.add(request);
    // The response of Express is one of Node, and that of Fastify has one.
    const life = lifeOf(response.raw ?? response);
    const { permit, headers, answer } = await this.#guardOf(asked).enter(request, life, response);
    if (answer !== undefined) throw new Refused(answer);
    for (const name in headers) response.header(name, headers[name]);
    if (permit !== undefined) request.permit = permit;
    return true;
  }

  #guardOf(asked) {
    if (!this.#guards.has(asked)) {
      const options = { ...this.#limits.guard, ...asked.guard };
      this.#guards.set(asked, new Guard(this.#limits.limiter(asked.limiter), options, callerOf));
    }
    return this.#guards.get(asked);
  }
}
nest.Injectable()(LimitedGuard);
nest.Inject(Limits)(LimitedGuard, undefined, 0);

const Limited = (limiter, guard) =>
  nest.applyDecorators(
    nest.SetMetadata(LIMITED, { limiter, guard }),
    nest.UseGuards(LimitedGuard),
    nest.UseFilters(RefusedFilter),
  );

// biome-ignore lint/complexity/noStaticOnlyClass: a module of Nest is a class
class PaddlegateModule {
  static forRoot(options) {
    return PaddlegateModule.forRootAsync({ useFactory: () => options });
  }

  static forRootAsync({ imports, inject, useFactory }) {
    const make = async (...given) => new Limits(await useFactory(...given));
    const limits = { provide: Limits, inject, useFactory: make };
    const store = { provide: Paddlegate, inject: [Limits], useFactory: (made) => made.store };
    const providers = [limits, store, LimitedGuard];
    const exports = [Limits, Paddlegate, LimitedGuard];
    return { module: PaddlegateModule, global: true, imports, providers, exports };
  }
}
nest.Module({})(PaddlegateModule);

module.exports = { PaddlegateModule, Limited, LimitedGuard };
