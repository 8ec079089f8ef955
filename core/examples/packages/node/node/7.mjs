import { Paddlegate } from "paddlegate";

const shop = new Paddlegate().points("shopify-43", 1000, 20);

await shop.withinLimit({ estimate: 252 }, async (permit) => {
  // const r = await fetch(...); const response = { status: r.status, headers: r.headers, body: await r.text() };
  const response = {
    status: 200,
    headers: new Headers(),
    body: `{"data": {}, "extensions": {"cost": {"requestedQueryCost": 252, "actualQueryCost": 12, "throttleStatus":
      {"maximumAvailable": 2000, "currentlyAvailable": 1500, "restoreRate": 100}}}}`,
  };
  console.log(await permit.learn(response, { provider: "shopify" })); // settled
});
const [{ limit, intervalMs }] = (await shop.controls()).learned;
console.log(limit, intervalMs); // 2000 20000

await shop.learn({ status: 429, headers: { "Retry-After": "30" } }); // all processes pause
console.log((await shop.tryAcquire({ estimate: 1 })).reason); // paused
