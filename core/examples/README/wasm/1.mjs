import { Paddlegate } from "paddlegate-wasm";

const pg = new Paddlegate();
const shop = pg.points("shopify-42", 1000, 20);
let decision = shop.tryAcquire({ estimate: 800, atUs: 1_000_000 });
shop.correct(decision.permit, 100, { atUs: 1_000_000 });
decision = shop.peek({ cost: 950, atUs: 1_000_000 });
console.log(decision.remaining, decision.retryAfterMs); // 900 1000
