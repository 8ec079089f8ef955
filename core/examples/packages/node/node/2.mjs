import { Paddlegate, SKIPPED } from "paddlegate";

const pg = new Paddlegate();
const erp = pg.concurrent("erp", 50, { lockTimeoutMs: 30_000 }); // 50 calls at once, of all processes

const orders = await erp.withinLimit(async (permit) => {
  if (permit.expiresInMs < 10_000) await permit.renew();
  return permit.lost ? [] : ["order"]; // lost: the lease has ended, another may have the place
});
console.log(orders.length);

const nightly = pg.concurrent("nightly", 1, { policy: "ignore", waitTimeoutMs: 0 });
const permit = await nightly.acquire();
console.log((await nightly.withinLimit(() => "ran")) === SKIPPED); // true: one runs already
console.log(await permit.release()); // released
