// A worker of bullmq.test.mjs: a process of its own, which is killed.
import { Worker } from "bullmq";
import { limited } from "../bullmq.mjs";
import { Paddlegate } from "../index.mjs";

const [, , url, name] = process.argv;
const { hostname, port } = new URL(url);
const connection = { host: hostname, port: Number(port), maxRetriesPerRequest: null };
const pg = new Paddlegate(url, { timeoutMs: 20_000 });
const policy = { concurrency: [3, 5], window: [50, 1] };
const shared = pg.limiter(name, policy);
const limiter = () => {
  process.send({ ask: true });
  return shared;
};

const worker = new Worker(
  name,
  limited(
    async (job) => {
      process.send({ begin: job.data, at: Date.now(), pid: process.pid });
      await new Promise((resolve) => setTimeout(resolve, 30));
      process.send({ end: job.data, at: Date.now(), pid: process.pid });
      return job.data;
    },
    { limiter },
  ),
  { connection, concurrency: 8, lockDuration: 5_000, stalledInterval: 2_000, maxStalledCount: 10 },
);
worker.on("error", () => {});
await worker.waitUntilReady();
process.send({ ready: true });
