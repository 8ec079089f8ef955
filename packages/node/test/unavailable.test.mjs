// What a limiter answers while its store cannot decide, by each mode.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import net from "node:net";
import test from "node:test";
import { OverLimitError, Paddlegate, SKIPPED, UnavailableError } from "../index.mjs";
import { freePort, redisServer, required, server, unique, until } from "./support.mjs";

const url = required("PADDLEGATE_TEST_URL");
const patient = { timeoutMs: 10_000 };
const nowhere = () => freePort().then((port) => new Paddlegate(`redis://127.0.0.1:${port}`));
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

test("raise is an error and never a refusal", async () => {
  const pg = await nowhere();
  for (const options of [undefined, { onUnavailable: "raise" }]) {
    const limiter = pg.concurrent("x", 1, options);
    for (let i = 0; i < 10; i += 1) {
      await assert.rejects(limiter.tryAcquire(), UnavailableError);
      await assert.rejects(limiter.admit("job"), UnavailableError);
    }
    await assert.rejects(
      limiter.withinLimit(() => assert.fail()),
      UnavailableError,
    );
  }
});

test("closed refuses at once and says why", async () => {
  const pg = await nowhere();
  const limiter = pg.window("x", 7, 60, { onUnavailable: "fail_closed", waitTimeoutMs: 60_000 });
  // In one round at once, and then one by one.
  const rounds = await Promise.all(Array.from({ length: 10 }, () => limiter.tryAcquire()));
  for (let i = 0; i < 10; i += 1) rounds.push(await limiter.tryAcquire());
  for (const decision of rounds) {
    const { status, reason, degraded, limit, remaining, permit, retryAfterMs } = decision;
    assert.deepEqual(
      { status, reason, degraded, limit, remaining, permit },
      {
        status: "refused",
        reason: "unavailable",
        degraded: true,
        limit: 7,
        remaining: 0,
        permit: null,
      },
    );
    assert.ok(retryAfterMs > 0 && retryAfterMs <= 1000, `retryAfterMs=${retryAfterMs}`);
  }
  assert.equal((await limiter.peek()).degraded, true);
  assert.equal(await limiter.allow(), false);
  assert.equal((await limiter.enqueue("job")).status, "refused");
  for (const call of [
    () => limiter.acquire(),
    () => limiter.acquire({ waitTimeoutMs: 0 }),
    () => limiter.withinLimit(() => assert.fail()),
  ]) {
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof OverLimitError);
      assert.equal(error.reason, "unavailable");
      assert.match(error.message, /reason=unavailable/);
      assert.ok(error.retryAfterMs <= 1000);
      return true;
    });
  }
  const skipping = pg.window("x", 7, 60, { onUnavailable: "fail_closed", onLimit: "ignore" });
  assert.equal(await skipping.withinLimit(() => assert.fail()), SKIPPED);
  await assert.rejects(limiter.tryAcquire({ estimate: -1 }), { argument: "estimate" });
  await assert.rejects(limiter.stats(), UnavailableError, "not a decision");
  const { action, afterMs, permit } = await limiter.admit("job");
  assert.deepEqual([action, afterMs > 0 && afterMs <= 1000, permit], ["wait", true, null]);
});

test("open runs everything, and nothing has to be given back", async () => {
  const pg = await nowhere();
  const limiter = pg.limiter(
    "x",
    { concurrency: 1, points: [100, 60] },
    { onUnavailable: "fail_open", waitTimeoutMs: 60_000 },
  );
  for (let i = 0; i < 10; i += 1) {
    const value = await limiter.withinLimit({ estimate: 50 }, async (permit) => {
      assert.equal(permit.degraded, true);
      assert.equal(permit.decision.degraded, true);
      assert.equal(permit.decision.reason, null);
      assert.equal(permit.expiresInMs, null);
      assert.equal(await permit.pointsUsed(5), "unknown");
      assert.equal(await permit.release(), "unknown");
      assert.equal(await permit.renew(), false);
      assert.equal(await limiter.release(permit.id), "unknown");
      return i;
    });
    assert.equal(value, i);
  }
  assert.equal((await limiter.tryAcquire({ estimate: 5 })).allowed, true);
  const { action, permit } = await limiter.admit("job", { estimate: 5 });
  assert.deepEqual([action, permit.degraded], ["run", true]);
  const aborted = limiter.acquire({ estimate: 5, signal: AbortSignal.abort("enough") });
  await assert.rejects(aborted, (reason) => reason === "enough");
});

