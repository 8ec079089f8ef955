// The larger module as each platform loads it, and what documents define there.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import test from "node:test";
import * as small from "paddlegate-wasm";
import * as full from "paddlegate-wasm/full";
import * as web from "paddlegate-wasm/full/web";
import { allVectors, replayCase, share } from "./vectors.mjs";

const { OverLimitError, Paddlegate, TestClock, limitersFromDocument, SKIPPED } = full;
const require = createRequire(import.meta.url);
const root = new URL("../", import.meta.url);
const read = (path) => readFileSync(new URL(path, root), "utf8");
const files = ["index.d.ts", "types.d.ts", "full/index.d.ts", "full/limiter.d.ts"]
  .map(read)
  .join("\n");
const exported = /^export (?:abstract class|class|const|function) (\w+)/gm;
const declared = [...new Set([...files.matchAll(exported)].map(([, name]) => name))].sort();
const invalid = (argument, message) => ({ name: "InvalidError", argument, message });
// biome-ignore lint/suspicious/noTemplateCurlyInString: a template of Conductor
const rateLimitKey = "${workflow.correlationId}";
const workflow = { name: "order", rateLimitConfig: { rateLimitKey, concurrentExecLimit: 3 } };
const control = {
  RateLimitControlList: [{ Url: "https://x/*", SlotName: "api" }],
  RateLimitControlSlotList: [
    { Name: "api", ActionsPerSecond: 2, ActionsPerMinute: 5, DelayMsOnOverflowSecond: 250 },
  ],
};

test("what is declared is there, and no others", () => {
  assert.ok(declared.includes("Simulation") && declared.includes("graphqlCost"));
  assert.deepEqual(Object.keys(full).sort(), declared);
  assert.deepEqual(Object.keys(require("paddlegate-wasm/full")).sort(), declared);
  assert.deepEqual(Object.keys(web).sort(), [...declared, "default"].sort());
});

test("import and require share one instance, the small module has another", () => {
  assert.equal(require("paddlegate-wasm/full").Paddlegate, Paddlegate);
  assert.notEqual(small.Paddlegate, Paddlegate);
  const limiter = new small.Paddlegate().window("small", 1, 1);
  for (const name of ["learnFromResponse", "admit", "onLimit"])
    assert.equal(name in limiter, false, name);
  assert.equal("load" in new small.Paddlegate(), false);
});

test("the larger module for the web answers as the vectors say", async () => {
  await web.default(readFileSync(new URL("dist/full/bundler/paddlegate_bg.wasm", root)));
  for (const file of share(allVectors)) {
    for (const index of file.cases.keys()) await replayCase(web, file, index);
  }
  assert.equal(web.limitersFromDocument('{"key": "a", "concurrency": 1}').format, "OJS rate limit");
});

test("the larger module for bundlers loads as WebAssembly modules do", () => {
  const code = `
    import * as full from "./full/bundler.mjs";
    console.log(Object.keys(full).length, full.graphqlCost("{ a { b } }"));`;
  const flags = ["--experimental-wasm-modules", "--no-warnings", "--input-type=module", "--eval"];
  const printed = execFileSync(process.execPath, [...flags, code], { cwd: root, encoding: "utf8" });
  assert.equal(printed.trim(), `${declared.length} 1`);
});

