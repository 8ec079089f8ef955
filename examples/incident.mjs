// An upstream is in trouble: pause its limiter for all processes, lower it, then restore it. Nobody restarts anything.
// Guide: docs/src/guides/incident.md
import { Paddlegate } from "paddlegate";

// The operator has a store of its own, which is another one in memory.
if (!process.env.PADDLEGATE_URL) {
  console.error("Set PADDLEGATE_URL to a Redis, such as redis://localhost:6379/0");
  process.exit(1);
}
const pg = new Paddlegate();
const erp = pg.concurrent("erp", 3, { lockTimeoutMs: 10_000 });

// Three workers that call the ERP again and again.
let [calls, running, most, done] = [0, 0, 0, false];
async function work() {
  while (!done) {
    await erp.withinLimit({ waitTimeoutMs: 120_000 }, async () => {
      calls += 1;
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 20));
      running -= 1;
    });
  }
}
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
async function until(condition) {
  const end = performance.now() + 30_000;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`not so in 30 s: ${condition}`);
    await sleep(10);
  }
}
const workers = [work(), work(), work()];

await until(() => most === 3);
console.log("before:", most, "at the same time");

// An operator, who may sit in another process and another language.
const operator = new Paddlegate();
const lever = operator.concurrent("erp", 1); // the number of this policy does not matter
await lever.pause({ forMs: 60_000 });
await until(async () => (await lever.stats()).tickets === 3); // the workers wait in their positions
const paused = calls;
await sleep(100);
console.log(calls - paused); // 0: nothing starts during a pause

most = 0;
await lever.override({ limit: 1, expiresInMs: 3_600_000 });
await lever.resume();
await until(() => calls > paused + 10);
console.log(most); // -> 1

await lever.restore();
done = true;
await Promise.all(workers);
await operator.close();
await pg.close();
