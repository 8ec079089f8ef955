// Further units for an open permit, and what a correction gives back.
import assert from "node:assert/strict";
import test from "node:test";
import { leaky, Paddlegate, points, TestClock } from "paddlegate-wasm";

const invalid = (argument) => ({ name: "InvalidError", code: "INVALID", argument });
const left = (limiter) => limiter.peek({ cost: 0 }).remaining;

test("a permit is extended while a stream runs", async () => {
  const tokens = new Paddlegate().points("tokens", 1000, "day");
  const permit = await tokens.acquire({ estimate: 200 });
  const first = permit.id;
  const extended = permit.extend(300);
  assert.deepEqual([extended.allowed, permit.id], [true, extended.permit]);
  assert.notEqual(permit.id, first);
  assert.equal(tokens.extend(first, 300).allowed, true, "the same call again");
  assert.equal(left(tokens), 500);
  const refused = permit.extend(501);
  assert.deepEqual([refused.allowed, permit.id], [false, extended.permit]);
  assert.equal(tokens.extend(permit, 100).permit, permit.id);
  assert.equal(permit.correct(450), "settled");
  assert.equal(left(tokens), 550);
  assert.equal(permit.extend(1), "already");
  assert.equal(tokens.extend("unheard of", 1), "unknown");
});

test("an id is extended by label and key", () => {
  const limits = { rpm: ["window", 10, 60], tpm: points(1000, "day") };
  const llm = new Paddlegate().limiter("llm", limits, { keyed: true });
  const key = "acme";
  const { permit } = llm.tryAcquire({ estimate: { tpm: 200 }, key });
  const longer = llm.extend(permit, { tpm: 300 }, { key }).permit;
  assert.equal(llm.correct(longer, { tpm: 400 }, { key }), "settled");
  assert.equal(llm.peek({ cost: { rpm: 0, tpm: 601 }, key }).remaining, 600);
});

test("a wrong extension names its argument and changes nothing", async () => {
  const tokens = new Paddlegate().points("tokens", 1000, "day");
  const permit = await tokens.acquire({ estimate: 200 });
  for (const units of [0, -1, 1.5, 1001, Number.NaN, "5", null, undefined, { points: -1 }, []]) {
    assert.throws(() => permit.extend(units), invalid("units"), `${units}`);
    assert.throws(() => tokens.extend(permit.id, units), invalid("units"), `${units}`);
  }
  assert.throws(() => tokens.extend(permit.id, { tpm: 1 }), invalid("units"));
  assert.throws(() => tokens.extend(7, 1), invalid("permit"));
  assert.throws(() => tokens.extend(permit, 1, { cost: 1 }), invalid("cost"));
  const plain = await tokens.acquire({ cost: 1 });
  assert.throws(() => plain.extend(1), invalid("estimate"));
  assert.equal(permit.extend(1).remaining, 798);
});

test("a correction gives back nothing that has drained, if so asked", async () => {
  const made = (pg, refund) => [
    pg.points("a", 1000, 20, { refund }),
    pg.leaky("b", 1000, 20, { refund }),
    pg.limiter("c", { tokens: points(1000, 20, { refund }) }),
    pg.limiter("d", { tokens: leaky(1000, 20, { refund }) }),
    pg.limiter("e", [["points", 1000, 20, refund]]),
  ];
  for (const [refund, expected] of [
    [undefined, 1000],
    ["full", 1000],
    ["undrained", 0],
  ]) {
    const clock = new TestClock(1_700_000_000_000_000);
    for (const limiter of made(new Paddlegate("memory://", { clock }), refund)) {
      const first = await limiter.acquire({ estimate: 1000 });
      clock.advance(20);
      await limiter.acquire({ estimate: 1000 });
      assert.equal(first.correct(0), "settled");
      assert.equal(left(limiter), expected, `${refund}`);
    }
  }
  const pg = new Paddlegate();
  assert.throws(() => pg.points("wrong", 1, 1, { refund: "half" }), invalid("refund"));
  assert.throws(() => pg.window("wrong", 1, 1, { refund: "full" }), invalid("refund"));
});
