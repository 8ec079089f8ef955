// Asks the shop as fast as the limits allow. Prints its counts as JSON lines.
import { once } from "node:events";
import { OverLimitError, Paddlegate } from "../packages/node/index.mjs";

const { DEMO_LIMITS, DEMO_SHOP, DEMO_SECONDS } = process.env;
const limits = JSON.parse(DEMO_LIMITS);
const counts = {
  language: "Node",
  granted: 0,
  refused: 0,
  waited: 0,
  estimated: 0,
  corrected: 0,
  throttled: 0,
};
const pg = new Paddlegate();
const [queries, orders] = limits.on
  ? [pg.points(limits.name, ...limits.points), pg.leaky(limits.name, ...limits.leaky)]
  : [pg.unlimited(), pg.unlimited()];
const report = () => console.log(JSON.stringify(counts));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function limited(limiter, options, body) {
  const asked = performance.now();
  try {
    await limiter.withinLimit(
      { ...options, waitTimeoutMs: limits.waitSeconds * 1000 },
      async (permit) => {
        counts.granted += 1;
        if (performance.now() - asked > 5) counts.waited += 1;
        await body(permit);
      },
    );
  } catch (error) {
    if (!(error instanceof OverLimitError)) throw error;
    counts.refused += 1;
  }
  await sleep(limits.pauseSeconds * 1000);
}

async function query() {
  const first = 5 + Math.floor(Math.random() * 36);
  const estimate = 2 + first;
  await limited(queries, { estimate }, async (permit) => {
    const body = JSON.stringify({ query: `{ products(first: ${first}) { nodes { id } } }` });
    const answer = await (await fetch(`${DEMO_SHOP}/graphql`, { method: "POST", body })).json();
    const { actualQueryCost } = answer.extensions.cost;
    counts.estimated += estimate;
    if (actualQueryCost === null) counts.throttled += 1;
    else counts.corrected += estimate - actualQueryCost;
    await permit.pointsUsed(actualQueryCost ?? 0);
  });
}

const order = () =>
  limited(orders, {}, async () => {
    const response = await fetch(`${DEMO_SHOP}/orders`);
    await response.arrayBuffer();
    if (response.status === 429) counts.throttled += 1;
  });

report();
await once(process.stdin, "data");
const end = performance.now() + DEMO_SECONDS * 1000;
const loop = async (task) => {
  while (performance.now() < end) await task();
};
const ticker = setInterval(report, 200);
await Promise.all([loop(query), loop(query), loop(order)]);
clearInterval(ticker);
report();
