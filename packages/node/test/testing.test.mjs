// What users' tests get: stores in memory with a clock, and the adapter kit, which finds an adapter that limits nothing.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { InvalidError, Paddlegate, TestClock } from "../index.mjs";
import { adapterKit, inMemory } from "../testing.mjs";

/** Where nothing listens, so that nothing but memory can answer. */
const NOWHERE = "redis://127.0.0.1:1";

let memory;
beforeEach(() => {
  memory = inMemory();
});
afterEach(() => memory.restore());

test("every store is in memory, with a clock that only the test moves", async () => {
  const mail = new Paddlegate(NOWHERE).window("mail", 1, "minute");
  assert.deepEqual([await mail.allow(), await mail.allow()], [true, false]);
  memory.clock.advance("minute");
  assert.equal(await mail.allow(), true);
  const waiting = mail.acquire({ waitTimeoutMs: 3_600_000 });
  while ((await mail.queue()).length === 0) await new Promise(setImmediate);
  memory.clock.advance("minute");
  assert.equal((await waiting).decision.atUs, 120_000_000);
  assert.equal(mail.allowSync(), false);
});

test("reset empties all limiters, which stay", async () => {
  const pg = new Paddlegate(NOWHERE);
  const plain = pg.window("plain", 1, "hour");
  const keyed = pg.window("keyed", 1, "hour", { keyed: true });
  const ofKey = keyed.withKey("kept");
  const both = pg.together([pg.window("a", 3, "hour"), pg.window("b", 1, "hour")]);
  const document = { limiters: { file: { window: { limit: 1, per: "hour" } } } };
  const file = pg.limitersFromDocument(document).get("file");
  const slots = pg.concurrent("slots", 1);
  const calls = [
    () => plain.allow(),
    () => keyed.allow({ key: "short" }),
    () => keyed.allow({ key: "a key of more than forty characters, as an argument" }),
    () => ofKey.allow(),
    () => both.allow(),
    () => file.allow(),
    async () => (await plain.peek()).allowed,
    async () => (await slots.tryAcquire()).allowed,
  ];
  const answers = () => Promise.all(calls.map((call) => call()));
  const first = [true, true, true, true, true, true, false, true];
  for (let round = 0; round < 3; round += 1) {
    assert.deepEqual(await answers(), first, `round=${round}`);
    assert.ok((await answers()).every((allowed) => !allowed));
    memory.clock.advance(60);
    memory.reset();
    assert.equal(memory.clock.nowUs, 0);
  }
});

test("a store keeps a clock of its own, and a wrong URL is an error", async () => {
  const clock = new TestClock(5_000_000);
  const mail = new Paddlegate(NOWHERE, { clock }).window("mail", 1, "minute");
  assert.equal((await mail.tryAcquire()).atUs, 5_000_000);
  assert.throws(() => new Paddlegate("redis://["), { name: "InvalidError", argument: "url" });
});

test("one at a time, and afterwards stores are opened as ever", async () => {
  assert.throws(() => inMemory(), { argument: "inMemory" });
  memory.restore();
  assert.throws(() => inMemory({ now: 1 }), { argument: "now" });
  const other = inMemory({ nowUs: 7 });
  assert.equal(other.clock.nowUs, 7);
  // That of before has nothing to restore any more.
  memory.restore();
  assert.equal(await new Paddlegate(NOWHERE).window("mail", 1, "minute").allow(), true);
  other.restore();
  const away = new Paddlegate(NOWHERE).window("mail", 1, "minute");
  await assert.rejects(away.allow(), { code: "UNAVAILABLE" });
  assert.ok(InvalidError);
});

test("the kit finds an adapter that limits nothing", async () => {
  const cases = adapterKit(new URL("web/nothing.mjs", import.meta.url));
  const failing = [
    /requests at once/,
    /each key/,
    /without a key/,
    /a refusal is 429/,
    /status and body/,
    /a lease lasts/,
    /in shadow/,
    /raise is 503/,
    /fail_closed is 429/,
  ];
  for (const found of failing) {
    const { run } = cases.find(({ name }) => found.test(name));
    await assert.rejects(run(), { name: "AssertionError" }, String(found));
  }
  await cases.at(-1).run();
});

test("the kit says why a module cannot be served", async () => {
  const [first, ...others] = adapterKit("no/such/module.mjs");
  await assert.rejects(first.run(), /Cannot find module/);
  await others.at(-1).run();
});
