// Calls of many tasks are sent in writes of at most 32, so that the server decides on some while the program makes others.
import assert from "node:assert/strict";
import net from "node:net";
import test from "node:test";
import { Paddlegate } from "../index.mjs";
import { required, unique } from "./support.mjs";

const url = required("PADDLEGATE_TEST_URL");
const TASKS = 64;

test("also when the answers to all of them have come together", async (t) => {
  const pg = new Paddlegate(url, { timeoutMs: 20_000 });
  const limiter = pg.leaky(unique("batches"), 1e9, 1);
  await limiter.tryAcquire();
  const sizes = [];
  const { write } = net.Socket.prototype;
  t.after(() => {
    net.Socket.prototype.write = write;
    return pg.close();
  });
  net.Socket.prototype.write = function (data, ...rest) {
    sizes.push(String(data).split("EVALSHA").length - 1);
    return write.call(this, data, ...rest);
  };
  const task = async (calls) => {
    for (let i = 0; i < calls; i++) await limiter.tryAcquire();
  };
  await Promise.all(Array.from({ length: TASKS }, () => task(10)));
  assert.equal(
    sizes.reduce((sum, size) => sum + size),
    TASKS * 10,
  );
  assert.ok(Math.max(...sizes) <= 32, sizes.join());
});
