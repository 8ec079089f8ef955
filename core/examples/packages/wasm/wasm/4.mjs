import { Paddlegate } from "paddlegate-wasm";

const api = new Paddlegate().window("api", 100, "minute");
api.override({ limit: 2, expiresInMs: 3_600_000 }); // for an hour
const passed = [1, 2, 3].filter(() => api.allow()).length;
console.log(passed); // 2
api.restore(); // the policy rules again

api.pause({ forMs: 30_000 }); // or { until: new Date(...) }
if (api.tryAcquire().reason !== "paused") throw new Error("not paused");
api.resume();
