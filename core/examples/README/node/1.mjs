import { OverLimitError, Paddlegate } from "paddlegate";

const pg = new Paddlegate("redis://127.0.0.1:12845");
const api = pg.window("stripe", 100, "minute");
const shop = pg.points("shopify-42", 1000, 20);
const erp = pg.concurrent("erp", 50);
const both = pg.limiter("github", { concurrency: 5, window: [80, 60], throttle: 0.1 });

await erp.withinLimit((permit) => {
  console.log("call the erp", permit.fence, "for at most", permit.expiresInMs, "ms");
});
await api.withinLimit(() => console.log("call stripe"));

const controller = new AbortController();
await shop.withinLimit({ estimate: 200, signal: controller.signal }, async (permit) => {
  await permit.pointsUsed(50);
});

const decision = await both.tryAcquire();
if (!decision.allowed) console.log(decision.reason, "refuses for", decision.retryAfterMs, "ms");
else await both.release(decision.permit);

try {
  await api.acquire({ cost: 90, waitTimeoutMs: 0 });
} catch (error) {
  if (!(error instanceof OverLimitError)) throw error;
  console.log("come back in", error.retryAfterMs, "ms");
}