const native = {
  limiters: {
    erp: {
      concurrency: { limit: 2, lock_timeout: "1m" },
      bucket: { limit: 100, per: "day", offset: "2h" },
      limits: { burst: { throttle: { every: "PT0.1S" } } },
      on_limit: "drop",
    },
    shop: { points: { limit: 1000, refill: "20s" }, wait_timeout: "20ms" },
    quiet: { paused: true, wait_timeout: 0, on_limit: "ignore" },
    open: { unlimited: true },
    tokens: { leaky: { limit: 10, drain: "10s", refund: "undrained" } },
  },
};
const policy = (name, onLimit, limits, waitTimeout = null) => ({
  name,
  onLimit,
  limits: limits.map((limit) => ({ label: limit.kind, ...limit })),
  waitTimeout,
});
const dialects = {
  "Paddlegate limits": [
    native,
    policy("erp", "drop", [
      { kind: "concurrency", limit: 2, interval: "PT60S" },
      { kind: "bucket", limit: 100, interval: "PT86400S", offset: "PT7200S" },
      { kind: "throttle", label: "burst", interval: "PT0.1S" },
    ]),
    policy("open", "raise", [{ kind: "unlimited" }]),
    policy("quiet", "ignore", [{ kind: "paused" }], "PT0S"),
    policy("shop", "raise", [{ kind: "points", limit: 1000, interval: "PT20S" }], "PT0.02S"),
    policy("tokens", "raise", [
      { kind: "leaky", limit: 10, interval: "PT10S", refund: "undrained" },
    ]),
  ],
  "OJS rate limit": [
    { key: "reports", rate: { limit: 10, period: "PT1M" }, on_limit: "reschedule" },
    policy("ojs/key/reports", "reschedule", [
      { kind: "window", label: "rate", limit: 10, interval: "PT60S" },
    ]),
  ],
  "Conductor task definition": [
    { name: "charge", rateLimitPerFrequency: 5, rateLimitFrequencyInSeconds: 60 },
    policy("conductor/task/charge", "wait", [{ kind: "window", limit: 5, interval: "PT60S" }]),
  ],
  "Conductor workflow definition": [
    { name: "order", rateLimitConfig: { rateLimitKey: "max", concurrentExecLimit: 3 } },
    policy("conductor/workflow/max", "wait", [
      { kind: "concurrency", limit: 3, interval: "PT30S" },
    ]),
  ],
  "Invantive rate limit control": [
    control,
    policy("invantive/fail/api", "raise", [
      { kind: "bucket", label: "second", limit: 2, interval: "PT1S" },
      { kind: "bucket", label: "minute", limit: 5, interval: "PT60S" },
    ]),
  ],
  "guild-queues reservoir": [
    { name: "mail", reservoir: 5, timeWindow: 5000 },
    policy("guild/mail:default", "reschedule", [{ kind: "bucket", limit: 5, interval: "PT5S" }]),
  ],
};
for (const [format, [document, ...policies]] of Object.entries(dialects)) {
  test(`${format}: a document as limits, and as limiters`, () => {
    const text = JSON.stringify(document);
    assert.deepEqual(limitersFromDocument(text), { format, policies });
    const loaded = new Paddlegate().load(text);
    assert.deepEqual(
      [...loaded.values()].map(({ name, onLimit }) => ({ name, onLimit })),
      policies.map(({ name, onLimit }) => ({ name, onLimit })),
    );
    assert.deepEqual(
      [...loaded.keys()],
      policies.map(({ name }) => name),
    );
  });
}

test("a fault in a document is named by its path", () => {
  const window = { window: { limit: -1, per: "minute" } };
  const faults = [
    ["", /^at \$: not readable as JSON/],
    ["[]", /^at \$: must be a JSON object/],
    ["{}", /^at \$: is in no known format/],
    [JSON.stringify(workflow), /^at \$\.rateLimitConfig\.rateLimitKey: has variables/],
    ['{"limiters": {}, "key": "a"}', /^at \$: has members of several formats/],
    [JSON.stringify({ limiters: { x: { windw: {} } } }), /^at \$\.limiters\.x\.windw: /],
    [JSON.stringify({ limiters: { x: window } }), /^at \$\.limiters\.x\.window\.limit: /],
    ['{"key": "a", "rate": {"limit": 1, "period": "x"}}', /^at \$\.rate\.period: /],
    ['{"name": "a", "reservoir": 5, "interval": -1}', /^at \$\.interval: /],
  ];
  for (const [text, message] of faults) {
    assert.throws(() => limitersFromDocument(text), invalid("document", message));
    assert.throws(() => new Paddlegate().load(text), invalid("document", message));
  }
  for (const wrong of [undefined, null, 5, {}]) {
    assert.throws(() => limitersFromDocument(wrong), invalid("document", /must be the text/));
  }
  for (const wrong of [undefined, null, 5, {}, [], { limiters: 1n }]) {
    assert.throws(() => new Paddlegate().load(wrong), { argument: "document" });
  }
});

test("loaded limiters wait and skip as their document says", async () => {
  const pg = new Paddlegate();
  const limiters = pg.load(native);
  assert.equal(await limiters.get("quiet").withinLimit(assert.fail), SKIPPED);
  const shop = limiters.get("shop");
  assert.equal(shop.allow({ cost: 1000 }), true);
  const began = performance.now();
  await assert.rejects(shop.acquire({ estimate: 1000 }), OverLimitError);
  assert.ok(performance.now() - began < 4000, "not the default of five seconds");
  // The same state as that of a limiter made by hand.
  assert.ok(pg.points("shop", 1000, 20).peek({ cost: 0 }).remaining < 900);
  assert.equal(pg.points("shop", 1000, 20).onLimit, null);
});

