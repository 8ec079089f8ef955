// Gates: which slot of a control of Invantive limits a request.
import assert from "node:assert/strict";
import test from "node:test";
import {
  InvalidError,
  OverLimitError,
  Paddlegate,
  TestClock,
  UnavailableError,
} from "../index.mjs";
import { required, unique, withClock } from "./support.mjs";

const patient = { timeoutMs: 10_000 };
const stores = {
  memory: new Paddlegate("memory://"),
  redis: new Paddlegate(required("PADDLEGATE_TEST_URL"), patient),
  cluster: new Paddlegate(required("PADDLEGATE_TEST_CLUSTER_URL"), patient),
};
/** The start of an hour in 2026. */
const start = 1_780_272_000_000_000;

const control = (slots, elements = [{ SlotName: slots[0].Name }]) => ({
  RateLimitControlList: elements,
  RateLimitControlSlotList: slots,
});
const free = { allowed: true, delayMs: 0, slot: null, level: null, retryAfterMs: 0, reason: null };

for (const [store, pg] of Object.entries(stores)) {
  test(`${store}: levels fail or delay`, async () => {
    const clock = new TestClock(start);
    const clocked = withClock(store, clock);
    const a = { Name: unique(), ActionsPerSecond: 2, ActionsPerMinute: 5 };
    const gate = clocked.invantiveGate(control([a]));
    const levels = [];
    for (const second of [0, 0, 0, 1, 1, 2, 2, 60]) {
      clock.nowUs = start + second * 1e6;
      levels.push((await gate.admit()).level);
    }
    const open = null;
    assert.deepEqual(levels, [open, open, "second", open, open, open, "minute", open]);

    clock.nowUs = start;
    const late = { ActionsPerSecond: 1, DelayMsOnOverflowSecond: 250 };
    const soft = { Name: unique(), FailOnOverflowSecond: false, ...late };
    const delaying = clocked.invantiveGate(JSON.stringify(control([soft])));
    const allowed = { ...free, slot: soft.Name };
    assert.deepEqual(await delaying.admit(), allowed);
    const delayed = await delaying.admit();
    assert.deepEqual(delayed, { ...allowed, delayMs: 250, level: "second" });
    assert.ok(Object.isFrozen(delayed));
    const hard = { Name: unique(), ...late };
    const failing = clocked.invantiveGate(control([hard]));
    await failing.admit();
    clock.advance(0.4);
    assert.deepEqual(await failing.admit(), {
      allowed: false,
      delayMs: 250,
      slot: hard.Name,
      level: "second",
      retryAfterMs: 600,
      reason: "bucket",
    });
  });

  test(`${store}: the facts choose the slot`, async () => {
    const facts = {
      context: ["Context", "report*", "reports"],
      url: ["Url", "https://x/*", "https://x/a"],
      logOnCode: ["LogOnCode", "ann", "ann"],
      dataContainerId: ["DataContainerId", "db", "db"],
      ip: ["IpAddressClientCidr", "10.0.0.0/8", "::ffff:10.1.2.3"],
    };
    const slots = Object.keys(facts).map((fact) => ({ Name: unique(fact), ActionsPerHour: 1 }));
    const elements = Object.values(facts).map(([member, text], index) => ({
      [member]: text,
      SlotName: slots[index].Name,
    }));
    const gate = withClock(store, new TestClock(start)).invantiveGate(control(slots, elements));
    for (const [index, [fact, [, , value]]] of Object.entries(facts).entries()) {
      assert.equal((await gate.admit({ [fact]: value })).slot, slots[index].Name);
      assert.equal((await gate.admit({ [fact]: value })).allowed, false);
      assert.deepEqual(await gate.admit({ [fact]: "1.1.1.1" }), free);
    }
    assert.deepEqual(await gate.admit(), free);
  });

  test(`${store}: the store is asked for the time`, async () => {
    const slots = [
      { Name: unique(), ActionsPerHour: 0 },
      { Name: unique(), ActionsPerHour: 9 },
    ];
    const elements = slots.map(({ Name }) => ({ SlotName: Name }));
    elements[0].ValidToUtc = "2001-01-01T00:00:00Z";
    const early = withClock(store, new TestClock(5)).invantiveGate(control(slots, elements));
    assert.equal((await early.admit()).slot, slots[0].Name);
    assert.equal((await pg.invantiveGate(control(slots, elements)).admit()).slot, slots[1].Name);
  });

  test(`${store}: gates and calls at once share a slot`, async () => {
    const document = control([{ Name: unique(), ActionsPerHour: 7 }]);
    const gates = [pg.invantiveGate(document), pg.invantiveGate(document)];
    const asked = Array.from({ length: 20 }, (_, index) => gates[index % 2].admit());
    assert.equal((await Promise.all(asked)).filter(({ allowed }) => allowed).length, 7);
  });

  test(`${store}: a function runs after the delay or not at all`, async () => {
    const Name = unique();
    const gate = pg.invantiveGate(
      control([{ Name, ActionsPerHour: 1, DelayMsOnOverflowHour: 60, ActionsPerMinute: 100 }]),
    );
    assert.equal(await gate.withinLimit(({ slot }) => slot), Name);
    const began = performance.now();
    let ran = false;
    const refused = gate.withinLimit({ url: "https://x" }, () => {
      ran = true;
    });
    await assert.rejects(refused, (error) => {
      assert.ok(error instanceof OverLimitError);
      assert.deepEqual(
        [error.limiter, error.reason, error.decision.level],
        [Name, "bucket", "hour"],
      );
      return error.retryAfterMs > 0 && error.retryAfterMs <= 3_600_000;
    });
    assert.equal(ran, false);
    assert.ok(performance.now() - began >= 59);
  });
}

