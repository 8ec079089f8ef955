import rateLimit from "./fastify.js";

export default rateLimit;
export { rateLimit };
