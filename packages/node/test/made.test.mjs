// A limiter that a program asks for at each call is made once.
import assert from "node:assert/strict";
import test from "node:test";

import { InvalidError, Paddlegate } from "../index.mjs";

test("a limiter that was asked for before is the same one", () => {
  const pg = new Paddlegate("memory://");
  const makes = {
    concurrent: (name) => pg.concurrent(name, 5, { lockTimeoutMs: 1000 }),
    bucket: (name) => pg.bucket(name, 5, "minute", { offset: 3 }),
    window: (name) => pg.window(name, 5, 60),
    leaky: (name) => pg.leaky(name, 5, 60, { refund: "undrained", keyed: true }),
    points: (name) => pg.points(name, 5, 60),
    quota: (name) => pg.quota(name, 5, "month", { starts: "15" }),
    throttle: (name) => pg.throttle(name, 1, { limit: 3 }),
  };
  for (const [kind, make] of Object.entries(makes)) {
    assert.equal(make(kind), make(kind), kind);
    assert.notEqual(make(kind), make(`${kind} 2`), kind);
  }
});

test("other arguments make another limiter", () => {
  const pg = new Paddlegate("memory://");
  const one = pg.leaky("one", 5, 60, { ttl: 60 });
  for (const other of [
    pg.window("one", 5, 60, { ttl: 60 }),
    pg.leaky("one", 6, 60, { ttl: 60 }),
    pg.leaky("one", 5, 61, { ttl: 60 }),
    pg.leaky("one", 5, 60, { ttl: 61 }),
    pg.leaky("one", 5, 60, { ttl: 60, keyed: true }),
    pg.leaky("one", 5, 60),
    new Paddlegate("memory://").leaky("one", 5, 60, { ttl: 60 }),
  ]) {
    assert.notEqual(other, one);
  }
});

test("an option that is undefined does not stand for another one", () => {
  const pg = new Paddlegate("memory://");
  for (const [name, options, other] of [
    ["keyed", { keyed: true }, { group: undefined }],
    ["shadow", { mode: "shadow" }, { ttl: undefined }],
  ]) {
    const first = pg.window(name, 1, 60, options);
    const second = pg.window(name, 1, 60, other);
    assert.notEqual(second, first, name);
    assert.equal(pg.window(name, 1, 60, other), second, name);
    assert.throws(() => pg.window(name, 1, 60, { misspelt: undefined }), InvalidError);
  }
});

test("what would be refused is refused after a limiter of that name", () => {
  const pg = new Paddlegate("memory://");
  pg.window("one", 1, 60);
  for (const options of [null, 5, { ttl: -1 }, { what: 1 }]) {
    assert.throws(() => pg.window("one", 1, 60, options), InvalidError);
  }
  for (const limit of [true, "1", undefined]) {
    assert.throws(() => pg.window("one", limit, 60), InvalidError);
  }
});

test("arguments that can change are read at each call", async () => {
  const pg = new Paddlegate("memory://");
  const blockAfter = { refusals: 1, withinMs: 60_000, forMs: 60_000 };
  pg.window("one", 1, 60, { blockAfter });
  blockAfter.refusals = 0;
  assert.throws(() => pg.window("one", 1, 60, { blockAfter }), InvalidError);
  const options = { ttl: 60 };
  const one = pg.window("two", 1, 60, options);
  options.ttl = 61;
  assert.notEqual(pg.window("two", 1, 60, options), one);
});

test("a store keeps the limiters of a thousand names", () => {
  const pg = new Paddlegate("memory://");
  const first = pg.window("first", 1, 60);
  for (let i = 1; i < 1000; i++) pg.window(`user-${i}`, 1, 60);
  assert.equal(pg.window("first", 1, 60), first);
  pg.window("one more", 1, 60);
  assert.notEqual(pg.window("first", 1, 60), first);
});
