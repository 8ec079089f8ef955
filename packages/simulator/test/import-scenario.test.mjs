// What is given by a file or a link: the page runs just that, or says why not, as the terminal does.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { importScenario } from "../src/import-scenario.mjs";
import { draftOf, scenarioOf } from "../src/scenario.mjs";
import { fragmentOf, MAX_CHARACTERS, scenarioFrom } from "../src/share.mjs";
import { at, core, give, opened, root, runsOf, simulated, totalsOf } from "./page.mjs";

const scenarios = new URL("../scenarios/", import.meta.url);
const terminal = join(root, "target/release/paddlegate");
const inTerminal = (scenario) =>
  spawnSync(terminal, ["simulate", "--scenario", "-", "--json"], {
    input: JSON.stringify(scenario),
    encoding: "utf8",
  });

const { limitersFromDocument } = await core();
const read = async (text) => limitersFromDocument(text);
const limits = [{ kind: "bucket", limit: 10, interval: "1m" }];
const right = { policies: [{ limits }], arrivals: { kind: "jobs", count: 20 } };
const policy = (more) => ({ ...right, policies: [{ limits, ...more }] });
const limit = (more) => ({ ...right, policies: [{ limits: [{ ...limits[0], ...more }] }] });
const several = { limiters: { a: { window: { limit: 5, per: "1s" } }, b: { unlimited: true } } };
const labelled = {
  limiters: {
    a: {
      window: { limit: 9, per: "1s" },
      limits: {
        rpm: { window: { limit: 5, per: "1m" } },
        rpd: { bucket: { limit: 7, per: "1d" } },
      },
    },
  },
};
const refunding = { limiters: { a: { points: { limit: 5, refill: "1m", refund: "undrained" } } } };
const inDocument = (more) => ({ ...right, policies: [{ document: several, ...more }] });

/** What the page would run of what is given. */
const run = async (given) => scenarioOf(draftOf(await importScenario(given, read))).scenario;

test("what the editor has no place for is refused, as the terminal refuses it", async () => {
  for (const [given, pattern] of [
    [{ ...right, sed: 7 }, /^sed: has no meaning/],
    [{ ...right, policies: new Array(5).fill({ limits }) }, /^policies: .* at most 4/],
    [policy({ atempts: 3 }), /^policies\[0\]\.atempts: has no meaning/],
    [policy({ limits: new Array(9).fill(limits[0]) }), /^policies\[0\]\.limits: .* at most 8/],
    [policy({ limits: [null, limits[0]] }), /^policies\[0\]\.limits\[0\]: must be/],
    [policy({ correct: "no" }), /correct: must be true or false/],
    [policy({ name: 5 }), /name: must be a text/],
    [policy({ name: "" }), /name: is empty/],
    [policy({ name: "x".repeat(1001) }), /name: is too long: characters_max=1000/],
    [policy({ attempts: "many" }), /attempts: is unused here and invalid/],
    [policy({ retry: "wait", base: "soon" }), /base: is unused here and invalid/],
    [policy({ limiter: "a" }), /limiter: selects a limiter of a document/],
    [policy({ document: several }), /has limits and a document/],
    [limit({ per: "1m" }), /limits\[0\]\.per: has no meaning/],
    [limit({ kind: "window", offset: "1s" }), /offset: has no meaning/],
    [limit({ kind: "window", per: "day" }), /per: has no meaning/],
    [limit({ kind: "window", refund: "undrained" }), /refund: has no meaning/],
    [limit({ kind: "quota", interval: "1m" }), /interval: has no meaning/],
    [limit({ kind: "paused", limit: 1 }), /interval: has no meaning/],
    [{ ...right, arrivals: { ...right.arrivals, per: "1s" } }, /^arrivals\.per: has no meaning/],
    [{ ...right, arrivals: [] }, /^arrivals: must be/],
    [{ ...right, arrivals: { kind: "times", text: 5 } }, /^arrivals\.text: must be a text/],
    [{ ...right, until: "" }, /^until: is empty/],
    [{ ...right, cost: [1, 2, 3] }, /^cost: must be one value or a list/],
    [{ ...right, upstream: true }, /^upstream: must be/],
    [{ ...right, upstream: { limits, lern: true } }, /^upstream\.lern: has no meaning/],
    [{ ...right, upstream: { limits, learn: 1 } }, /^upstream\.learn: must be true/],
    [{ ...right, events: new Array(1001).fill({ at: "1s", do: "resume" }) }, /^events: .* 1000/],
    [{ ...right, events: [null, { at: "1s", do: "resume" }] }, /^events\[0\]: must be/],
    [{ ...right, events: [{ at: "1s", do: "resume", for: "1s" }] }, /^events\[0\]\.for: has no/],
    [
      { ...right, events: [{ at: "1s", do: "override", index: 0, limit: 5 }] },
      /^events\[0\]\.index: has no meaning/,
    ],
    [inDocument({}), /^policies\[0\]\.document: has several limiters.*"a", "b"/],
    [inDocument({ limiter: "c" }), /^policies\[0\]\.limiter: is not in the document/],
    [inDocument({ limiter: 1 }), /^policies\[0\]\.limiter: must be a text/],
    [inDocument({ document: { limiters: {} } }), /document: defines no limiter/],
    [inDocument({ document: { limiters: { a: { window: {} } } } }), /document: at \$\.limiters/],
  ]) {
    await assert.rejects(importScenario(given, read), { name: "TypeError", message: pattern });
    const { status, stderr } = inTerminal(given);
    assert.equal(status, 2, `${JSON.stringify(given)}: ${stderr}`);
  }
});

