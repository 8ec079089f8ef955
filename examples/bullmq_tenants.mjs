// Two tenants share one worker of BullMQ: a hundred jobs of one do not hold up ten of the other.
//
// Guide: docs/src/guides/bullmq.md

import assert from "node:assert/strict";
import { Queue, QueueEvents, Worker } from "bullmq";
import { Paddlegate, UnavailableError } from "paddlegate";
import { limited } from "paddlegate/bullmq";

const url = process.env.PADDLEGATE_URL ?? "redis://localhost:6379/0";
const connection = { url, maxRetriesPerRequest: null };
const api = new Paddlegate(url).throttle("api", 0.02); // fifty a second
try {
  await api.peek();
} catch (error) {
  if (!(error instanceof UnavailableError)) throw error;
  console.error(`This program needs a Redis, see PADDLEGATE_URL: ${error.message}`);
  process.exit(1);
}

const done = [];
const work = limited(async ({ data }) => done.push(data.tenant), {
  limiter: api,
  share: ({ data }) => data.tenant,
});
const queue = new Queue("tenants", { connection });
const events = new QueueEvents("tenants", { connection });
await events.waitUntilReady();
for (const it of [queue, events]) it.setMaxListeners(0);
const of = (tenant, count) =>
  queue.addBulk(Array.from({ length: count }, () => ({ name: "job", data: { tenant } })));
const large = await of("large", 100);
const small = await of("small", 10);
const worker = new Worker("tenants", work, { connection, concurrency: 120 });

const finished = (jobs) => Promise.all(jobs.map((job) => job.waitUntilFinished(events, 50_000)));
try {
  await finished(small);
  console.log(`large: ${done.filter((tenant) => tenant === "large").length} done, small: all`);
  await finished(large);
  assert.ok(done.lastIndexOf("small") < 60, "they took turns");
  await queue.obliterate();
} finally {
  await Promise.all([worker.close(), queue.close(), events.close()]);
}
