// Runs the server with the workers of the demo, until Ctrl-C. Its address is $PADDLEGATE_LISTEN, by default 127.0.0.1:8350.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { openShop, POINTS, REQUESTS } from "./shop.mjs";
import { stop, under, WORKERS, work } from "./workers.mjs";

const DAY = 86_400;
const listen = process.env.PADDLEGATE_LISTEN ?? "127.0.0.1:8350";

// The page of the simulator is linked where `make simulator` has built it.
const dist = "packages/simulator/dist";
const simulator = existsSync(`${dist}/index.html`) ? ["--simulator", dist] : [];

const server = spawn("target/release/paddlegate", ["serve", "--listen", listen, ...simulator], {
  stdio: ["ignore", "pipe", "inherit"],
  detached: true, // Ctrl-C is for this program, which then ends the server
});
let isEnding = false;

function end(code) {
  isEnding = true;
  process.exitCode = code;
  stop();
  if (server.exitCode === null) server.kill();
  shop?.close();
}

let shop;
process.on("SIGINT", () => end(0));
process.on("SIGTERM", () => end(0));
server.on("error", (error) => {
  console.error(`${error.message}; run make build-cli`);
  process.exit(1);
});
server.on("exit", (code) => {
  if (isEnding) return;
  console.error(
    "The server has ended; is its port in use? PADDLEGATE_LISTEN=127.0.0.1:0 takes a free one.",
  );
  end(code || 1);
});

const line = await new Promise((resolve) =>
  createInterface({ input: server.stdout }).once("line", resolve),
);
const url = line.replace("listening on ", "");

shop = await openShop();
const limits = {
  on: true,
  name: "demo-shop",
  points: under(POINTS),
  leaky: under(REQUESTS),
  waitSeconds: 2,
  pauseSeconds: 0.05,
};
const workers = WORKERS.map((command) => work(command, DAY, limits, shop, () => {}));
for (const { ended } of workers) {
  ended.catch((error) => {
    if (isEnding) return;
    console.error(error.message);
    end(1);
  });
}
await Promise.all(workers.map(({ ready }) => ready));
shop.begin();
for (const { begin } of workers) begin();

console.log(`
Workers in Ruby, Python and Node share the limits of a shop. Open its page, fill in "Pause" (such as 1m, and a reason),
and confirm once you have seen the effect:

  ${url}/ui/limiters/demo-shop    (all limiters: ${url}/)

Or by the API:

  curl -X PUT ${url}/v1/limiters/demo-shop/pause -H 'content-type: application/json' -d '{"expires_in": "30s", "reason": "try"}'
  curl -X DELETE '${url}/v1/limiters/demo-shop/pause?reason=done'

Ctrl-C ends all.`);
