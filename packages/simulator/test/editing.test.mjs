// Editing: what is typed is used, what is wrong is told at its field, and nothing is lost.
import assert from "node:assert/strict";
import test from "node:test";
import {
  at,
  give,
  inNode,
  opened,
  presetScenario,
  rerun,
  runsOf,
  simulated,
  totalsOf,
} from "./page.mjs";

const hasError = async (page, path, pattern) => {
  await page.waitForFunction(
    ([field, source]) => {
      const element = document.querySelector(`[data-path="${field}"]`);
      if (element?.getAttribute("aria-invalid") !== "true") return false;
      const id = element.getAttribute("aria-describedby").split(" ").at(-1);
      return new RegExp(source).test(document.getElementById(id).textContent);
    },
    [path, pattern.source],
  );
  const described = (await at(page, path).getAttribute("aria-describedby")).split(" ").at(-1);
  const message = page.locator(`#${described}`);
  assert.ok(await message.isVisible(), "the message is to be seen");
  console.log(`${path}: ${await message.textContent()}`);
};

const isRight = (page, path) =>
  page.waitForFunction(
    (element) => !document.querySelector(element).hasAttribute("aria-invalid"),
    `[data-path="${path}"]`,
  );

const shownScenario = (page) => page.evaluate(() => window.paddlegate.scenario());

test("the form edits policies, arrivals, calls, upstream and events", async (t) => {
  const page = await opened(t);
  await page.getByRole("button", { name: "Add policy" }).click();
  await at(page, "policies[2].limits[0].kind").selectOption("points");
  await at(page, "policies[2].limits[0].limit").fill("1,000");
  await at(page, "policies[2].limits[0].interval").fill("20s");
  await page.getByRole("button", { name: "Add limit" }).nth(2).click();
  await at(page, "policies[2].limits[1].kind").selectOption("throttle");
  await at(page, "policies[2].limits[1].interval").fill("PT0.1S");
  await at(page, "policies[2].retry").selectOption("exponential");
  await at(page, "policies[2].attempts").fill("5");
  await at(page, "policies[2].base").fill("500ms");
  await page.getByRole("button", { name: "Remove policy A" }).click();
  await at(page, "arrivals.kind").selectOption("poisson");
  await at(page, "arrivals.count").fill("3");
  await at(page, "arrivals.per").fill("1s");
  await at(page, "arrivals.for").fill("1m");
  await at(page, "arrivals.from").fill("");
  await at(page, "cost").fill("2..5");
  await at(page, "actual").fill("1..2");
  await at(page, "work").fill("100ms..1s");
  await at(page, "clients").fill("2");
  await page.getByText("Upstream", { exact: true }).click();
  await page.getByLabel("The called service has its own limits").check();
  await at(page, "upstream.limits[0].limit").fill("50");
  await at(page, "upstream.latency").fill("20ms");
  await page.getByText("Events", { exact: true }).click();
  await page.getByRole("button", { name: "Add event" }).click();
  await at(page, "events[0].at").fill("10s");
  await at(page, "events[0].for").fill("5s");
  await at(page, "seed").fill("9");
  assert.ok(await page.getByText("Edited since this run").isVisible());
  await rerun(page);
  assert.ok(!(await page.getByText("Edited since this run").isVisible()));

  const scenario = await shownScenario(page);
  assert.deepEqual(scenario, {
    seed: 9,
    until: "2m",
    policies: [
      { ...presetScenario("boundary-burst").policies[1] },
      {
        name: "policy 3",
        limits: [
          { kind: "points", limit: 1000, interval: "20s" },
          { kind: "throttle", interval: "PT0.1S" },
        ],
        retry: "exponential",
        attempts: 5,
        base: "500ms",
      },
    ],
    arrivals: { kind: "poisson", count: 3, per: "1s", for: "1m" },
    cost: [2, 5],
    actual: [1, 2],
    work: ["100ms", "1s"],
    clients: 2,
    upstream: {
      limits: [{ kind: "window", limit: 50, interval: "1m" }],
      latency: "20ms",
      learn: true,
    },
    events: [{ do: "pause", at: "10s", for: "5s" }],
  });
  const expected = await inNode(scenario);
  assert.deepEqual(
    await totalsOf(page),
    expected.map(({ totalsText }) => totalsText),
  );
});

