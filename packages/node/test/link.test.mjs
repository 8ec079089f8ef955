// A connection that the addon does not know.
import assert from "node:assert/strict";
import test from "node:test";
import native from "../lib/native.js";
import redis from "../lib/redis.js";
import sharedBuffer from "../lib/shared-buffer.js";

const { LINK, memory, slots } = sharedBuffer;

test("a call on a connection that the addon does not know fails alone", async () => {
  const store = new native.Store("redis://127.0.0.1:1", 10_000, memory, undefined);
  const connections = new redis.Redis(store);
  slots[LINK] = 4_000_000;
  assert.equal(store.node(slots[LINK]), null);
  const sent = [connections.send(1, assert.fail), connections.send(2, assert.fail)];
  for (const call of sent) await assert.rejects(call, { code: "INTERNAL" });
  // No call is left, or this would wait for it.
  await connections.close();
});
