// The rules of a waiting call, without a clock: the vectors on the internal class of the module.
import assert from "node:assert/strict";
import test from "node:test";
import { Waiter } from "../dist/node/paddlegate.js";
import { waiting } from "./vectors.mjs";

const host = { invalid: (message, argument) => Object.assign(new Error(message), { argument }) };

for (const testCase of waiting.cases) {
  test(`waiting: ${testCase.title}`, () => {
    const { owns_id: ownsId, max_wait_us, now_us, steps } = testCase;
    const waiter = new Waiter(host, ownsId, ms(max_wait_us), ms(now_us));
    steps.forEach((step, number) => {
      assert.deepEqual(answer(waiter, step), step.expect, `step ${number}`);
    });
    waiter.free();
  });
}

test("a wait above ten years is an error", () => {
  const longest = 3650 * 86_400_000;
  new Waiter(host, true, longest, 0).free();
  assert.throws(() => new Waiter(host, true, longest + 0.001, 0), { argument: "wait_timeout" });
});

test("times that are no times end in no trap", () => {
  for (const time of [Number.NaN, -1, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]) {
    const waiter = new Waiter(host, true, Number.NaN, time);
    assert.equal(waiter.next(time, ""), 0);
    waiter.onQueued(time, time, time);
    waiter.onWakeup(time);
    assert.ok(waiter.retryAt("") >= 0);
    waiter.free();
  }
});

function answer(waiter, step) {
  switch (step.do) {
    case "next": {
      const left = waiter.next(ms(step.now_us), step.channel);
      return { max_wait_us: Math.round(left * 1000), ticket: waiter.ticket() ?? null };
    }
    case "decision":
      if (step.status === "queued") {
        waiter.onQueued(ms(step.now_us), ms(step.retry_after_us), step.ticket);
      } else {
        waiter.onFinal(step.status === "granted", step.degraded);
      }
      return step.status !== "queued";
    case "error":
      return waiter.onError(step.may_have_counted);
    case "wakeup":
      return waiter.onWakeup(ms(step.at_us));
    case "retry_at":
      return Math.round(waiter.retryAt(step.channel) * 1000);
    case "must_cancel":
      return waiter.mustCancel(step.delivered);
    default:
      throw new Error(`no such step: ${step.do}`);
  }
}

function ms(us) {
  return us === null ? null : us / 1000;
}
