import { Paddlegate } from "paddlegate";

const shop = new Paddlegate().points("shopify-42", 1000, 20); // 1000 points, full again in 20 s

await shop.withinLimit({ estimate: 200, signal: AbortSignal.timeout(2000) }, async (permit) => {
  const response = { extensions: { cost: { actualQueryCost: 50 } } }; // of the shop
  console.log(await permit.pointsUsed(response.extensions.cost.actualQueryCost)); // settled
});
console.log((await shop.peek({ cost: 0 })).remaining >= 950); // true
