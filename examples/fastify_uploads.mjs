// Uploads to Fastify: two at once for each user, whose further uploads wait for their turn.
//
// Guide: docs/src/guides/fastify.md

import assert from "node:assert/strict";
import Fastify from "fastify";
import { Paddlegate } from "paddlegate";
import rateLimit from "paddlegate/fastify";

const pg = new Paddlegate();
const uploads = pg.concurrent("uploads", 2, { keyed: true });

const fastify = Fastify();
fastify.decorateRequest("user", null);
fastify.addHook("onRequest", async (request) => {
  request.user = request.headers["x-user"];
});
// After the hook that knows the user.
const key = (request) => request.user;
await fastify.register(rateLimit, { limiter: uploads, hook: "preHandler", key, wait: 10_000 });

const running = {};
let most = 0;
fastify.post("/uploads", async ({ user }) => {
  running[user] = (running[user] ?? 0) + 1;
  most = Math.max(most, running[user]);
  await new Promise((resolve) => setTimeout(resolve, 50));
  running[user] -= 1;
  return { stored: true };
});
await fastify.listen({ host: "127.0.0.1", port: 0 });

const url = `http://127.0.0.1:${fastify.server.address().port}/uploads`;
const upload = async (user) =>
  (await fetch(url, { method: "POST", headers: { "x-user": user } })).status;
try {
  const users = Array.from({ length: 12 }, (_, i) => `user-${i % 2}`);
  const statuses = await Promise.all(users.map(upload));
  console.log(`${statuses.length} uploads, at most ${most} at once of a user`);
  assert.ok(statuses.every((status) => status === 200));
  assert.ok(most <= 2);
} finally {
  await fastify.close();
  await pg.close();
}
