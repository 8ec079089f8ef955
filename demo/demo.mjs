// Runs the workers against the shop, first with limits, then without, and shows what becomes of them.
import { Paddlegate } from "../packages/node/index.mjs";
import { LEFT, openShop, POINTS, REQUESTS } from "./shop.mjs";
import { stop, under, WORKERS, work } from "./workers.mjs";

const LIMITED_SECONDS = 15;
const FREE_SECONDS = 4;
const COLUMNS = ["language", "granted", "refused", "waited", "estimated", "corrected", "throttled"];
const HEADS = [
  "",
  "granted",
  "refused",
  "waited",
  "points estimated",
  "points corrected",
  "throttled",
];

const rows = new Map();
let drawn = 0;

function draw() {
  const lines = [
    HEADS,
    ...["Ruby", "Python", "Node"].map((name) => rows.get(name) ?? [name, 0, 0, 0, 0, 0, 0]),
  ].map((row) =>
    row
      .map((cell, i) => (i ? `${cell}`.padStart(HEADS[i].length + 2) : `${cell}`.padEnd(8)))
      .join(""),
  );
  if (process.stdout.isTTY && drawn) process.stdout.write(`\x1b[${drawn}A`);
  console.log(lines.join("\n"));
  drawn = lines.length;
}

async function run(title, seconds, limits) {
  console.log(`\n${title}`);
  const shop = await openShop();
  rows.clear();
  drawn = 0;
  // A terminal sees the table change; a file gets it every few seconds.
  const ticker = setInterval(draw, process.stdout.isTTY ? 250 : 5000);
  try {
    const show = (counts) =>
      rows.set(
        counts.language,
        COLUMNS.map((name) => counts[name]),
      );
    const workers = WORKERS.map((command) => work(command, seconds, limits, shop, show));
    await Promise.all(workers.map(({ ready }) => ready));
    shop.begin();
    await meet(limits);
    for (const { begin } of workers) begin();
    await Promise.all(workers.map(({ ended }) => ended));
  } finally {
    clearInterval(ticker);
    shop.close();
    await forget(limits);
  }
  draw();
  const elapsed = (shop.stats.closedAt - shop.stats.openedAt) / 1000;
  const share = (spent, { size, restorePerSecond }) =>
    ((100 * spent) / (size * LEFT + restorePerSecond * elapsed)).toFixed(1);
  return {
    ...shop.stats,
    points: share(shop.stats.spent, POINTS),
    requests: share(shop.stats.orders, REQUESTS),
  };
}

const pg = new Paddlegate();
const limiters = ({ name, points, leaky }) => [
  pg.points(name, ...points),
  pg.leaky(name, ...leaky),
];

/** Takes what the shop has given to others already. */
function meet(limits) {
  const [points, requests] = limiters(limits);
  return Promise.all([
    points.tryAcquire({ cost: POINTS.size * (1 - LEFT) }),
    requests.tryAcquire({ cost: REQUESTS.size * (1 - LEFT) }),
  ]);
}

const forget = (limits) => Promise.all(limiters(limits).map((limiter) => limiter.reset()));

process.on("exit", stop);
for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
]) {
  process.on(signal, () => {
    stop();
    forget(limits).finally(() => process.exit(code));
  });
}

const limits = {
  on: true,
  name: `demo-${process.pid}`,
  points: under(POINTS),
  leaky: under(REQUESTS),
  waitSeconds: 0.5,
  pauseSeconds: 0,
};
console.log(
  "Three workers in three languages share one budget of 1000 points, 100 more per second, and one of",
);
console.log(
  "40 requests, 20 more per second. They agree through Redis; the shop keeps its own books.",
);
const limited = await run(`With limits, ${LIMITED_SECONDS} s:`, LIMITED_SECONDS, limits);
const free = await run(
  `The same workers with their limiters off, ${FREE_SECONDS} s:`,
  FREE_SECONDS,
  {
    ...limits,
    on: false,
    pauseSeconds: 0.02,
  },
);

console.log(`
with limits      throttled by the server ${limited.throttled} times
                 used ${limited.points} % of the points and ${limited.requests} % of the requests there were
without limits   throttled by the server ${free.throttled} times in ${FREE_SECONDS} s`);
if (limited.throttled > 0) {
  console.log("a limited worker was throttled");
  process.exitCode = 1;
}
