// Starts workers in three languages and ends them.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

// Why the shop throttles nobody, however late a request is: the rates are the same, so what the limiters have charged
// less what the shop has charged is the requests on their way there and the corrections on their way back, and neither
// is below zero. Only while the shop's budget is full does the shop fall behind, for then nothing is restored to it. So
// both begin in use, and the workers together. Two clocks may still differ, and a pause of all workers may fill the
// budget. So the limiters use this much less of it:
const SPARE_SECONDS = 0.2;
export const under = ({ size, restorePerSecond }) => {
  const capacity = size - Math.ceil(SPARE_SECONDS * restorePerSecond);
  return [capacity, capacity / restorePerSecond];
};

export const WORKERS = [
  ["ruby", "-Ipackages/ruby/lib", "demo/worker.rb"],
  [".venv/bin/python", "demo/worker.py"],
  [process.execPath, "demo/worker.mjs"],
];
const children = new Set();

/** Starts a worker. It tells its counts when it is ready, and begins at a line on its input. */
export function work(command, seconds, limits, shop, show) {
  const env = {
    ...process.env,
    DEMO_LIMITS: JSON.stringify(limits),
    DEMO_SHOP: shop.url,
    DEMO_SECONDS: `${seconds}`,
    NODE_NO_WARNINGS: "1",
  };
  const child = spawn(command[0], command.slice(1), {
    env,
    stdio: ["pipe", "pipe", "inherit"],
    detached: true, // Ctrl-C is for the demo, which then ends its workers
  });
  children.add(child);
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (line) => show(JSON.parse(line)));
  const ended = new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      children.delete(child);
      if (code === 0) resolve();
      else reject(new Error(`${command.join(" ")} ended with ${code}`));
    });
  });
  const ready = Promise.race([ended, new Promise((resolve) => lines.once("line", resolve))]);
  return { ready, ended, begin: () => child.stdin.end("begin\n") };
}

/** Ends all workers. */
export function stop() {
  for (const child of children) child.kill();
}
