import { graphqlCost, Paddlegate } from "paddlegate";

const query = "query ($n: Int!) { products(first: $n) { edges { node { id title } } } }";
const estimate = graphqlCost(query, { n: 50 });
console.log(estimate); // 52
console.log(graphqlCost(query, { n: 50 }, { rules: "github" })); // 1

const shop = new Paddlegate().points("shopify-45", 1000, 20);
console.log((await shop.tryAcquire({ estimate })).remaining); // 948
