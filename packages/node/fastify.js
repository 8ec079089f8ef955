"use strict";

const { Guard, callerOf } = require("./lib/guard.js");
const { lifeOf } = require("./lib/life.js");

const isLimiter = (given) => typeof given === "function" || typeof given.acquire === "function";

async function rateLimit(fastify, { limiter, hook = "onRequest", global = true, ...options }) {
  const made = new Map();
  /** Returns the guard for what a route has in its `config`; undefined for a route that is not limited. */
  const guardOf = ({ rateLimit: given = global && limiter !== undefined ? NOTHING : false }) => {
    if (given === false) return undefined;
    if (!made.has(given)) {
      const own = isLimiter(given) ? { limiter: given } : given;
      const { limiter: chosen, ...asked } = { limiter, ...options, ...own };
      made.set(given, new Guard(chosen, asked, callerOf));
    }
    return made.get(given);
  };
  if (!fastify.hasRequestDecorator("permit")) fastify.decorateRequest("permit", null);
  // A wrong option is an error here, and not one of each request.
  if (limiter !== undefined) guardOf({ rateLimit: NOTHING });
  fastify.addHook("onRoute", ({ config = NOTHING }) => void guardOf(config));
  fastify.addHook(hook, async (request, reply) => {
    const guard = guardOf(request.routeOptions.config ?? NOTHING);
    if (guard === undefined) return undefined;
    const { permit, headers, answer } = await guard.enter(request, lifeOf(reply.raw), reply);
    if (answer === undefined) {
      if (permit !== undefined) request.permit = permit;
      reply.headers(headers);
      return undefined;
    }
    if (answer.body === undefined) return reply;
    return reply.code(answer.status).headers(answer.headers).send(answer.body);
  });
}

const NOTHING = Object.freeze({});

// As fastify-plugin does it: the routes beside it are limited, and not only those within.
rateLimit[Symbol.for("skip-override")] = true;
rateLimit[Symbol.for("fastify.display-name")] = "paddlegate";
rateLimit[Symbol.for("plugin-meta")] = { name: "paddlegate", fastify: ">=5" };

module.exports = rateLimit;
module.exports.default = rateLimit;
module.exports.rateLimit = rateLimit;
