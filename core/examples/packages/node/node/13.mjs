import { Paddlegate } from "paddlegate";

const careful = { onUnavailable: "local", share: 25 };
const there = new Paddlegate("redis://127.0.0.1:12845").window("stripe-2", 100, "minute", careful);
console.log((await there.tryAcquire()).degraded); // false

const pg = new Paddlegate("redis://127.0.0.1:1"); // nobody is there
const { allowed, limit, degraded } = await pg.window("stripe-2", 100, "minute", careful).tryAcquire();
console.log(allowed, limit, degraded); // true 25 true

const strict = pg.window("stripe-2", 100, "minute", { onUnavailable: "closed" });
console.log((await strict.tryAcquire()).reason); // unavailable
