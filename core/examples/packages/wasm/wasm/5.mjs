import { Paddlegate } from "paddlegate-wasm";

const shop = new Paddlegate().points("shopify-43", 1000, 20);
shop.sync({ remaining: 300, limit: 2000, restoreRate: 100 }); // units per second
const [{ limit }] = shop.controls().learned;
console.log(limit); // 2000
