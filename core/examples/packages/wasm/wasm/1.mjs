import { Paddlegate } from "paddlegate-wasm";

const pg = new Paddlegate();
const shop = pg.points("shopify-42", 1000, 20); // 1000 points, full again in 20 s

const decision = shop.tryAcquire({ estimate: 200 });
if (decision.allowed) {
  // ... call the shop; it says what the query did cost ...
  shop.correct(decision.permit, 50); // "settled": 150 points are given back
} else {
  console.log(`again in ${decision.retryAfterMs} ms`);
}
