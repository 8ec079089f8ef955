// Asks an upstream as fast as the limiter lets it, and learns from every answer. Arguments: see client.py.

import { once } from "node:events";
import { OverLimitError, Paddlegate } from "../../../packages/node/index.mjs";

const [url, name, limit, ...numbers] = process.argv.slice(2);
const [loops, seconds, seed] = numbers.map(Number);
const [kind, amount, interval] = JSON.parse(limit);
const store = new Paddlegate(process.env.PADDLEGATE_URL, { timeoutMs: 10_000 });
const limiter = store.limiter(name, [[kind, amount, interval]]);

// A small generator, so that a seed gives the same numbers again.
function dice(state) {
  return (low, high) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return low + Math.floor((state / 2 ** 32) * (high - low + 1));
  };
}

async function work(number, end) {
  const draw = dice(seed + 7 * number);
  let answered = 0;
  while (performance.now() < end) {
    const requested = draw(2, 40);
    const options = { waitTimeoutMs: Math.max(end - performance.now(), 1) };
    if (kind === "points") options.estimate = requested;
    let permit;
    try {
      permit = await limiter.acquire(options);
    } catch (error) {
      if (error instanceof OverLimitError) continue;
      throw error;
    }
    const response = await fetch(url, { method: "POST", body: JSON.stringify({ requested }) });
    const { status, headers } = response;
    await permit.learnFromResponse({ status, headers, body: await response.text() });
    answered++;
  }
  return answered;
}

console.log("ready");
await once(process.stdin, "data");
const end = performance.now() + seconds * 1000;
const answered = await Promise.all(Array.from({ length: loops }, (_, number) => work(number, end)));
console.log(JSON.stringify({ answered: answered.reduce((sum, count) => sum + count, 0) }));
process.stdin.destroy();
