// Tickets for those who do not wait themselves, statistics and the list of limiters.
import assert from "node:assert/strict";
import test from "node:test";
import { Paddlegate, TestClock } from "../index.mjs";
import { redisServer, required, server, unique, withClock } from "./support.mjs";

const stores = {
  memory: new Paddlegate("memory://"),
  redis: new Paddlegate(required("PADDLEGATE_TEST_URL"), { timeoutMs: 10_000 }),
};

for (const [store, pg] of Object.entries(stores)) {
  test(`${store}: jobs take their turn in the order they came`, async () => {
    const limiter = pg.concurrent(unique(), 1);
    const running = await limiter.enqueue("a");
    assert.equal(running.status, "granted");
    const places = [];
    for (const id of ["b", "c", "d"]) places.push(await limiter.enqueue(id));
    assert.deepEqual(
      places.map(({ status, position }) => [status, position]),
      [
        ["queued", 0],
        ["queued", 1],
        ["queued", 2],
      ],
    );
    assert.ok(places[0].ticket < places[1].ticket && places[1].ticket < places[2].ticket);
    assert.ok(places[0].retryAfterMs > 0 && places[0].readyAfterMs === null);
    assert.equal((await limiter.enqueue("c")).position, 1);

    assert.equal(await limiter.cancel("b"), "cancelled");
    assert.equal(await limiter.cancel("b"), "unknown");
    assert.equal((await limiter.claim("b")).status, "no_ticket");
    assert.equal((await limiter.claim("d")).position, 1);
    assert.equal(await limiter.release(running.permit), "released");
    // Newcomers stand behind the queue.
    assert.equal((await limiter.tryAcquire()).status, "refused");
    assert.equal((await limiter.claim("d")).status, "queued");
    const next = await limiter.claim("c");
    assert.equal(next.status, "granted");
    assert.equal((await limiter.claim("c")).fencingToken, next.fencingToken);
    assert.equal(await limiter.cancel("c"), "cancelled");
    assert.equal((await limiter.claim("d")).status, "granted");
    assert.equal((await limiter.stats()).tickets, 0);
  });

  test(`${store}: a ticket of a limit that moves with time knows when it is ready`, async () => {
    const clock = new TestClock(1_700_000_000_000_000);
    const limiter = withClock(store, clock).throttle(unique(), 60);
    await limiter.tryAcquire();
    const first = await limiter.enqueue("a");
    const second = await limiter.enqueue("b", { cost: 1, waitTimeoutMs: 120_000 });
    assert.deepEqual([first.readyAfterMs, second.readyAfterMs], [60_000, 120_000]);
    assert.equal((await limiter.enqueue("c", { waitTimeoutMs: 120_000 })).status, "refused");
    clock.advance(59.999999);
    assert.equal((await limiter.claim("a")).status, "queued");
    clock.advance(0.000001);
    assert.equal((await limiter.claim("a")).status, "granted");
    assert.equal((await limiter.claim("a")).status, "no_ticket");
  });

  test(`${store}: a ticket that is not claimed in time lapses`, async () => {
    const clock = new TestClock(1_700_000_000_000_000);
    const limiter = withClock(store, clock).throttle(unique(), 60);
    await limiter.tryAcquire();
    await limiter.enqueue("a", { claimTimeoutMs: 1000 });
    await limiter.enqueue("b");
    clock.advance(61);
    assert.equal((await limiter.claim("b")).status, "granted");
    assert.equal((await limiter.claim("a")).status, "no_ticket");
    assert.equal((await limiter.stats()).lapsed, 1);
  });

  test(`${store}: estimates wait too`, async () => {
    const shop = pg.points(unique(), 1000, 1000);
    await shop.tryAcquire({ estimate: 1000 });
    const { status, reason } = await shop.enqueue("a", { estimate: 200 });
    assert.deepEqual([status, reason], ["queued", "points"]);
    assert.equal(await shop.cancel("a"), "cancelled");
  });

  test(`${store}: statistics of all that was done`, async () => {
    const shop = pg.points(unique(), 1000, "day");
    const untouched = await shop.stats();
    assert.deepEqual(untouched, {
      granted: 0,
      refused: 0,
      waited: 0,
      waitTimeMs: 0,
      units: 0,
      corrections: 0,
      heldTimeMs: 0,
      overages: 0,
      reclaimed: 0,
      lapsed: 0,
      leases: 0,
      tickets: 0,
      shadowRefused: 0,
      immediate: 0,
      refusedBy: {},
      waits: Array(22).fill(0),
      degraded: 0,
      errors: 0,
      nearLimit: 0,
      estimatedUnits: 0,
      holds: Array(22).fill(0),
    });
    assert.ok(Object.isFrozen(untouched));
    const permit = await shop.acquire({ estimate: 600 });
    await assert.rejects(shop.acquire({ estimate: 600 }));
    await permit.pointsUsed(500);
    const { granted, refused, immediate, units, estimatedUnits, corrections } = await shop.stats();
    assert.deepEqual(
      { granted, refused, immediate, units, estimatedUnits, corrections },
      { granted: 1, refused: 1, immediate: 1, units: 500, estimatedUnits: 600, corrections: 1 },
    );

    const clock = new TestClock(1_700_000_000_000_000);
    const erp = withClock(store, clock).concurrent(unique(), 1);
    const held = await erp.tryAcquire();
    await erp.enqueue("a");
    clock.advance(0.002);
    await erp.release(held.permit);
    clock.advance(0.0005);
    await erp.claim("a");
    const { waited, waitTimeMs, heldTimeMs, leases } = await erp.stats();
    assert.deepEqual([waited, waitTimeMs, heldTimeMs], [1, 2.5, 2]);
    assert.ok(leases <= 1);
    await erp.reset();
    assert.equal((await erp.stats()).granted, 0);
  });
}

