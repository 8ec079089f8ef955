import { Paddlegate } from "paddlegate";

const erp = new Paddlegate().concurrent("erp-7", 50);

await erp.override({ limit: 5, expiresInMs: 3_600_000 }); // in all processes, for an hour
console.log((await erp.peek()).limit); // 5
await erp.restore(); // the policy rules again

const { pausedForMs } = await erp.pause({ forMs: 30_000 }); // or { until: new Date(...) }
console.log(pausedForMs); // 30000
const { reason, retryAfterMs } = await erp.tryAcquire();
console.log(reason, retryAfterMs > 29_000); // paused true
await erp.resume();
console.log((await erp.controls()).pausedForMs, await erp.allow()); // null true
