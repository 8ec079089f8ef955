// The options of a Bottleneck, for all processes and languages: maxConcurrent 2, minTime 20 ms, a reservoir of 100 a minute.
// Guide: docs/src/guides/coming-from-bottleneck.md
import { Paddlegate } from "paddlegate";

const pg = new Paddlegate(); // PADDLEGATE_URL, or this process
const options = { waitTimeoutMs: 30_000 };
const limiter = pg.limiter("api", { concurrency: 2, throttle: 0.02, bucket: [100, 60] }, options);

/** As limiter.wrap(fn) of Bottleneck. */
const wrap =
  (fn) =>
  (...args) =>
    limiter.withinLimit(() => fn(...args));

const starts = [];
let [running, most] = [0, 0];
const fetchPage = wrap(async (page) => {
  starts.push(performance.now());
  most = Math.max(most, ++running);
  await new Promise((resolve) => setTimeout(resolve, 30));
  running -= 1;
  return `page ${page}`;
});

const pages = await Promise.all([1, 2, 3, 4, 5, 6].map(fetchPage));
console.log(pages.join(", ")); // -> page 1, page 2, page 3, page 4, page 5, page 6
console.log(most <= 2); // -> true
console.log(starts.at(-1) - starts[0] >= 90); // -> true
await pg.close();
