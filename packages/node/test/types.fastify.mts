// The types of paddlegate/fastify.
import Fastify from "fastify";
import { Paddlegate } from "paddlegate";
import rateLimit, { type RateLimitOptions } from "paddlegate/fastify";

const limiter = new Paddlegate("memory://").window("http", 100, "minute", { keyed: true });
const fastify = Fastify();
const options: RateLimitOptions = { limiter, fields: false, refundIf: (status) => status === 304 };
await fastify.register(rateLimit, options);
await fastify.register(rateLimit, { limiter, hook: "preHandler", key: (request) => request.ip });
fastify.get("/", { config: { rateLimit: limiter } }, async ({ permit }) => permit?.release());
fastify.get("/dear", { config: { rateLimit: { limiter, cost: 5 } } }, async () => "ok");
fastify.get("/free", { config: { rateLimit: false } }, async () => "ok");

// @ts-expect-error There is no such hook.
fastify.register(rateLimit, { limiter, hook: "onSend" });
// @ts-expect-error There is no such option.
const _wrong: RateLimitOptions = { limiter, max: 3 };
