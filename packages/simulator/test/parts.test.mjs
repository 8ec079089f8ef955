// The parts that need no page.
import assert from "node:assert/strict";
import { once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { serverOf } from "../serve.mjs";
import { csvOf } from "../src/csv.mjs";
import { rowsOfLines } from "../src/decimate.mjs";
import { documentOf, limitsFrom } from "../src/document.mjs";
import { duration, moment } from "../src/format.mjs";
import { jsonFrom } from "../src/json.mjs";
import {
  draftOf,
  labelTwins,
  nameOfLimit,
  newLimit,
  scenarioOf,
  unlabelTwin,
} from "../src/scenario.mjs";
import { fragmentOf, scenarioFrom } from "../src/share.mjs";
import { micros, seconds, shortest } from "../src/span.mjs";

const scenarios = new URL("../scenarios/", import.meta.url);
const read = (name) => JSON.parse(readFileSync(new URL(name, scenarios), "utf8"));

test("spans are read as the core reads them", () => {
  const spans = { "500ms": 5e5, "10s": 1e7, "5m": 3e8, "1h": 36e8, "1d": 864e8, minute: 6e7 };
  Object.assign(spans, { "PT0.1S": 1e5, P1DT12H: 1296e8, "PT1,5S": 15e5, P1W: 6048e8 });
  // A fraction of a microsecond is rounded up. All other digits count as they are written.
  Object.assign(spans, {
    "2.007s": 2_007_000,
    "PT2.007S": 2_007_000,
    "1.1ms": 1100,
    "0.07m": 42e5,
  });
  Object.assign(spans, { "1.0000000001s": 1_000_001, "PT1.0000000001S": 1_000_001 });
  for (const [text, expected] of Object.entries(spans)) assert.equal(micros(text), expected, text);
  for (const text of ["", "soon", "P", "PT", "-5s", "5", "1y"])
    assert.ok(Number.isNaN(micros(text)), text);
  assert.deepEqual([6e7, 9e7, 1e5, 1, 864e8].map(shortest), [
    "1m",
    "90s",
    "100ms",
    "PT0.000001S",
    "1d",
  ]);
  assert.deepEqual([1e5, 6e7, 1].map(seconds), ["0.1", "60", "0.000001"]);
});

test("each limit of a kind has a label of its own", () => {
  const limits = ["window", "window", "bucket", "unlimited", "unlimited"].map(newLimit);
  limits[2].label = "window-2";
  labelTwins(limits);
  const labels = () => limits.map(({ label }) => label);
  assert.deepEqual(labels(), ["", "window-3", "window-2", "", ""]);
  labelTwins(limits);
  assert.deepEqual(labels(), ["", "window-3", "window-2", "", ""], "once");
  Object.assign(limits[1], { kind: "leaky" });
  unlabelTwin(limits[1]);
  labelTwins(limits);
  assert.deepEqual(labels(), ["", "", "window-2", "", ""]);
  const mine = { ...newLimit("points"), label: "tpm" };
  unlabelTwin(mine);
  assert.equal(mine.label, "tpm");
  assert.equal(nameOfLimit(mine), "tpm: points 100 in 1m");
  assert.equal(nameOfLimit({ ...mine, label: "points" }), "points 100 in 1m");
});

test("numbers for people", () => {
  const told = [0, 0.25, 12, 1500, 59_994, 60_000, 125_000, 60_120_000, 176_400_000].map(duration);
  assert.deepEqual(told, [
    "0 s",
    "250 µs",
    "12 ms",
    "1.5 s",
    "59.99 s",
    "1 min",
    "2 min 5 s",
    "16 h 42 min",
    "2 d 1 h",
  ]);
  assert.deepEqual([1234.5, 3_723_500, 90_000_000].map(moment), [
    "1.2345 s",
    "1:02:03.5",
    "1 d 1:00:00",
  ]);
});

test("a scenario is the same after its draft, and what is wrong stays", () => {
  for (const name of readdirSync(scenarios)) {
    const { scenario, errors } = scenarioOf(draftOf(read(name)));
    assert.deepEqual(scenario, read(name), name);
    assert.deepEqual(errors, {});
  }
  const draft = draftOf({
    policies: [{ limits: [{ kind: "bucket", limit: "1,0", interval: 5 }] }],
  });
  draft.cost = "1..x";
  const { scenario, errors } = scenarioOf(draft);
  assert.equal(scenario.policies[0].limits[0].limit, "1,0");
  assert.deepEqual(Object.keys(errors).sort(), ["cost", "policies[0].limits[0].limit"]);
  for (const wrong of [null, [], 3, {}, { policies: [] }])
    assert.throws(() => draftOf(wrong), TypeError);
});

test("policies as documents", () => {
  const limits = [
    { kind: "window", limit: 10, interval: "1s" },
    { kind: "window", label: "per-minute", limit: 100, interval: "1m" },
    { kind: "bucket", label: "rpd", limit: 9, interval: "1d" },
    { kind: "concurrency", label: "concurrency", limit: 3 },
    { kind: "throttle", interval: "100ms" },
    { kind: "bucket", limit: 5, interval: "1d", offset: "2h" },
  ];
  assert.deepEqual(JSON.parse(documentOf({ name: "api", limits })).limiters.api, {
    window: { limit: 10, per: "1s" },
    concurrency: { limit: 3 },
    throttle: { every: "100ms" },
    bucket: { limit: 5, per: "1d", offset: "2h" },
    limits: {
      "per-minute": { window: { limit: 100, per: "1m" } },
      rpd: { bucket: { limit: 9, per: "1d" } },
    },
  });
  const points = { kind: "points", limit: 1000, interval: "PT20S" };
  for (const [given, label] of [
    ["points", ""],
    ["tpm", "tpm"],
  ]) {
    const [limit] = limitsFrom({ limits: [{ ...points, label: given }] });
    const texts = { kind: "points", limit: "1000", interval: "20s", offset: "" };
    assert.deepEqual(limit, { ...texts, label });
  }
});

test("the refund of a document is simulated, shown and written again", () => {
  const given = { label: "points", limit: 1000, interval: "PT20S", refund: "undrained" };
  const drafted = (kind) => {
    const draft = draftOf({ policies: [{ limits: [] }], arrivals: { kind: "jobs", count: 1 } });
    draft.policies[0].limits = limitsFrom({ limits: [{ ...given, kind, label: kind }] });
    return scenarioOf(draft).scenario.policies[0];
  };
  const limit = { limit: 1000, interval: "20s", refund: "undrained" };
  for (const kind of ["leaky", "points"])
    assert.deepEqual(drafted(kind).limits, [{ kind, ...limit }]);
  // A kind without refunds that is chosen later does not have it.
  assert.deepEqual(drafted("window").limits, [{ kind: "window", limit: 1000, interval: "20s" }]);
  assert.deepEqual(JSON.parse(documentOf(drafted("points"))).limiters.policy, {
    points: { limit: 1000, refill: "20s", refund: "undrained" },
  });
});

test("JSON has no member twice", () => {
  const times = "1,5\n".repeat(1_000_000);
  const right = [{ a: { a: [{ a: '"{"', b: 1 }, { a: "}\\" }] }, b: { a: null }, times }];
  const text = JSON.stringify(right, null, 1);
  assert.deepEqual(jsonFrom(text), JSON.parse(text));
  for (const wrong of ['{"a":1,"b":{},"a":2}', '[{"b":{"a":{} , "\\u0061" :"}"}}]'])
    assert.throws(() => jsonFrom(wrong), { message: /duplicate member; remove one: name=a/ });
  assert.throws(() => jsonFrom('{"a"'), SyntaxError);
});

test("links hold a scenario", async () => {
  const scenario = { ...read("three-workers.json"), name: "é ☃ 𝄞".repeat(1000) };
  const fragment = await fragmentOf(scenario);
  assert.match(fragment, /^#v1\.z\.[\w-]+$/);
  assert.deepEqual(await scenarioFrom(fragment), scenario);
  assert.equal(await scenarioFrom(""), null);
  for (const wrong of ["#x", "#v1.z.", "#v2.z.abc", "#v1.q.abc", "#v1.z.AAAA"]) {
    await assert.rejects(async () => {
      assert.equal(await scenarioFrom(wrong), undefined);
    });
  }
});

test("few decisions are all drawn; of many the highest and the lowest are kept", () => {
  const at = Float64Array.from({ length: 100_000 }, (_, i) => i * 10);
  const line = Float64Array.from(at, (_, i) => (i === 54_321 ? 999 : i % 7));
  const rows = rowsOfLines(at, [line], 0, 1e6, 500);
  assert.ok(rows.length <= 2100, `${rows.length} rows`);
  assert.ok(rows.includes(54_321), "the one peak is drawn");
  assert.ok(rows.includes(0) && rows.includes(99_999));
  assert.deepEqual(
    [...rows],
    [...new Set(rows)].sort((a, b) => a - b),
  );
  assert.equal(rowsOfLines(at, [line], 5000, 6000, 500).length, 103, "all, and one on either side");
});

test("CSV holds what spreadsheets would take for formulas as text", async () => {
  const columns = {
    at: [0],
    job: [0],
    client: [0],
    attempt: [0],
    outcome: [1],
    cost: [1],
    wait: [0],
  };
  Object.assign(columns, { limit: [0], retryAfter: [Number.NaN], before: [1], after: [0] });
  Object.assign(columns, { queue: [0], held: [0], levels: [] });
  const text = await csvOf(['=cmd|"x",1'], [{ columns: () => columns }]).text();
  assert.equal(text.split("\n")[1], `"'=cmd|""x"",1",0,0,0,0,granted,1,0,0,,1,0,0,0`);
  Object.assign(columns, { limit: [255], before: [Number.NaN], after: [Number.NaN] });
  const unknown = await csvOf(["a"], [{ columns: () => columns }]).text();
  assert.equal(unknown.split("\n")[1], "a,0,0,0,0,granted,1,0,255,,,,0,0", "what is not known");
});

test("the server gives what is in its directory and nothing else", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "paddlegate-serve-"));
  t.after(() => rmSync(directory, { recursive: true }));
  mkdirSync(join(directory, "root/src"), { recursive: true });
  writeFileSync(join(directory, "secret.txt"), "secret");
  writeFileSync(join(directory, "root/index.html"), "page");
  writeFileSync(join(directory, "root/src/a b.mjs"), "module");
  symlinkSync(join(directory, "secret.txt"), join(directory, "root/link.txt"));
  const server = serverOf(join(directory, "root"));
  t.after(() => server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address();
  const asked = async (line) => {
    const socket = connect(port, "127.0.0.1");
    socket.write(`${line} HTTP/1.0\r\n\r\n`);
    return (await socket.setEncoding("utf8").toArray()).join("");
  };
  assert.match(await asked("GET /"), /200 OK.*text\/html.*\r\n\r\npage$/s);
  assert.match(await asked("GET /src/a%20b.mjs?x#y"), /200 OK.*text\/javascript.*module$/s);
  assert.match(await asked("HEAD /"), /200 OK.*\r\n\r\n$/s);
  assert.match(await asked("POST /"), / 405 /);
  const outside = [
    "/../secret.txt",
    "/%2e%2e/secret.txt",
    "/..%2fsecret.txt",
    "/link.txt",
    "//etc/passwd",
  ];
  for (const path of [...outside, "/src", "/nothing", "/%", "/%00", "/src/../../secret.txt"]) {
    assert.match(await asked(`GET ${path}`), / 404 /, path);
  }
});