test("what is wrong or missing stays for the core to tell", async () => {
  const { Simulation } = await core();
  for (const [given, place] of [
    [{ policies: right.policies }, "arrivals.kind"],
    [{ ...right, arrivals: { kind: "constructor" } }, "arrivals.kind"],
    [{ ...right, arrivals: { kind: "jobs" } }, "arrivals.count"],
    [{ ...right, arrivals: { kind: "steady", count: 1, for: "1m" } }, "arrivals.per"],
    [{ ...right, arrivals: { kind: "burst", count: 1, every: "1s" } }, "arrivals.for"],
    [policy({ retry: "toString" }), "policies[0].retry"],
    [policy({ limits: [{ limit: 5, interval: "1m" }] }), "policies[0].limits[0].kind"],
    [policy({ limits: [{ kind: "__proto__" }] }), "policies[0].limits[0].kind"],
    [{ ...right, events: [{ do: "pause", for: "1s" }] }, "events[0].at"],
    [{ ...right, events: [{ at: "1s", do: "toString" }] }, "events[0].do"],
    [{ ...right, events: [{ at: "1s" }] }, "events[0].do"],
    [{ ...right, events: [{ at: "1s", do: "crash" }] }, "events[0].client"],
    [limit({ label: "Per Minute" }), "policies[0].limits[0].label"],
    [policy({ limits: [limits[0], limits[0]] }), "policies[0].limits"],
    [
      { ...right, events: [{ at: "1s", do: "override", label: "a b", limit: 5 }] },
      "events[0].label",
    ],
  ]) {
    const scenario = await run(given);
    assert.throws(
      () => new Simulation(scenario),
      ({ message }) => message.startsWith(`at $.${place}: `),
      place,
    );
    assert.equal(inTerminal(given).status, 2, place);
  }
});

