import { Paddlegate } from "paddlegate-wasm";

const api = new Paddlegate().limiter("api", { window: [100, "minute"], throttle: 0.1 });
let refused = 0;
for (let second = 0; second < 3600; second++) {
  if (!api.allow({ atUs: (1_700_000_000 + second) * 1_000_000 })) refused += 1;
}
console.log(refused); // 0: one call a second is within 100 a minute