test("a quota is edited with its calendar, as a form and as a document", async (t) => {
  const page = await opened(t);
  const limit = "policies[0].limits[0]";
  await at(page, `${limit}.kind`).selectOption("quota");
  assert.equal(await at(page, `${limit}.interval`).count(), 0, "it has a period instead");
  assert.equal(await at(page, `${limit}.per`).inputValue(), "month");
  await at(page, `${limit}.limit`).fill("25");
  await at(page, `${limit}.per`).selectOption("day");
  assert.equal(
    await page.evaluate(() => document.activeElement.dataset.path),
    `${limit}.per`,
    "the focus stays",
  );
  await at(page, `${limit}.timezone`).fill("Europe/Berlin");
  await at(page, `${limit}.starts`).fill("06:00");
  await rerun(page);
  const quota = {
    ...{ kind: "quota", limit: 25, per: "day" },
    ...{ timezone: "Europe/Berlin", starts: "06:00" },
  };
  const scenario = await shownScenario(page);
  assert.deepEqual(scenario.policies[0].limits, [quota]);
  const expected = await inNode(scenario);
  assert.deepEqual(
    await totalsOf(page),
    expected.map(({ totalsText }) => totalsText),
  );
  await page.getByRole("button", { name: "JSON", exact: true }).nth(1).click();
  const document = JSON.parse(await at(page, "policies[0].document").inputValue());
  const { kind, ...rule } = quota;
  assert.deepEqual(Object.values(document.limiters)[0], { [kind]: rule });
  const typed = { limiters: { plan: { quota: { limit: 7, per: "month", starts: 15 } } } };
  await at(page, "policies[0].document").fill(JSON.stringify(typed));
  await rerun(page);
  const [read] = (await shownScenario(page)).policies[0].limits;
  assert.deepEqual([read.kind, read.limit, read.per, read.starts], ["quota", 7, "month", "15"]);
  await page.getByRole("button", { name: "Form", exact: true }).first().click();
  assert.equal(await at(page, `${limit}.starts`).inputValue(), "15");
});

test("what is wrong with a calendar is told at its field", async (t) => {
  const page = await opened(t);
  const limit = "policies[0].limits[0]";
  await at(page, `${limit}.kind`).selectOption("quota");
  for (const [key, wrong, right, pattern] of [
    ["timezone", "Mars/Phobos", "+01:00", /must be UTC, an offset/],
    ["starts", "32", "31", /must be a day from 1 to 31/],
    ["limit", "0", "5", /must be/],
  ]) {
    await at(page, `${limit}.${key}`).fill(wrong);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await hasError(page, `${limit}.${key}`, pattern);
    await at(page, `${limit}.${key}`).fill(right);
    await rerun(page);
    await isRight(page, `${limit}.${key}`);
  }
});

test("a second limit of a kind gets a label, by which events name it", async (t) => {
  const page = await opened(t);
  const label = at(page, "policies[0].limits[1].label");
  const kind = at(page, "policies[0].limits[1].kind");
  await page.getByRole("button", { name: "Add limit" }).first().click();
  await kind.selectOption("bucket");
  assert.equal(await label.inputValue(), "bucket-2");
  await kind.selectOption("window");
  assert.equal(await label.count(), 0);
  await kind.selectOption("bucket");
  await at(page, "policies[0].limits[1].limit").fill("1000");
  await at(page, "policies[0].limits[1].interval").fill("1h");
  await rerun(page);
  for (const [text, path] of [
    ["Per hour", "policies[0].limits[1].label"],
    ["bucket", "policies[0].limits"],
    ["", "policies[0].limits"],
  ]) {
    await label.fill(text);
    await hasError(page, path, /label/);
  }
  await label.fill("rph");
  await isRight(page, "policies[0].limits");
  await page.getByText("Events", { exact: true }).click();
  await page.getByRole("button", { name: "Add event" }).click();
  await at(page, "events[0].do").selectOption("override");
  await at(page, "events[0].at").fill("0s");
  await at(page, "events[0].label").fill("rph");
  await at(page, "events[0].limit").fill("50");
  await rerun(page);
  const scenario = await shownScenario(page);
  assert.deepEqual(scenario.policies[0].limits, [
    { kind: "bucket", limit: 100, interval: "1m" },
    { kind: "bucket", label: "rph", limit: 1000, interval: "1h" },
  ]);
  assert.deepEqual(scenario.events, [{ do: "override", at: "0s", label: "rph", limit: 50 }]);
  assert.equal(JSON.parse((await totalsOf(page))[0]).granted, 50);
  assert.ok(await page.getByText("rph: bucket 1000 in 1h").first().isVisible());
  await page.getByRole("button", { name: "JSON", exact: true }).nth(1).click();
  const document = JSON.parse(await at(page, "policies[0].document").inputValue());
  assert.deepEqual(document.limiters.bucket.limits, {
    rph: { bucket: { limit: 1000, per: "1h" } },
  });
});