test("what is right runs as it does in the terminal", async () => {
  const files = readdirSync(scenarios).map((name) => readFileSync(new URL(name, scenarios)));
  const nothing = { until: null, cost: null, upstream: null, events: null };
  for (const given of [
    ...files.map((text) => JSON.parse(text)),
    { ...right, ...nothing, totals: [{}] },
    policy({ retry: null, attempts: 5, wait: "0s" }),
    limit({ kind: "throttle", limit: 1 }),
    policy({ limits: [limits[0], { ...limits[0], label: "rpm", limit: 5 }] }),
    limit({ label: "rpm" }),
    { ...right, events: [{ at: "1s", do: "override", label: "rpm", limit: 5 }] },
    inDocument({ limiter: "a" }),
    inDocument({ limiter: "b", name: "mine" }),
    inDocument({ document: labelled }),
    inDocument({ document: refunding }),
    { ...limit({ kind: "leaky", refund: "undrained" }), actual: 0 },
    limit({ kind: "points", refund: "full" }),
  ]) {
    const scenario = await run(given);
    const printed = (input) =>
      execFileSync(terminal, ["simulate", "--scenario", "-", "--json"], {
        input: JSON.stringify(input),
      });
    assert.equal(String(printed(scenario)), String(printed(given)));
  }
  const [one] = (await run(inDocument({ limiter: "a" }))).policies;
  assert.equal(one.name, "a");
  assert.deepEqual(one.limits, [{ kind: "window", limit: 5, interval: "1s" }]);
  const [two] = (await run(inDocument({ document: labelled }))).policies;
  assert.deepEqual(two.limits, [
    { kind: "window", limit: 9, interval: "1s" },
    { kind: "bucket", label: "rpd", limit: 7, interval: "1d" },
    { kind: "window", label: "rpm", limit: 5, interval: "1m" },
  ]);
});

test("a link holds what a scenario needs, and no more", async () => {
  const ofTimes = (lines) => ({
    ...right,
    arrivals: { kind: "times", text: "1700000000.5\n".repeat(lines) },
  });
  const many = ofTimes(500_000);
  assert.deepEqual(await scenarioFrom(await fragmentOf(many)), many);
  const text = JSON.stringify(ofTimes(MAX_CHARACTERS / 13));
  await assert.rejects(fragmentOf(JSON.parse(text)), /too large for a link/);
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const packed = Buffer.from(await new Response(stream).arrayBuffer()).toString("base64url");
  await assert.rejects(scenarioFrom(`#v1.z.${packed}`), /it is too large/);
});

test("names that every object has are no kinds: the page tells them at their fields", async (t) => {
  const page = await opened(t);
  const told = async (given, path) => {
    const before = await runsOf(page);
    await give(page, JSON.stringify(given));
    await page.waitForFunction((runs) => window.paddlegate.runs() > runs, before);
    assert.equal(await at(page, path).getAttribute("aria-invalid"), "true", path);
  };
  await told({ ...right, arrivals: { kind: "constructor" } }, "arrivals.kind");
  await told(policy({ retry: "toString" }), "policies[0].retry");
  await told({ ...right, events: [{ at: "1s", do: "toString" }] }, "events[0].do");
  await told(policy({ limits: [{ kind: "valueOf" }] }), "policies[0].limits[0].kind");
  assert.equal(await at(page, "policies[0].limits[0].kind").inputValue(), "valueOf");
  await page.getByRole("button", { name: "JSON", exact: true }).nth(1).click();
  assert.match(await at(page, "policies[0].document").inputValue(), /"valueOf"/);
  await page.getByRole("button", { name: "Form", exact: true }).first().click();
  await at(page, "policies[0].limits[0].kind").selectOption("unlimited");
  const before = await runsOf(page);
  await page.keyboard.press("Control+Enter");
  await simulated(page, before);
  assert.equal(JSON.parse((await totalsOf(page))[0]).granted, 20);
});

test("a file or link that is refused leaves the editor as it is", async (t) => {
  const events = new Array(20_000).fill({ at: "1s", do: "resume" });
  const fragment = await fragmentOf({ ...right, events });
  assert.ok(fragment.length < 10_000, "a short link");
  const page = await opened(t, { fragment, isReady: false });
  await page.getByText(/The link cannot be read: events: must have at most 1000/).waitFor();
  assert.equal(await at(page, "policies[0].name").inputValue(), "bucket");
  await give(page, JSON.stringify(policy({ atempts: 3 })));
  await page.getByText(/cannot be read: policies\[0\]\.atempts: has no meaning/).waitFor();
  await page.getByText("The file was not loaded; the editor is unchanged.").waitFor();
  await give(page, JSON.stringify(right).replace("{", '{"seed":1,"seed":2,'));
  await page.getByText(/cannot be read: duplicate member; remove one: name=seed/).waitFor();
  assert.equal(await at(page, "policies[0].name").inputValue(), "bucket");
  await give(page, inDocument({ limiter: "a" }));
  assert.equal(await at(page, "policies[0].limits[0].kind").inputValue(), "window");
});
