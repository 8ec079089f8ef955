import { Paddlegate } from "paddlegate";

const api = new Paddlegate().concurrent("api", 5);
console.log(await api.signal({ type: "rate_limited", retry_after: 30 })); // true: it pauses for 30 s
console.log((await api.tryAcquire()).reason); // paused
await api.resume();
const { overrides } = await api.overrideFrom({ concurrency: 20 });
console.log(overrides[0].limit); // 20: what is not named stays, null removes

const jobs = await api.admitAll(["job-1", "job-2"], { onLimit: "drop" });
console.log(jobs.map(({ action }) => action).join()); // run,run
