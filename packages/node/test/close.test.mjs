// A store that is closed leaves nothing behind: no connection, no ticket, no timer.
import assert from "node:assert/strict";
import test from "node:test";
import { InvalidError, Paddlegate } from "../index.mjs";
import { entry, redis, redisServer, required, run, server, unique, until } from "./support.mjs";

const url = required("PADDLEGATE_TEST_URL");
const patient = { timeoutMs: 10_000 };
const isClosed = (error) => error instanceof InvalidError && error.argument === "store";

test("two hundred stores that were closed leave no connection", async (t) => {
  const own = await redisServer(t);
  const connections = () => redis(own.url, "client", "list").split("\n").length;
  const before = connections();
  const stores = Array.from({ length: 200 }, () => new Paddlegate(own.url, patient));
  for (let i = 0; i < stores.length; i += 20) {
    await Promise.all(stores.slice(i, i + 20).map((pg) => pg.window("x", 1000, 60).allow()));
  }
  // The second connection, on which waiters are told.
  for (const pg of stores.slice(0, 20)) await pg.throttle("y", 0.001).withinLimit(() => {});
  assert.ok(connections() >= before + 200);
  await Promise.all(stores.map((pg) => pg.close()));
  await until(() => connections() === before);
});

for (const store of ["redis", "memory"]) {
  test(`${store}: every wait ends, leaves the queue, and every later call is refused`, async () => {
    const name = unique();
    const open = () => new Paddlegate(store === "redis" ? url : "memory://", patient);
    const pg = open();
    const limiter = pg.concurrent(name, 1, { waitTimeoutMs: 60_000, lockTimeoutMs: 60_000 });
    // In memory there is no other way to the limits of a store.
    const other = (store === "redis" ? open() : pg).concurrent(name, 1);
    const permit = await other.acquire();
    const stats = () => other.stats();
    const waiting = Array.from({ length: 5 }, (_, i) =>
      limiter.acquire(i % 2 ? {} : { id: `mine-${i}` }),
    );
    await until(async () => (await stats()).tickets === 5);
    // Under way while the store is closed.
    waiting.push(limiter.acquire(), limiter.acquire({ id: "late" }));
    const ended = Promise.all(waiting.map((wait) => assert.rejects(wait, isClosed)));
    const closing = pg.close();
    const gate = { RateLimitControlSlotList: [{ Name: "a", ActionsPerSecond: 1 }] };
    const calls = [
      () => limiter.acquire(),
      () => limiter.withinLimit(assert.fail),
      () => limiter.tryAcquire(),
      () => limiter.allow(),
      () => limiter.peek(),
      () => limiter.stats(),
      () => limiter.enqueue("x"),
      () => limiter.admit("x"),
      () => limiter.admitAll(["x"]),
      () => limiter.pause({ forMs: 5 }),
      () => limiter.reset(),
      () => pg.window(unique(), 1, 1).allow(),
      () => pg.window(unique(), 1, 1).allow({ cost: 1 }),
      () => pg.unlimited(unique()).allow(),
      () => pg.limiters(),
      () => pg.limiterPage(),
      () => limiter.turns().next(),
      () => pg.invantiveGate(gate).admit(),
    ];
    if (store === "memory") calls.push(async () => limiter.allowSync());
    for (const call of calls) await assert.rejects(call, isClosed, `${call}`);
    await ended;
    await closing;
    for (const call of calls) await assert.rejects(call, isClosed, `${call}`);
    await assert.rejects(limiter.release(permit), isClosed);
    if (store === "memory") return;
    const { tickets, leases } = await stats();
    assert.deepEqual([tickets, leases], [0, 1]);
    assert.equal(await permit.release(), "released");
  });
}

test("calls that are under way end before the connection does", async () => {
  const pg = new Paddlegate(url, patient);
  const limiter = pg.window(unique(), 50, "day");
  const answers = Array.from({ length: 64 }, () => limiter.allow());
  const aborted = new AbortController();
  const erp = pg.concurrent(unique(), 1);
  const given = erp.tryAcquire({ signal: aborted.signal });
  aborted.abort();
  await assert.rejects(given, { name: "AbortError" });
  await pg.close();
  assert.equal((await Promise.all(answers)).filter(Boolean).length, 50);
  const { leases } = await new Paddlegate(url, patient).concurrent(erp.name, 1).stats();
  assert.equal(leases, 0, "what was granted too late was given back");
});

test("a server that is silent holds up nobody longer than a call", async (t) => {
  const pg = new Paddlegate(await server(t, () => {}), { timeoutMs: 100 });
  const call = pg.window("x", 1, 1).allow();
  const closing = pg.close();
  await assert.rejects(call, { name: "UnavailableError" });
  await closing;
});

test("closing twice is as good as once, and a store that was never used can be closed", async () => {
  const pg = new Paddlegate(url, patient);
  await pg.close();
  await Promise.all([pg.close(), pg.close()]);
  assert.equal(pg[Symbol.asyncDispose]() instanceof Promise, true);
  await assert.rejects(pg.window("x", 1, 1).allow(), isClosed);
});

test("a process whose store is closed ends, whatever waited", async () => {
  const { output, status } = await run(`
    import { Paddlegate } from ${JSON.stringify(entry)};
    const pg = new Paddlegate(${JSON.stringify(url)}, { timeoutMs: 60000 });
    const limiter = pg.concurrent(${JSON.stringify(unique())}, 1, { waitTimeoutMs: 3600000, lockTimeoutMs: 3600000 });
    await limiter.acquire();
    const wait = limiter.acquire().catch((error) => console.log(error.argument));
    while ((await limiter.stats()).tickets === 0);
    await pg.close();
    await wait;`);
  assert.equal(output, "store");
  assert.equal(status, 0);
});
