import { Paddlegate } from "paddlegate";

const erp = new Paddlegate().concurrent("erp", 1);
const first = await erp.enqueue("job-1"); // granted: it runs
const second = await erp.enqueue("job-2", { claimTimeoutMs: 60_000 });
console.log(second.status, second.position, second.retryAfterMs > 0); // queued 0 true

await erp.release(first.permit);
console.log((await erp.tryAcquire()).status); // refused: job-2 was here before
console.log((await erp.claim("job-2")).status); // granted
console.log((await erp.claim("job-3")).status); // gone: it has no ticket
