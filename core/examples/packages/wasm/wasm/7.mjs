import { graphqlCost, Paddlegate } from "paddlegate-wasm/full";

const limits = { limiters: { "shopify-44": { points: { limit: 1000, refill: "20s" }, wait_timeout: "5s" } } };
const shop = new Paddlegate().load(limits).get("shopify-44");

const query = "query ($n: Int!) { products(first: $n) { edges { node { id title } } } }";
const permit = await shop.acquire({ estimate: graphqlCost(query, { n: 50 }) }); // 52 points

// const r = await fetch(...); const response = { status: r.status, headers: r.headers, body: await r.text() };
const response = { status: 429, headers: { "Retry-After": "30" }, body: "" };
permit.learn(response, { provider: "shopify" });
console.log(shop.peek({ estimate: 1 }).reason); // paused: upstream has refused the call
