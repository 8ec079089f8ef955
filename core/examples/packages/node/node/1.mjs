import { OverLimitError, Paddlegate } from "paddlegate";

const pg = new Paddlegate("redis://127.0.0.1:12845"); // without a url: PADDLEGATE_URL, else in memory
const stripe = pg.window("stripe", 100, "minute"); // 100 in any minute

const charge = await stripe.withinLimit(async () => "charged"); // waits up to 5 s
console.log(charge);

try {
  await stripe.withinLimit({ cost: 100, waitTimeoutMs: 0 }, () => {});
} catch (error) {
  if (!(error instanceof OverLimitError)) throw error;
  console.log(`come back in ${error.retryAfterMs} ms`);
}
