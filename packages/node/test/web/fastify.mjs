// Fastify 5, as the adapter kit starts it.
import Fastify from "fastify";
import rateLimit from "../../fastify.mjs";

export async function serve({ limiter, options, stream }) {
  const fastify = Fastify({ forceCloseConnections: true });
  await fastify.register(rateLimit, { limiter, ...options });
  fastify.get("/", async () => "ok");
  fastify.get("/missing", async (_request, reply) => reply.code(404).send("missing"));
  fastify.get("/fails", async () => {
    throw new Error("as the kit asked");
  });
  fastify.get("/stream", async (_request, reply) => reply.send(stream()));
  await fastify.listen({ host: "127.0.0.1", port: 0 });
  return fastify.server;
}

export const header = (request, name) => request.headers[name];