test("what a kind has no use for just now is there when it comes back", async (t) => {
  const page = await opened(t);
  await at(page, "arrivals.kind").selectOption("times");
  await at(page, "arrivals.text").fill("0\n1\n2.5\n");
  await at(page, "arrivals.kind").selectOption("steady");
  await at(page, "arrivals.count").fill("77");
  await at(page, "arrivals.kind").selectOption("times");
  assert.equal(await at(page, "arrivals.text").inputValue(), "0\n1\n2.5\n");
  await at(page, "arrivals.kind").selectOption("steady");
  assert.equal(await at(page, "arrivals.count").inputValue(), "77");
});

test("a wrong policy shows its error at its field, and the editor keeps the text", async (t) => {
  const page = await opened(t);
  const before = await totalsOf(page);
  for (const [path, text, pattern] of [
    ["policies[0].limits[0].interval", "soon", /span|second/],
    ["policies[0].limits[0].limit", "many", /whole number/],
    ["policies[1].limits[0].limit", "99999999999999999999", /whole number/],
    ["policies[1].limits[0].limit", "9007199254740991", /.+/],
    ["policies[0].limits[0].interval", "9999999d", /.+/],
    ["arrivals.count", "0", /.+/],
    ["arrivals.count", "1000000000", /.+/],
    ["cost", "-3", /whole number/],
    ["clients", "0", /.+/],
  ]) {
    const right = await at(page, path).inputValue();
    await at(page, path).fill(text);
    await hasError(page, path, pattern);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.waitForFunction(() =>
      document.getElementById("status").textContent.startsWith("Not run"),
    );
    assert.equal(await at(page, path).inputValue(), text, "the text stays");
    assert.deepEqual(await totalsOf(page), before, "the last result stays");
    await page.locator("#errors").getByRole("button").first().click();
    assert.equal(await page.evaluate(() => document.activeElement.dataset.path), path);
    await at(page, path).fill(right);
    await isRight(page, path);
    await rerun(page);
  }
});

test("every field that is wrong is told, not only the first", async (t) => {
  const page = await opened(t);
  const wrong = {
    "policies[0].limits[0].interval": "soon",
    "policies[1].limits[0].limit": "0",
    "arrivals.every": "never",
    cost: "x",
  };
  for (const [path, text] of Object.entries(wrong)) await at(page, path).fill(text);
  for (const path of Object.keys(wrong)) await hasError(page, path, /must be/);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByText("Not run: 4 errors.").waitFor();
  assert.equal(await page.locator("#errors li").count(), 4);
});

