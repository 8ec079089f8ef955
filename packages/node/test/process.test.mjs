// What a process notices of the package: when it may end, and in other threads.
import assert from "node:assert/strict";
import test from "node:test";
import { Worker } from "node:worker_threads";
import { Paddlegate } from "../index.mjs";
import { entry, required, run, server, unique } from "./support.mjs";

const url = required("PADDLEGATE_TEST_URL");

test("a process with an idle connection ends by itself", async () => {
  const { output, status, ms } = await run(`
    import { Paddlegate } from ${JSON.stringify(entry)};
    console.log(await new Paddlegate(${JSON.stringify(url)}, { timeoutMs: 60000 }).window(${JSON.stringify(unique())}, 1, 60).allow());`);
  assert.equal(output, "true");
  assert.equal(status, 0);
  assert.ok(ms < 20_000, `ms=${ms}`);
});

test("a call that is under way keeps the process alive until its deadline", async (t) => {
  const silent = await server(t, () => {});
  const { output } = await run(`
    import { Paddlegate } from ${JSON.stringify(entry)};
    const limiter = new Paddlegate(${JSON.stringify(silent)}, { timeoutMs: 300 }).window("x", 1, 60);
    limiter.allow().catch((error) => console.log(error.code));`);
  assert.equal(output, "UNAVAILABLE");
});

test("importing and making a limiter starts and connects nothing", async () => {
  const { output } = await run(`
    import { readdirSync } from "node:fs";
    import { createRequire } from "node:module";
    const threads = () => readdirSync("/proc/self/task").length;
    const files = () => readdirSync("/proc/self/fd").length;
    const settled = () => new Promise((resolve) => setTimeout(resolve, 50));
    await settled();
    const before = threads() + " " + files();
    const { Paddlegate } = createRequire(${JSON.stringify(entry)})("./index.js");
    new Paddlegate(${JSON.stringify(url)}).window("x", 1, 60);
    await settled();
    console.log(before, "|", threads(), files(), "|", process.getActiveResourcesInfo().length);`);
  const [before, after, resources] = output.split(" | ");
  assert.equal(after, before);
  assert.equal(resources, "0");
});

test("import and require give the same classes", async () => {
  const { output } = await run(`
    import { createRequire } from "node:module";
    import * as imported from ${JSON.stringify(entry)};
    const required = createRequire(${JSON.stringify(entry)})("./index.js");
    const names = Object.keys(required);
    console.log(names.length, names.every((name) => required[name] === imported[name]));`);
  assert.equal(output, "20 true");
});

const work = `
  const { workerData, parentPort } = require("node:worker_threads");
  const { Paddlegate } = require(workerData.main);
  const limiter = new Paddlegate(workerData.url, { timeoutMs: 10000 }).window(workerData.name, 100, 3600);
  const local = new Paddlegate("memory://").window("x", 10, 3600);
  (async () => {
    let granted = 0;
    for (let i = 0; i < workerData.rounds; i += 1) {
      const answers = await Promise.all(Array.from({ length: 10 }, () => limiter.allow()));
      granted += answers.filter(Boolean).length;
      await local.allow();
      parentPort.postMessage(granted);
    }
  })();`;
const start = (name, rounds) =>
  new Worker(work, {
    eval: true,
    workerData: { main: new URL("../index.js", import.meta.url).pathname, url, name, rounds },
  });

test("worker threads share a limiter in redis", async () => {
  const name = unique();
  const granted = await Promise.all(
    Array.from({ length: 4 }, () => {
      const worker = start(name, 20);
      let last = 0;
      worker.on("message", (count) => {
        last = count;
      });
      return new Promise((resolve, reject) =>
        worker.on("exit", () => resolve(last)).on("error", reject),
      );
    }),
  );
  assert.equal(
    granted.reduce((a, b) => a + b),
    100,
  );
});

test("threads that are terminated in the midst of calls harm nobody", async () => {
  const name = unique();
  const limiter = new Paddlegate(url, { timeoutMs: 10_000 }).window(name, 1, 60);
  for (let i = 0; i < 10; i += 1) {
    const worker = start(name, 1e9);
    await new Promise((resolve) => worker.once("message", resolve));
    await worker.terminate();
    await limiter.allow();
  }
});

test("limiters and stores that nobody holds are collected", async () => {
  const { output } = await run(`
    import { setFlagsFromString } from "node:v8";
    import { runInNewContext } from "node:vm";
    import { Paddlegate } from ${JSON.stringify(entry)};
    setFlagsFromString("--expose-gc");
    const gc = runInNewContext("gc");
    const use = async (count) => {
      for (let i = 0; i < count; i += 1) {
        await new Paddlegate("memory://").window("x", 10, 60).tryAcquire({ estimate: 1 });
        if (i % 1000 === 0) await new Promise(setImmediate);
      }
      for (let i = 0; i < 3; i += 1) { gc(); await new Promise((resolve) => setTimeout(resolve, 20)); }
      return process.memoryUsage().rss;
    };
    await use(30000);
    const before = await use(30000);
    console.log((await use(30000) - before) / 1e6);`);
  assert.ok(Number(output) < 40, `grown by ${output} MB`);
});
