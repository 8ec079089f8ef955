// The list of limiters: by the beginning of their names, and in pages.
import assert from "node:assert/strict";
import test from "node:test";
import { Paddlegate } from "../index.mjs";
import { redisServer, required, server, unique } from "./support.mjs";

const patient = { timeoutMs: 10_000 };
const open = (url) => new Paddlegate(url, patient);
const invalid = (argument) => ({ name: "InvalidError", argument });
const named = (limiters) => limiters.map(({ name }) => name);
const isSorted = (names) => names.every((name, i) => i === 0 || names[i - 1] <= name);

/** Reads all pages of a prefix. */
async function pages(pg, prefix) {
  const read = [];
  let cursor = null;
  do {
    const page = await pg.limiterPage({ prefix, cursor });
    read.push(page);
    assert.ok(read.length < 50, "the pages have no end");
    cursor = page.cursor;
  } while (cursor !== null);
  return read;
}

/** Uses a limiter of each name. */
const use = (pg, names) => Promise.all(names.map((name) => pg.window(name, 5, 60).allow()));

const numbered = (prefix, count) => Array.from({ length: count }, (_, i) => `${prefix}${i}`).sort();

test("memory: names by their beginning, in one page", async () => {
  const pg = new Paddlegate("memory://");
  assert.deepEqual(await pg.limiterPage(), { limiters: [], cursor: null });
  const names = numbered("shop-", 350);
  await use(pg, [...names, "mail", "sho", "Shop-1"]);
  assert.deepEqual(named(await pg.limiters({ prefix: "shop-" })), names);
  assert.equal((await pg.limiters()).length, 353);
  assert.equal((await pg.limiters({})).length, 353);
  assert.equal((await pg.limiters({ prefix: "" })).length, 353);
  assert.equal((await pg.limiters({ prefix: null })).length, 353);
  assert.deepEqual(await pg.limiters({ prefix: "shop-350" }), []);
  const page = await pg.limiterPage({ prefix: "shop-" });
  assert.deepEqual([named(page.limiters), page.cursor], [names, null]);
  assert.deepEqual(page.limiters, await pg.limiters({ prefix: "shop-" }));
  assert.equal((await pg.limiterPage()).limiters.length, 353);
  for (const cursor of ["", "0.0", "1"]) {
    await assert.rejects(pg.limiterPage({ cursor }), invalid("cursor"));
  }
});

for (const store of ["URL", "CLUSTER_URL"]) {
  test(`${store}: names by their beginning, in pages`, async () => {
    const pg = open(required(`PADDLEGATE_TEST_${store}`));
    const prefix = unique("list");
    const names = numbered(`${prefix}.a`, 350);
    const others = [`${prefix}.b`, `${prefix}.c`, `x${prefix}.a`];
    await use(pg, [...names, ...others]);
    await pg.window(`${prefix}.d`, 1, 1, { group: `${prefix}.a`, keyed: true }).allow({ key: "k" });

    const listed = await pg.limiters({ prefix: `${prefix}.a` });
    assert.deepEqual(named(listed), names);
    const { lastUsed, ...first } = listed[0];
    assert.equal(typeof lastUsed, "number");
    assert.deepEqual(first, {
      name: names[0],
      group: null,
      keyed: false,
      mode: "enforce",
      limits: [{ label: "window", kind: "window", amount: 5, interval: 60, offset: 0 }],
      ttl: 90 * 86_400,
    });
    const [inGroup] = await pg.limiters({ prefix: `${prefix}.d` });
    assert.deepEqual(
      [inGroup.name, inGroup.group, inGroup.keyed],
      [`${prefix}.d`, `${prefix}.a`, true],
    );
    assert.equal((await pg.limiters({ prefix })).length, 353);

    const read = await pages(pg, `${prefix}.a`);
    assert.ok(read.length >= 2 && read.length <= 4, `pages=${read.length}`);
    for (const { limiters, cursor } of read) {
      assert.ok(limiters.length >= 100 || cursor === null, `${limiters.length} ${cursor}`);
      assert.ok(isSorted(named(limiters)));
    }
    const found = read.flatMap(({ limiters }) => limiters);
    assert.deepEqual([...new Set(named(found))].sort(), names);
    assert.deepEqual(
      found.find(({ name }) => name === names[0]),
      listed[0],
    );
    assert.deepEqual(await pages(pg, unique("nobody")), [{ limiters: [], cursor: null }]);

    for (const cursor of ["", "1", "x.y", "256.0", "-1.0", "1.-1", "1.0.0", "é"]) {
      await assert.rejects(pg.limiterPage({ cursor }), invalid("cursor"), cursor);
    }
    await pg.close();
  });
}

test("redis: a prefix may have any characters", async (t) => {
  const own = await redisServer(t);
  const pg = open(own.url);
  const names = [
    "*",
    "a*",
    "a?b",
    "a[b]c",
    "[^a]",
    "\\",
    "\\a",
    "a|b|c",
    "é",
    "😀 x",
    "{tag}",
    "\0",
  ];
  await use(pg, [...names, "ab", "axb", "abc", "b"]);
  for (const prefix of names) {
    const expected = [...names, "ab", "axb", "abc", "b"].filter((it) => it.startsWith(prefix));
    assert.deepEqual(named(await pg.limiters({ prefix })).sort(), expected.sort(), prefix);
    assert.deepEqual(named((await pg.limiterPage({ prefix })).limiters).sort(), expected, prefix);
  }
  assert.equal((await pg.limiterPage()).limiters.length, names.length + 4);
  await pg.close();
});