test("memory: the limiters of this store", async () => {
  const pg = new Paddlegate("memory://");
  assert.deepEqual(await pg.limiters(), []);
  await pg.bucket("b", 5, "day", { offset: "PT2H" }).allow();
  await pg.limiter("a", { concurrency: [2, 10], throttle: 0.1 }).tryAcquire();
  assert.deepEqual(await pg.limiters(), [
    {
      name: "a",
      group: null,
      keyed: false,
      mode: "enforce",
      limits: [
        { label: "concurrency", kind: "concurrency", amount: 2, interval: 10, offset: 0 },
        { label: "throttle", kind: "throttle", amount: 1, interval: 0.1, offset: 0 },
      ],
      lastUsed: null,
      ttl: 90 * 86_400,
    },
    {
      name: "b",
      group: null,
      keyed: false,
      mode: "enforce",
      limits: [{ label: "bucket", kind: "bucket", amount: 5, interval: 86_400, offset: 7200 }],
      lastUsed: null,
      ttl: 90 * 86_400,
    },
  ]);
});

test("the list of limiters keeps the server busy with sixteen parts at a time", async (t) => {
  let asked = 0;
  let most = 0;
  let waiting = 0;
  const url = await server(t, (socket) =>
    socket.on("data", (chunk) => {
      const commands = String(chunk).match(/^\*\d+\r$/gm).length;
      asked += commands;
      waiting += commands;
      most = Math.max(most, waiting);
      setTimeout(() => {
        waiting -= commands;
        socket.write("*2\r\n$1\r\n0\r\n*0\r\n".repeat(commands));
      }, 2);
    }),
  );
  assert.deepEqual(await new Paddlegate(url, { timeoutMs: 10_000 }).limiters(), []);
  assert.equal(most, 16);
  assert.equal(asked, 256);
});

test("redis: the limiters of all processes, with their last use", async (t) => {
  const own = await redisServer(t);
  const pg = new Paddlegate(own.url, { timeoutMs: 10_000 });
  assert.deepEqual(await pg.limiters(), []);
  const names = Array.from({ length: 40 }, (_, i) => `limiter|${i} é`).sort();
  await Promise.all(names.map((name) => pg.window(name, 5, 60, { ttl: "day" }).allow()));
  await pg.concurrent("erp", 5).withinLimit(() => {});
  const listed = await new Paddlegate(own.url, { timeoutMs: 10_000 }).limiters();
  assert.deepEqual(
    listed.map(({ name }) => name),
    ["erp", ...names],
  );
  const { lastUsed, ...erp } = listed[0];
  assert.deepEqual(erp, {
    name: "erp",
    group: null,
    keyed: false,
    mode: "enforce",
    limits: [{ label: "concurrency", kind: "concurrency", amount: 5, interval: 30, offset: 0 }],
    ttl: 90 * 86_400,
  });
  assert.ok(Math.abs(Date.now() / 1000 - lastUsed) < 120, `lastUsed=${lastUsed}`);
  assert.ok(listed.slice(1).every(({ ttl }) => ttl === 86_400));
  await own.stop();
  await assert.rejects(pg.limiters(), { name: "UnavailableError" });
});
