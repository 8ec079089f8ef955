// The rules of a waiting call, without a clock: `tests/vectors/waiting.json`.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import native from "../lib/native.js";

const path = new URL("../../../tests/vectors/waiting.json", import.meta.url);
const vectors = JSON.parse(readFileSync(path, "utf8"));

test("a waiter follows the vectors", async (t) => {
  assert.ok(vectors.cases.length > 20);
  for (const example of vectors.cases) {
    await t.test(example.title, () => {
      const { owns_id, max_wait_us, now_us, steps } = example;
      const waiter = new native.Waiter(owns_id, ms(max_wait_us), ms(now_us));
      for (const [i, step] of steps.entries()) {
        const message = `${example.title}, step ${i}: ${JSON.stringify(step)}`;
        assert.deepEqual(answer(waiter, step), step.expect, message);
      }
    });
  }
});

test("the waiter of a job follows the vectors", async (t) => {
  assert.ok(vectors.jobs.length > 5);
  for (const example of vectors.jobs) {
    await t.test(example.title, () => {
      const { claim_timeout_us, patience_us, now_us, steps } = example;
      const waiter = native.Waiter.ofJob(ms(claim_timeout_us), ms(patience_us), ms(now_us));
      for (const [i, step] of steps.entries()) {
        const message = `${example.title}, step ${i}: ${JSON.stringify(step)}`;
        assert.deepEqual(answer(waiter, step), step.expect, message);
      }
    });
  }
});

test("pauses between connections follow the vectors", () => {
  const pauses = vectors.reconnect_pauses_us;
  assert.deepEqual(
    pauses.map((_, failures) => micros(native.reconnectPauseMs(failures))),
    pauses,
  );
});

test("a wait above ten years is an error", () => {
  const create = () => new native.Waiter(true, 3650 * 86_400_000 + 1, 0);
  assert.throws(create, { code: "invalid wait_timeout false" });
});

function answer(waiter, step) {
  switch (step.do) {
    case "next": {
      const next = waiter.next(ms(step.now_us), step.channel);
      const { maxWaitMs, ticket = null, channel, claimTimeoutMs, keeps } = next;
      const wait = { max_wait_us: micros(maxWaitMs), ticket };
      if (!("channel" in step.expect)) return wait;
      assert.deepEqual([claimTimeoutMs, keeps], [9000, true]);
      return { ...wait, channel };
    }
    case "decision": {
      if (step.status === "queued")
        return waiter.onQueued(ms(step.now_us), step.retry_after_us, step.ticket);
      waiter.onFinal(step.status === "granted", step.degraded);
      return true;
    }
    case "error":
      return waiter.onError(step.may_have_counted);
    case "wakeup":
      return waiter.onWakeup(ms(step.at_us));
    case "retry_at":
      return micros(waiter.retryAt(step.channel));
    case "must_cancel":
      return waiter.mustCancel(step.delivered);
    default:
      return assert.fail(`an unknown step: ${step.do}`);
  }
}

const ms = (us) => us / 1000;
const micros = (millis) => Math.round(millis * 1000);