test("wrong options of the list", async () => {
  for (const pg of [new Paddlegate("memory://"), open(required("PADDLEGATE_TEST_URL"))]) {
    for (const wrong of [5, 0, true, {}, ["a"], Symbol("a"), 5n, "\ud800"]) {
      const prefix = wrong;
      await assert.rejects(pg.limiters({ prefix }), invalid("prefix"));
      await assert.rejects(pg.limiterPage({ prefix }), invalid("prefix"));
      await assert.rejects(pg.limiterPage({ cursor: wrong }), invalid("cursor"));
    }
    for (const options of [5, null, "shop-"]) {
      await assert.rejects(pg.limiters(options), invalid("options"));
      await assert.rejects(pg.limiterPage(options), invalid("options"));
    }
    await assert.rejects(pg.limiters({ cursor: "0.0" }), invalid("cursor"));
    await assert.rejects(pg.limiters({ prefixes: "a" }), invalid("prefixes"));
    await assert.rejects(pg.limiterPage({ limit: 5 }), invalid("limit"));
    await pg.close();
  }
});

test("redis: pages and decisions at the same time do not get in each other's way", async () => {
  const pg = open(required("PADDLEGATE_TEST_URL"));
  const prefix = unique("list");
  const names = numbered(prefix, 120);
  await use(pg, names);
  const limiter = pg.points(unique(), 1000, "day");
  const all = [];
  for (let i = 0; i < 20; i += 1) {
    all.push(pages(pg, prefix), limiter.tryAcquire({ estimate: 1 }), pg.limiters({ prefix }));
  }
  const answers = await Promise.all(all);
  const permits = new Set();
  for (let i = 0; i < answers.length; i += 3) {
    const [read, decision, listed] = answers.slice(i, i + 3);
    const found = read.flatMap(({ limiters }) => named(limiters));
    assert.deepEqual([...new Set(found)].sort(), names);
    permits.add(decision.permit);
    assert.deepEqual(named(listed), names);
  }
  assert.equal(permits.size, 20);
  await pg.close();
});

/** A server that answers each page of a part with `entries` limiters; `answer` may do otherwise. */
const listing = (t, entries, answer = (socket, reply) => socket.write(reply)) => {
  let commands = 0;
  const text = (value) => `$${value.length}\r\n${value}\r\n`;
  return server(t, (socket) => {
    socket.on("data", (bytes) => {
      for (const _ of bytes.toString().matchAll(/ZSCAN/g)) {
        commands += 1;
        const names = Array.from({ length: entries }, (_, i) => `n${commands}.${i}`);
        const pairs = names.flatMap((name) => [
          `60000000|w 5 1000000 0|${name}`,
          "1700000060000000",
        ]);
        const reply = `*2\r\n${text("0")}*${pairs.length}\r\n${pairs.map(text).join("")}`;
        answer(socket, reply, commands);
      }
    });
  });
};

test("a page is a chain of calls, one after the other", async (t) => {
  let waiting = 0;
  let most = 0;
  let asked = 0;
  const url = await listing(t, 40, (socket, reply) => {
    asked += 1;
    waiting += 1;
    most = Math.max(most, waiting);
    setTimeout(() => {
      waiting -= 1;
      socket.write(reply);
    }, 2);
  });
  const pg = open(url);
  const { limiters, cursor } = await pg.limiterPage();
  assert.deepEqual([limiters.length, cursor, asked, most], [120, "3.0", 3, 1]);
  const next = await pg.limiterPage({ cursor });
  assert.deepEqual([next.limiters.length, next.cursor, asked], [120, "6.0", 6]);
  const last = await pg.limiterPage({ cursor: "255.0" });
  assert.deepEqual([last.limiters.length, last.cursor, asked], [40, null, 7]);
  await pg.close();
});

test("a page of parts with few names ends with the 16 calls that make it complete", async (t) => {
  let asked = 0;
  const url = await listing(t, 1, (socket, reply) => {
    asked += 1;
    socket.write(reply);
  });
  const pg = open(url);
  const { limiters, cursor } = await pg.limiterPage();
  assert.deepEqual([limiters.length, cursor, asked], [112, "112.0", 112]);
  const last = await pg.limiterPage({ cursor: "200.0" });
  assert.deepEqual([last.limiters.length, last.cursor, asked], [56, null, 168]);
  await pg.close();
});

test("a page that loses its connection fails, and the next call works", async (t) => {
  const url = await listing(t, 40, (socket, reply, commands) => {
    if (commands === 2) socket.destroy();
    else socket.write(reply);
  });
  const pg = open(url);
  await assert.rejects(pg.limiterPage(), { name: "UnavailableError" });
  assert.equal((await pg.limiterPage()).limiters.length, 120);
  await pg.close();
});

test("a page without a server fails", async (t) => {
  const own = await redisServer(t);
  const pg = open(own.url);
  await use(pg, ["a"]);
  assert.deepEqual(named((await pg.limiterPage()).limiters), ["a"]);
  await own.stop();
  await assert.rejects(pg.limiterPage(), { name: "UnavailableError" });
});