test("local decides by its share of the limit", async () => {
  const pg = await nowhere();
  const half = { onUnavailable: "local", localSharePercent: 50, waitTimeoutMs: 60_000 };
  const limiter = pg.concurrent("x", 5, half);
  const permits = [await limiter.acquire(), await limiter.acquire()];
  for (const { degraded, decision } of permits) {
    assert.deepEqual([degraded, decision.limit, decision.leaseMs], [true, 2, 30_000]);
  }
  await assert.rejects(limiter.acquire(), (error) => {
    assert.deepEqual([error.reason, error.decision.degraded], ["concurrency", true]);
    return true;
  });
  assert.equal(await permits[1].renew(), true);
  assert.equal(await permits[0].release(), "released");
  assert.equal(await limiter.release(permits[0].id), "unknown");
  assert.equal(await limiter.withinLimit((permit) => permit.lost), false);
  assert.equal((await limiter.admit("job")).action, "run");
  assert.equal((await limiter.admit("job")).action, "run", "takes nothing");
  const other = await limiter.admit("other", { onLimit: "drop" });
  assert.equal(other.action, "wait", "nothing is thrown away because redis is away");

  const points = pg.points("y", 1000, 60, half);
  await points.withinLimit({ estimate: 400 }, async (permit) => {
    assert.equal(permit.decision.remaining, 100);
    assert.equal(await permit.pointsUsed(100), "settled");
  });
  assert.ok((await points.peek({ cost: 0 })).remaining >= 400);
  const single = await pg.window("z", 1, 60, half).tryAcquire();
  assert.deepEqual([single.status, single.reason], ["refused", "unavailable"]);
  const whole = pg.limitersFromDocument(
    { limiters: { w: { window: { limit: 3, per: "minute" } } } },
    {
      onUnavailable: "local",
    },
  );
  assert.equal((await whole.get("w").tryAcquire()).limit, 3);
});

test("in memory the modes make no difference", async () => {
  const pg = new Paddlegate("memory://");
  for (const onUnavailable of ["raise", "fail_closed", "fail_open", "local"]) {
    const limiter = pg.window(onUnavailable, 1, 60, { onUnavailable });
    assert.equal((await limiter.tryAcquire()).degraded, false);
    const { degraded, reason } = await limiter.tryAcquire();
    assert.deepEqual([degraded, reason], [false, "window"]);
  }
});

test("errors of replies, broken connections and silence are degraded too", async (t) => {
  const loading = "-LOADING Redis is loading the dataset in memory\r\n";
  const behaviours = [
    (socket) => socket.on("data", () => socket.write(loading)),
    (socket) => socket.once("data", () => socket.end()),
    (socket) => socket.once("data", () => socket.write("HTTP/1.1 400 Bad Request\r\n\r\n")),
    () => {},
  ];
  for (const behave of behaviours) {
    const pg = new Paddlegate(await server(t, behave), { timeoutMs: 500 });
    const open = pg.concurrent("x", 1, { onUnavailable: "fail_open" });
    const rate = pg.window("y", 1, 60, { onUnavailable: "fail_open" });
    const granted = await Promise.all([open.tryAcquire(), open.peek(), rate.allow()]);
    assert.deepEqual([granted[0].degraded, granted[1].degraded, granted[2]], [true, true, true]);
    const closed = pg.window("x", 1, 60, { onUnavailable: "fail_closed" });
    await assert.rejects(closed.acquire(), { reason: "unavailable" });
  }
});

test("a server that dies between acquire and release does not fail the block", async (t) => {
  const own = await redisServer(t);
  const pg = new Paddlegate(own.url, patient);
  for (const onUnavailable of ["raise", "fail_closed", "fail_open", "local"]) {
    const limiter = pg.concurrent(unique(), 1, { onUnavailable });
    const value = await limiter.withinLimit(async (permit) => {
      assert.equal(permit.degraded, false);
      await own.stop();
      return onUnavailable;
    });
    assert.equal(value, onUnavailable);
    await own.start();
    await until(() => limiter.peek().then(({ degraded }) => !degraded));
  }
});

test("what was granted alone is settled alone after the server is back", async (t) => {
  const own = await redisServer(t);
  const pg = new Paddlegate(own.url, patient);
  for (const onUnavailable of ["fail_open", "local"]) {
    const limiter = pg.limiter(unique(), { concurrency: 1, points: [100, 60] }, { onUnavailable });
    await limiter.peek({ cost: 0 });
    await own.stop();
    await limiter.withinLimit({ estimate: 50 }, async (permit) => {
      assert.equal(permit.degraded, true);
      await own.start();
      const settled = onUnavailable === "fail_open" ? "unknown" : "settled";
      assert.equal(await permit.pointsUsed(10), settled);
    });
    await until(() => limiter.peek({ cost: 0 }).then(({ degraded }) => !degraded));
    const { granted, leases } = await limiter.stats();
    assert.deepEqual([granted, leases], [0, 0]);
  }
});

