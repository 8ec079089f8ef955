// The types of paddlegate/hono.
import { Hono } from "hono";
import { Paddlegate } from "paddlegate";
import { limitHandler, rateLimit } from "paddlegate/hono";

const limiter = new Paddlegate("memory://").window("http", 100, "minute", { keyed: true });
const app = new Hono();
app.use(rateLimit(limiter));
app.use(
  "/api/*",
  rateLimit(limiter, {
    key: (c) => c.req.header("x-api-key"),
    overLimit: (c, error) => c.json({ after: error.retryAfterMs }, 429),
  }),
);
app.get("/", async (c) => c.text(c.get("permit")?.id ?? "none"));
export const GET = limitHandler(
  limiter,
  async (request: Request, context: { params: string }) => new Response(context.params + request),
  { key: (request) => request.headers.get("x-api-key") },
);
const _response: Promise<Response> = GET(new Request("http://localhost"), { params: "a" });

// @ts-expect-error A handler is required.
limitHandler(limiter);
// @ts-expect-error There is no such option.
rateLimit(limiter, { max: 3 });
