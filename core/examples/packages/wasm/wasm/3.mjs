import { Paddlegate } from "paddlegate-wasm";

const uploads = new Paddlegate().concurrent("uploads", 2, { waitTimeoutMs: 60_000 });
let running = 0;
let most = 0;
const upload = async () => {
  most = Math.max(most, (running += 1));
  await new Promise((resolve) => setTimeout(resolve, 10));
  running -= 1;
};
await Promise.all(Array.from({ length: 6 }, () => uploads.withinLimit(upload)));
console.log(most); // 2
