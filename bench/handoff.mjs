// One of two workers that hand one slot to and fro by another library: `handoff.mjs LIBRARY NAME HOLD_MS ROUNDS`.
// Prints the lines of tests/shared/workers/holder.py.

import { setTimeout as sleep } from "node:timers/promises";
import Bottleneck from "bottleneck";
import Redis from "ioredis";
import { Mutex } from "redis-semaphore";

const [library, name, ...numbers] = process.argv.slice(2);
const [holdMs, rounds] = numbers.map(Number);
const url = new URL(process.env.PADDLEGATE_URL);
const server = { host: url.hostname, port: Number(url.port) };

async function work(round) {
  process.stdout.write(`enter ${round} 0 ${process.hrtime.bigint()}\n`);
  await sleep(holdMs);
  process.stdout.write(`leave ${round} ${process.hrtime.bigint()} done\n`);
}

const libraries = {
  async bottleneck() {
    const options = { id: name, maxConcurrent: 1, datastore: "ioredis", clientOptions: server };
    const limiter = new Bottleneck({ ...options, Redis });
    for (let round = 0; round < rounds; round++) await limiter.schedule(work, round);
    await limiter.disconnect();
  },
  async "redis-semaphore"() {
    const client = new Redis(server);
    for (let round = 0; round < rounds; round++) {
      const mutex = new Mutex(client, name, { lockTimeout: 30_000, acquireTimeout: 30_000 });
      await mutex.acquire();
      await work(round);
      await mutex.release();
    }
    await client.quit();
  },
};

await libraries[library]();