test("who waited when the server went away is refused, and gives its ticket back", async (t) => {
  const own = await gate(t);
  const pg = new Paddlegate(own.url, patient);
  const name = unique();
  const sure = new Paddlegate(url, patient).concurrent(name, 1);
  const holder = await sure.acquire();
  const limiter = pg.concurrent(name, 1, { onUnavailable: "fail_closed", waitTimeoutMs: 60_000 });
  const waiting = limiter.acquire();
  const refused = assert.rejects(waiting, { reason: "unavailable" });
  // Its second connection, for wake-ups: it knows that it has a ticket.
  await until(() => own.asked === 2);
  assert.equal((await sure.stats()).tickets, 1);
  own.shut();
  await refused;
  // It has tried to by now, but nobody has let it in yet.
  own.open();
  await until(async () => (await sure.stats()).tickets === 0);
  assert.equal(await holder.release(), "released");
});

test("a store that fails is asked once a second and used when it is back", async (t) => {
  const own = await gate(t);
  const pg = new Paddlegate(own.url, patient);
  const limiter = pg.window(unique(), 100_000, 60, { onUnavailable: "fail_closed" });
  const isDegraded = async () => (await limiter.tryAcquire()).degraded;
  assert.equal(await isDegraded(), false);

  own.shut();
  for (let i = 0; i < 5; i += 1) assert.equal(await isDegraded(), true);
  const asked = own.asked;
  const began = performance.now();
  for (let i = 0; i < 200; i += 1) assert.equal(await isDegraded(), true);
  // Nobody opens a subscription for a refusal that is not worth a wait.
  for (let i = 0; i < 20; i += 1) {
    await assert.rejects(limiter.acquire({ waitTimeoutMs: 60_000 }), { reason: "unavailable" });
  }
  const seconds = Math.ceil((performance.now() - began) / 1000);
  const more = own.asked - asked;
  assert.ok(more <= 1 + seconds, `asked ${more} times in ${seconds} s`);

  own.open();
  await until(async () => {
    await pause(50);
    return !(await isDegraded());
  });
  for (let i = 0; i < 20; i += 1) assert.equal(await isDegraded(), false);
});

/** The way to the server of the tests, which can be shut, and how often somebody came. */
async function gate(t) {
  const { hostname, port } = new URL(url);
  const sockets = new Set();
  let isShut = false;
  const gate = {
    asked: 0,
    shut() {
      isShut = true;
      for (const socket of sockets) socket.destroy();
    },
    open() {
      isShut = false;
    },
  };
  const listening = net.createServer((socket) => {
    gate.asked += 1;
    socket.on("error", () => {});
    if (isShut) return socket.destroy();
    const onwards = net.connect(Number(port), hostname).on("error", () => {});
    for (const one of [socket, onwards]) {
      sockets.add(one);
      one.once("close", () => {
        sockets.delete(one);
        socket.destroy();
        onwards.destroy();
      });
    }
    socket.pipe(onwards).pipe(socket);
  });
  listening.listen(0, "127.0.0.1");
  await once(listening, "listening");
  t.after(() => {
    gate.shut();
    listening.close();
  });
  gate.url = `redis://127.0.0.1:${listening.address().port}`;
  return gate;
}

test("a missing right and a wrong login are told once on standard error", async (t) => {
  const own = await redisServer(t);
  const rights = ["on", ">secret", "~pg2:*", "&*", "+@all", "-eval", "-evalsha"];
  execFileSync("redis-cli", ["-p", String(own.port), "acl", "setuser", "app", ...rights]);
  const program = `
    import { Paddlegate } from ${JSON.stringify(new URL("../index.mjs", import.meta.url).href)};
    for (const login of ["app:secret", "app:other"]) {
      const pg = new Paddlegate("${own.url}".replace("//", "//" + login + "@"), { timeoutMs: 10_000 });
      const limiter = pg.bucket(login.slice(4, 6), 5, 60, { onUnavailable: "fail_open" });
      for (let i = 0; i < 7; i += 1) {
        const { allowed, degraded } = await limiter.tryAcquire();
        if (!allowed || !degraded) throw new Error("not degraded");
      }
      await pg.close();
    }`;
  const told = spawnSync(process.execPath, ["--input-type=module", "-e", program]);
  assert.equal(told.status, 0, String(told.stderr));
  const lines = String(told.stderr).trim().split("\n");
  assert.equal(lines.length, 2, String(told.stderr));
  assert.match(lines[0], /^paddlegate: .*on_unavailable=fail_open .*limiter="se" .*NOPERM/);
  assert.match(lines[1], /^paddlegate: .*on_unavailable=fail_open .*limiter="ot" .*WRONGPASS/);
});
