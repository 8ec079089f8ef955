// A program whose tests fake its timers and clocks, as sinon and jest do, still gets its answers.
import assert from "node:assert/strict";
import test from "node:test";
import { entry, freePort, redisServer, required, run, server, unique } from "./support.mjs";

const url = required("PADDLEGATE_TEST_URL");

/** `fake()` puts what never happens in the place of everything that tells or waits for time, `unfake()` undoes it. */
const faker = `
  import timers from "node:timers";
  const never = () => ({ ref() {}, unref() {} });
  const names = ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "setImmediate", "clearImmediate"];
  const fakes = [
    [process, "nextTick", never],
    [process, "hrtime", () => [0, 0]],
    [globalThis, "queueMicrotask", never],
    [performance, "now", () => 0],
    [Date, "now", () => 0],
    ...names.flatMap((name) => [[globalThis, name, never], [timers, name, never]]),
  ];
  const real = fakes.map(([owner, name]) => owner[name]);
  const fake = () => fakes.forEach(([owner, name, value]) => { owner[name] = value; });
  const unfake = () => fakes.forEach(([owner, name], i) => { owner[name] = real[i]; });`;

test("faked timers change nothing: calls are sent, waits end, and the process does", async (t) => {
  const own = await redisServer(t);
  const local = await redisServer(t, ["--unixsocket", "redis.sock"]);
  const urls = ["memory://", own.url, `redis://localhost:${own.port}`];
  urls.push(`unix://${local.folder}/redis.sock`);
  for (const [i, store] of urls.entries()) {
    const { output, status } = await run(`
      import { Paddlegate } from ${JSON.stringify(entry)};
      ${faker}
      const pg = new Paddlegate(${JSON.stringify(store)}, { timeoutMs: 20000 });
      const limiter = pg.window("a${i}", 5, 3600);
      fake();
      const answers = [await limiter.allow(), ...await Promise.all([limiter.allow(), limiter.allow()])];
      const rate = pg.throttle("b${i}", 0.2, { waitTimeoutMs: 20000 });
      await rate.acquire();
      const { decision } = await rate.acquire();
      const erp = pg.concurrent("c${i}", 1, { waitTimeoutMs: 20000 });
      const permit = await erp.acquire();
      const waiting = erp.acquire();
      await permit.release();
      const next = await waiting;
      const isAlive = next.expiresInMs > 0 && next.expiresInMs <= 30000;
      unfake();
      answers.push(await limiter.allow(), await limiter.allow(), await limiter.allow());
      console.log(answers.join(), decision.allowed, isAlive);`);
    assert.equal(output, "true,true,true,true,true,false true true", store);
    assert.equal(status, 0);
  }
});

test("a connection that was made before the timers were faked carries calls too", async () => {
  const { output, status } = await run(`
    import { Paddlegate } from ${JSON.stringify(entry)};
    ${faker}
    const limiter = new Paddlegate(${JSON.stringify(url)}, { timeoutMs: 20000 }).window(${JSON.stringify(unique())}, 3, 3600);
    const answers = [await limiter.allow()];
    fake();
    for (let i = 0; i < 3; i += 1) answers.push(await limiter.allow());
    console.log(answers.join());`);
  assert.equal(output, "true,true,true,false");
  assert.equal(status, 0);
});

test("the deadline of a call holds under faked timers, and the call after it is answered", async (t) => {
  const silent = await server(t, () => {});
  const refusing = `redis://127.0.0.1:${await freePort()}`;
  for (const store of [silent, silent.replace("redis", "rediss"), refusing]) {
    const { output, status } = await run(`
      import { Paddlegate } from ${JSON.stringify(entry)};
      ${faker}
      const limiter = new Paddlegate(${JSON.stringify(store)}, { timeoutMs: 100 }).window("a", 5, 3600);
      fake();
      const codes = [];
      for (let i = 0; i < 2; i += 1) await limiter.allow().catch(({ code }) => codes.push(code));
      unfake();
      await limiter.allow().catch(({ code }) => codes.push(code));
      console.log(codes.join());`);
    assert.equal(output, "UNAVAILABLE,UNAVAILABLE,UNAVAILABLE", store);
    assert.equal(status, 0);
  }
});
