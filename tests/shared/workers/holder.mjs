// Takes a lease, works and gives it back, again and again. See holder.py for the arguments and the lines.

import { setTimeout as sleep } from "node:timers/promises";
import { Paddlegate } from "../../../packages/node/index.mjs";

const [name, limit, ...numbers] = process.argv.slice(2);
const [lockMs, holdMs, rounds, loops] = numbers.map(Number);
const store = new Paddlegate(process.env.PADDLEGATE_URL, { timeoutMs: 10_000 });
const [kind, amount, interval] = limit.split("/");
const patience = { waitTimeoutMs: 120_000 };
const limiter = interval
  ? store.limiter(name, [[kind, Number(amount), Number(interval)]], patience)
  : store.concurrent(name, Number(limit), { ...patience, lockTimeoutMs: lockMs });
const write = (line) => process.stdout.write(`${line}\n`);

async function hold() {
  for (let round = 0; round < rounds; round++) {
    const permit = await limiter.acquire();
    write(
      `enter ${permit.fencingToken ?? 0} ${permit.decision.ticket ?? 0} ${process.hrtime.bigint()}`,
    );
    if (holdMs > 0) await sleep(holdMs);
    if (permit.fencingToken) write(`leave ${permit.fencingToken} ${process.hrtime.bigint()}`);
    const answer = await permit.release();
    if (permit.fencingToken) write(`answer ${permit.fencingToken} ${answer}`);
  }
}

await Promise.all(Array.from({ length: loops }, hold));