test("documents of every dialect are read, and wrong ones are told and kept", async (t) => {
  const page = await opened(t);
  await page.getByRole("button", { name: "JSON", exact: true }).nth(1).click();
  const box = at(page, "policies[0].document");
  assert.deepEqual(JSON.parse(await box.inputValue()), {
    limiters: { bucket: { bucket: { limit: 100, per: "1m" } } },
  });

  const broken = '{"limiters": {"api": {"window": {"limit": "x", "per": "10s"}}}}';
  await box.fill(broken);
  await hasError(page, "policies[0].document", /limit/);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.waitForFunction(() =>
    document.getElementById("status").textContent.startsWith("Not run"),
  );
  assert.equal(await box.inputValue(), broken);

  await box.fill("{");
  await hasError(page, "policies[0].document", /.+/);

  const several = {
    limiters: {
      api: { window: { limit: 5, per: "10s" }, throttle: { every: "PT0.5S" } },
      jobs: { concurrency: { limit: 3, lock_timeout: "1m" } },
    },
  };
  await box.fill(JSON.stringify(several));
  await isRight(page, "policies[0].document");
  await at(page, "policies[0].chosen").selectOption("jobs");
  await page.waitForFunction(
    () => document.querySelector('[data-path="policies[0].name"]').value === "jobs",
  );
  await rerun(page);
  assert.deepEqual((await shownScenario(page)).policies[0], {
    name: "jobs",
    limits: [{ kind: "concurrency", limit: 3, interval: "1m" }],
    retry: "none",
  });

  // The form rules when it is edited, and what was typed can be brought back.
  await page.getByRole("button", { name: "Form", exact: true }).first().click();
  await at(page, "policies[0].limits[0].limit").fill("4");
  await page.getByRole("button", { name: "JSON", exact: true }).nth(1).click();
  assert.equal(JSON.parse(await box.inputValue()).limiters.jobs.concurrency.limit, 4);
  await page.getByRole("button", { name: "Restore my JSON" }).click();
  assert.equal(await box.inputValue(), JSON.stringify(several));
});

test("bad lines of times and CSV are told by their number", async (t) => {
  const page = await opened(t);
  await at(page, "arrivals.kind").selectOption("times");
  for (const [text, pattern] of [
    ["0\n1\nlater\n", /line 3/],
    ["at,cost\n0,1\n1,many\n", /line 3/],
    ["at,price\n0,1\n", /line 1/],
    ["", /.+/],
    ["-5\n", /line 1/],
    ["1e400\n", /line 1/],
  ]) {
    await at(page, "arrivals.text").fill(text);
    await hasError(page, "arrivals.text", pattern);
    assert.equal(await at(page, "arrivals.text").inputValue(), text);
  }
  await at(page, "arrivals.text").fill("at,cost,count\n0,2,3\n10,1,1\n");
  await isRight(page, "arrivals.text");
  await rerun(page);
  assert.equal(JSON.parse((await totalsOf(page))[0]).arrived, 4);

  const lines = Array.from({ length: 30_000 }, (_, i) => i / 1000).join("\n");
  await page.locator('input[type="file"].file').setInputFiles({
    name: "times.csv",
    mimeType: "text/csv",
    buffer: Buffer.from(`at\n${lines}\n`),
  });
  await page.getByText("lines loaded").waitFor();
  await rerun(page);
  assert.equal(JSON.parse((await totalsOf(page))[0]).arrived, 30_000);
  console.log("a file of 30,000 lines is read");
});

test("files that are no scenario change nothing", async (t) => {
  const page = await opened(t);
  const before = await at(page, "policies[0].name").inputValue();
  for (const text of ["", "[]", '{"policies": 3}', "null", "not json"]) {
    await give(page, text);
    await page.getByText("cannot be read").waitFor();
    assert.equal(await at(page, "policies[0].name").inputValue(), before);
  }
  const runs = await runsOf(page);
  await give(page, '{"policies": [{"limits": [{"kind": "sundial", "limit": 3}]}], "arrivals": {}}');
  await page.waitForFunction((count) => window.paddlegate.runs() > count, runs);
  await hasError(page, "policies[0].limits[0].kind", /.+/).catch(() =>
    hasError(page, "arrivals.count", /.+/),
  );
});

test("another scenario does not lose what was edited", async (t) => {
  const page = await opened(t);
  await at(page, "policies[0].name").fill("mine");
  const before = await runsOf(page);
  await page.selectOption("#preset", "three-workers");
  await simulated(page, before);
  assert.equal(await at(page, "policies[0].name").inputValue(), "30 s leases");
  await page.getByRole("button", { name: "Restore my previous edits" }).click();
  assert.equal(await at(page, "policies[0].name").inputValue(), "mine");
  await page.waitForTimeout(600);
  await page.reload();
  await simulated(page, 0);
  assert.equal(await at(page, "policies[0].name").inputValue(), "mine", "a reload keeps it too");
});