const pg = stores.memory;

test("a document that is wrong says where", () => {
  for (const [document, path] of [
    ["{", "at $"],
    [{ RateLimitControlSlotList: [{ Name: 5 }] }, "at $.RateLimitControlSlotList[0].Name: "],
    [{ RateLimitControlList: [{ SlotName: "x" }] }, "at $.RateLimitControlList[0].SlotName: "],
    [5, "must be"],
    [undefined, "must be"],
  ]) {
    assert.throws(
      () => pg.invantiveGate(document),
      (error) =>
        error instanceof InvalidError &&
        error.argument === "document" &&
        error.message.startsWith(path),
    );
  }
});

test("what is no fact is named and counts nothing", async () => {
  const gate = pg.invantiveGate(control([{ Name: unique(), ActionsPerHour: 1 }]));
  for (const [request, argument] of [
    [{ context: 5 }, "context"],
    [{ url: new URL("https://x") }, "url"],
    [{ logOnCode: ["a"] }, "logOnCode"],
    [{ dataContainerId: "\ud800" }, "dataContainerId"],
    [{ ip: "10.0.0.1:80" }, "ip"],
    [{ log_on_code: "a" }, "log_on_code"],
    [{ cost: 2 }, "cost"],
    [{ toString: "a" }, "toString"],
    [{ atUs: 5 }, "atUs"],
    [{ signal: 5 }, "signal"],
    ["a", "options"],
  ]) {
    for (const call of [() => gate.admit(request), () => gate.withinLimit(request, () => 1)]) {
      await assert.rejects(
        call,
        (error) => error instanceof InvalidError && error.argument === argument,
      );
    }
  }
  await assert.rejects(gate.withinLimit({}), { argument: "fn" });
  assert.equal((await gate.admit()).allowed, true);
});

test("a gate whose call or delay is aborted does not run the function", async () => {
  const slot = { ActionsPerHour: 0, DelayMsOnOverflowHour: 60_000, FailOnOverflowHour: false };
  const gate = pg.invantiveGate(control([{ Name: unique(), ...slot }]));
  const aborted = gate.withinLimit({ signal: AbortSignal.abort("no") }, () => assert.fail());
  await assert.rejects(aborted, (reason) => reason === "no");
  const controller = new AbortController();
  const delayed = gate.withinLimit({ signal: controller.signal }, () => assert.fail());
  setTimeout(() => controller.abort("enough"), 5);
  await assert.rejects(delayed, (reason) => reason === "enough");
});

test("a store that is away is an error of a gate", async () => {
  const gate = new Paddlegate("redis://127.0.0.1:1").invantiveGate(
    control([{ Name: "a", ActionsPerHour: 1 }]),
  );
  await assert.rejects(gate.admit(), UnavailableError);
});
