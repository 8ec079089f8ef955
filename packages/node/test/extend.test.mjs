// Further units for an open permit, and what a correction gives back.
import assert from "node:assert/strict";
import test from "node:test";
import { leaky, Paddlegate, points, quota, TestClock } from "../index.mjs";
import { required, unique, withClock } from "./support.mjs";

const patient = { timeoutMs: 10_000 };
const stores = {
  memory: new Paddlegate("memory://"),
  redis: new Paddlegate(required("PADDLEGATE_TEST_URL"), patient),
  cluster: new Paddlegate(required("PADDLEGATE_TEST_CLUSTER_URL"), patient),
};
const left = async (limiter) => (await limiter.peek({ cost: 0 })).remaining;

for (const [store, pg] of Object.entries(stores)) {
  test(`${store}: a permit is extended while a stream runs`, async () => {
    const tokens = pg.points(unique(), 1000, "day");
    const permit = await tokens.acquire({ estimate: 200 });
    const first = permit.id;
    const extended = await permit.extend(300);
    assert.equal(extended.allowed, true);
    assert.deepEqual([permit.id, permit.id === first], [extended.permit, false]);
    assert.equal(await left(tokens), 500);
    const refused = await permit.extend(501);
    assert.deepEqual([refused.allowed, permit.id], [false, extended.permit]);
    assert.ok(refused.retryAfterMs > 0);
    assert.equal(await permit.correct(450), "settled");
    assert.equal(await left(tokens), 550);
    assert.equal(await permit.extend(1), "already");
    assert.equal(await tokens.extend("unheard of", 1), "unknown");
  });

  test(`${store}: extensions that are not awaited follow each other, and the correction them`, async () => {
    const tokens = pg.points(unique(), 1000, "day");
    const permit = await tokens.acquire({ estimate: 100 });
    const [one, two, three, settled] = await Promise.all([
      permit.extend(100),
      permit.extend(100),
      tokens.extend(permit, 100),
      permit.correct(390),
    ]);
    assert.deepEqual(
      [one, two, three].map(({ remaining }) => remaining),
      [800, 700, 600],
    );
    assert.equal(settled, "settled");
    assert.equal(await left(tokens), 610);
  });

  test(`${store}: an id is extended by any process, by label, once`, async () => {
    const limits = { rpm: quota(10, "day"), tpm: points(1000, "day") };
    const llm = pg.limiter(unique(), limits, { keyed: true });
    const key = "acme";
    const { permit } = await llm.tryAcquire({ estimate: { tpm: 200 }, key });
    const extended = await llm.extend(permit, { tpm: 300 }, { key });
    assert.deepEqual([extended.allowed, typeof extended.permit], [true, "string"]);
    await llm.extend(permit, { tpm: 300 }, { key });
    assert.equal(await llm.correct(extended.permit, { tpm: 400 }, { key }), "settled");
    const { remaining } = await llm.peek({ cost: { rpm: 0, tpm: 600 }, key });
    assert.equal(remaining, 9, "the calls are counted once");
    const whole = await llm.peek({ cost: { rpm: 0, tpm: 601 }, key });
    assert.deepEqual([whole.allowed, whole.remaining], [false, 600]);
  });

  test(`${store}: a wrong extension names its argument and changes nothing`, async () => {
    const tokens = pg.points(unique(), 1000, "day");
    const permit = await tokens.acquire({ estimate: 200 });
    for (const units of [0, -1, 1.5, 1001, Number.NaN, "5", null, undefined, { points: -1 }, []]) {
      const wrong = { name: "InvalidError", argument: "units" };
      await assert.rejects(permit.extend(units), wrong, `${units}`);
      await assert.rejects(tokens.extend(permit.id, units), wrong, `${units}`);
    }
    await assert.rejects(tokens.extend(permit.id, { tpm: 1 }), { argument: "units" });
    await assert.rejects(tokens.extend(7, 1), { argument: "permit" });
    await assert.rejects(tokens.extend(permit, 1, { cost: 1 }), { argument: "cost" });
    const plain = await tokens.acquire({ cost: 1 });
    await assert.rejects(plain.extend(1), { argument: "estimate" });
    assert.equal(await left(tokens), 799);
    assert.equal((await permit.extend(1)).remaining, 798);
  });

  test(`${store}: a correction gives back nothing that has drained, if so asked`, async () => {
    const made = (at, refund) => [
      at.points(unique(), 1000, 20, { refund }),
      at.leaky(unique(), 1000, 20, { refund }),
      at.limiter(unique(), { tokens: points(1000, 20, { refund }) }),
      at.limiter(unique(), { tokens: leaky(1000, 20, { refund }) }),
      at.limiter(unique(), refund ? { points: [1000, 20, refund] } : { points: [1000, 20] }),
    ];
    for (const [refund, expected] of [
      [undefined, 1000],
      ["full", 1000],
      ["undrained", 0],
    ]) {
      const clock = new TestClock(1_700_000_000_000_000);
      for (const limiter of made(withClock(store, clock), refund)) {
        const first = await limiter.acquire({ estimate: 1000 });
        clock.advance(20);
        await limiter.acquire({ estimate: 1000 });
        assert.equal(await first.correct(0), "settled");
        assert.equal(await left(limiter), expected, `${refund}`);
      }
    }
  });
}

test("a wrong refund is an error that names it", () => {
  const pg = stores.memory;
  const wrong = { name: "InvalidError", argument: "refund" };
  assert.throws(() => pg.points("wrong", 1, 1, { refund: "half" }), wrong);
  assert.throws(() => pg.leaky("wrong", 1, 1, { refund: 1 }), wrong);
  assert.throws(() => pg.window("wrong", 1, 1, { refund: "full" }), wrong);
});
