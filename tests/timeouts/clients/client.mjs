// Calls a limiter. What it reads and says is in timeouts_test.py.

import { createInterface } from "node:readline";
import { Paddlegate, UnavailableError } from "../../../packages/node/index.mjs";

let limiter;

async function call() {
  const began = performance.now();
  const said = (what) => `${(performance.now() - began).toFixed(1)} ${what}`;
  try {
    await limiter.tryAcquire();
  } catch (error) {
    return said(error instanceof UnavailableError ? "unavailable" : error.name);
  }
  return said("answered");
}

process.on("SIGUSR2", () => {});
for await (const line of createInterface({ input: process.stdin })) {
  const [verb, what, timeout] = line.split(" ");
  if (verb === "open") {
    limiter = new Paddlegate(what, { timeoutMs: Number(timeout) }).bucket(
      "timeouts",
      1_000_000,
      "day",
    );
    console.log("opened");
  } else {
    const calls = await Promise.all(Array.from({ length: Number(what) }, call));
    console.log(calls.join(" "));
  }
}
