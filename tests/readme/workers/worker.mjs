import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import { Paddlegate } from "paddlegate";

const pg = new Paddlegate(undefined, { timeoutMs: 20_000 });
const api = pg.window(process.argv[2], 20, 0.5);
await once(process.stdin, "data");
const left = { true: 30, false: 30 };
while (Math.max(left.true, left.false) > 0) {
  const { allowed, atUs, retryAfterUs } = await api.tryAcquire();
  left[allowed] -= 1;
  console.log(JSON.stringify({ at: atUs, retry: allowed ? null : retryAfterUs }));
  await setTimeout(2);
}
await pg.close();
process.stdin.destroy();
