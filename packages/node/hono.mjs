import hono from "./hono.js";

export const { rateLimit, limitHandler } = hono;
