// The types of paddlegate/bullmq.
import { type Job, Worker } from "bullmq";
import { Paddlegate } from "paddlegate";
import { limited } from "paddlegate/bullmq";

const pg = new Paddlegate("memory://");
const limiter = pg.points("erp", 10, 60);
type Data = { tenant: string; units: number };
type Sync = Job<Data, string>;

const sync = limited(
  async (job: Sync, _token, signal, permit) => {
    signal?.throwIfAborted();
    await permit.correct({ tpm: job.data.units });
    return job.data.tenant;
  },
  {
    limiter: (job) => (job.data.tenant === "a" ? limiter : pg.window("b", 1, 1)),
    key: (job) => job.data.tenant,
    estimate: (job) => ({ tpm: job.data.units }),
    share: "all",
    weight: 2,
    claimTimeoutMs: 30_000,
    patienceMs: 0,
  },
);
new Worker<Data, string>("sync", sync);

// @ts-expect-error A file cannot be limited.
limited("./sync.js", { limiter });
// @ts-expect-error A limiter is required.
limited(async () => 1, {});
// @ts-expect-error There is no such option.
limited(async () => 1, { limiter, attempts: 3 });