test("a job runs, waits in its place, or is dropped as the document says", () => {
  const limiter = new Paddlegate().concurrent("erp", 1);
  const { action, afterMs, permit } = limiter.admit("a");
  assert.deepEqual([action, afterMs], ["run", null]);
  const second = limiter.admit("b");
  assert.deepEqual([second.action, second.decision.position, second.permit], ["wait", 0, null]);
  assert.ok(second.afterMs > 0 && Object.isFrozen(second));
  assert.equal(limiter.admit("c", { onLimit: "drop" }).action, "drop");
  assert.equal(limiter.admit("c", { onLimit: "raise" }).action, "refuse");
  assert.equal(permit.release(), "released");
  assert.equal(limiter.admit("b").action, "run");
  const clock = new TestClock(1_700_000_000_000_000);
  const dropping = new Paddlegate("memory://", { clock }).load(native).get("erp");
  assert.equal(dropping.admit("a").action, "run");
  assert.equal(dropping.admit("b").action, "drop");
  assert.throws(() => limiter.admit("a", { onLimit: "retry" }), invalid("onLimit", /must be/));
  assert.throws(() => limiter.admit(5), invalid("id", /must be a string/));
});

test("several jobs run, or none of them", () => {
  const limiter = new Paddlegate().limiter("erp", { concurrency: 3, window: [100, 60] });
  const actions = (jobs, options) => limiter.admitAll(jobs, options).map(({ action }) => action);
  assert.deepEqual(actions(["a", "b"]), ["run", "run"]);
  assert.deepEqual(actions(["c", "d"], { onLimit: "drop" }), ["drop", "drop"]);
  const { leases, units } = limiter.stats();
  assert.deepEqual([leases, units], [2, 2]);
  assert.deepEqual(actions(["c", "d"], { partial: true }), ["run", "wait"]);
  assert.throws(() => actions("ab"), invalid("jobs", /list/));
  assert.throws(() => actions(["a"], { partial: 1 }), invalid("partial", /true or false/));
});

test("a gate sorts requests by its document", () => {
  const clock = new TestClock();
  const gate = new Paddlegate("memory://", { clock }).invantiveGate(control);
  const admitAt = (second) => {
    clock.nowUs = (1_780_272_000 + second) * 1e6;
    return gate.admit({ url: "https://x/a" });
  };
  const levels = [0, 0, 0, 1, 1, 2, 2, 60].map((second) => admitAt(second).level);
  assert.deepEqual(levels, [null, null, "second", null, null, null, "minute", null]);
  const free = { allowed: true, delayMs: 0, slot: null, level: null, retryAfterMs: 0 };
  assert.deepEqual(gate.admit(), { ...free, reason: null });
  admitAt(60);
  assert.deepEqual(admitAt(60.4), {
    allowed: false,
    delayMs: 250,
    slot: "api",
    level: "second",
    retryAfterMs: 600,
    reason: "bucket",
  });
  assert.throws(() => gate.admit({ ip: "x" }), invalid("ip", /./));
  assert.throws(() => gate.admit({ log_on_code: "ann" }), invalid("log_on_code", /no option/));
});

test("a run of a workflow has the limit of its key", () => {
  const pg = new Paddlegate();
  const runs = pg.conductorLimiter(
    workflow,
    { correlationId: "shop-7" },
    { lockTimeoutMs: 90_000 },
  );
  assert.deepEqual([runs.name, runs.onLimit], ["conductor/workflow/shop-7", "wait"]);
  const actions = ["a", "b", "c", "d"].map((job) => runs.admit(job).action);
  assert.deepEqual(actions, ["run", "run", "run", "wait"]);
  assert.equal(runs.peek().resetAfterMs > 80_000, true);
  assert.equal(
    pg.conductorLimiter(JSON.stringify(workflow), "{}").name,
    "conductor/unlimited/order",
  );
  assert.throws(() => pg.conductorLimiter("{", {}), invalid("definition", /^at \$/));
  assert.throws(() => pg.conductorLimiter(workflow, 5), invalid("run", /must be/));
});

test("documents of Open Job Spec override and pause", () => {
  const clock = new TestClock(1_700_000_000_000_000);
  const limiter = new Paddlegate("memory://", { clock }).concurrent("erp", 5);
  assert.equal(limiter.applyOjsOverride({ concurrency: 20 }).overrides.concurrency.limit, 20);
  assert.deepEqual(limiter.applyOjsOverride('{"concurrency": null}').overrides, {});
  assert.equal(limiter.applyOjsSignal({ type: "timeout" }), false);
  assert.equal(limiter.applyOjsSignal({ type: "rate_limited", retry_after: 30 }), true);
  assert.equal(limiter.tryAcquire().retryAfterMs, 30_000);
});
