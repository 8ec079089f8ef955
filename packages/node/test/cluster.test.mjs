// Redirections, against three masters.
import assert from "node:assert/strict";
import test from "node:test";
import { Paddlegate } from "../index.mjs";
import { redis, required, unique } from "./support.mjs";

const nodes = required("PADDLEGATE_TEST_CLUSTER_URL").replace("redis://", "").split(",");
const open = () => new Paddlegate(`redis://${nodes[0]}`, { timeoutMs: 10_000 });

test("limiters of all nodes are found from one", async () => {
  const pg = open();
  const limiters = Array.from({ length: 60 }, () => pg.points(unique(), 1000, "day"));
  for (const left of [990, 980]) {
    const decisions = await Promise.all(
      limiters.map((limiter) => limiter.tryAcquire({ estimate: 10 })),
    );
    assert.ok(decisions.every(({ remaining }) => remaining === left));
    const settlements = await Promise.all(
      limiters.map((limiter, i) => limiter.correct(decisions[i].permit, 10)),
    );
    assert.ok(settlements.every((settlement) => settlement === "settled"));
  }
});

test("the limiters of all nodes are listed", async () => {
  const pg = open();
  const names = Array.from({ length: 60 }, () => unique());
  await Promise.all(names.map((name) => pg.throttle(name, 1).allow()));
  const listed = new Set((await open().limiters()).map(({ name }) => name));
  assert.ok(names.every((name) => listed.has(name)));
});

test("a slot that is being moved answers at both ends, and after", async (t) => {
  const pg = open();
  const name = unique();
  const keys = () =>
    redis(`redis://${source}`, "cluster", "getkeysinslot", slot, "1000")
      .split("\n")
      .filter(Boolean);
  const first = pg.window(name, 10, "day");
  await first.allow();
  const [key, source] = find(name);
  const slot = redis(`redis://${source}`, "cluster", "keyslot", key);
  const target = nodes.find((node) => node !== source);
  const id = (node) => redis(`redis://${node}`, "cluster", "myid");
  const setSlot = (node, ...words) =>
    redis(`redis://${node}`, "cluster", "setslot", slot, ...words);
  setSlot(target, "importing", id(source));
  setSlot(source, "migrating", id(target));
  t.after(() => {
    for (const node of nodes) setSlot(node, "node", id(target));
  });

  // ASK: a limiter without keys at the source is sent on, without remembering it.
  const [host, port] = target.split(":");
  const move = (...moved) =>
    redis(`redis://${source}`, "migrate", host, port, "", "0", "5000", "keys", ...moved);
  const isState = (key) => key.includes(":s:");
  move(...keys().filter(isState));
  // TRYAGAIN: one key here, others there. It is asked again until all have come.
  const between = first.allow();
  setTimeout(() => move(...keys()), 50);
  assert.equal(await between, true);
  assert.equal((await first.peek()).remaining, 8);
  // MOVED: the slot lives there now.
  for (const node of nodes) setSlot(node, "node", id(target));
  assert.equal(await first.allow(), true);
  assert.equal((await first.peek()).remaining, 7);
  assert.equal((await open().window(name, 10, "day").peek()).remaining, 7);

  function find(name) {
    for (const node of nodes) {
      const found = redis(`redis://${node}`, "keys", `*${name}`)
        .split("\n")
        .find((key) => key.includes(":s:"));
      if (found) return [found, node];
    }
    throw new Error("no key");
  }
});

test("a slot that never arrives is an error by the deadline", async (t) => {
  const name = unique();
  const pg = new Paddlegate(`redis://${nodes[0]}`, { timeoutMs: 2000 });
  const limiter = pg.window(name, 10, "day");
  await limiter.allow();
  const holds = (node) => redis(`redis://${node}`, "keys", `*${name}`) !== "";
  const source = nodes.find(holds);
  const key = redis(`redis://${source}`, "keys", `*:w:${name}`).split("\n")[0];
  const slot = redis(`redis://${source}`, "cluster", "keyslot", key);
  const target = nodes.find((node) => node !== source);
  redis(
    `redis://${source}`,
    "cluster",
    "setslot",
    slot,
    "migrating",
    redis(`redis://${target}`, "cluster", "myid"),
  );
  redis(`redis://${source}`, "del", key);
  t.after(() => redis(`redis://${source}`, "cluster", "setslot", slot, "stable"));
  await assert.rejects(limiter.allow(), { name: "UnavailableError", mayHaveCounted: false });
});

test("waiters are told by the node that has their limiter", async () => {
  const pg = open();
  const limiters = Array.from({ length: 12 }, () =>
    pg.concurrent(unique(), 1, { waitTimeoutMs: 60_000 }),
  );
  const permits = await Promise.all(limiters.map((limiter) => limiter.acquire()));
  const waiting = limiters.map((limiter) => limiter.withinLimit(async () => performance.now()));
  while (!(await Promise.all(limiters.map((limiter) => limiter.stats()))).every(hasTicket));
  // Long enough for the subscriptions; a waiter that nobody tells looks again after five seconds.
  await new Promise((resolve) => setTimeout(resolve, 500));
  const released = performance.now();
  await Promise.all(permits.map((permit) => permit.release()));
  const took = Math.max(...(await Promise.all(waiting))) - released;
  assert.ok(took < 3_500, `took=${took}`);
});

const hasTicket = ({ tickets }) => tickets === 1;
