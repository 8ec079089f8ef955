// What is shown of a run is what was run, and says so when it is not what is typed now.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { asDecided } from "../src/scenario.mjs";
import { cutInWords, remainingOf, runInWords } from "../src/summary.mjs";
import { at, give, opened, presetScenario, rerun, runsOf, simulated, totalsOf } from "./page.mjs";

const LIMIT = "policies[0].limits[0].limit";
const long = {
  policies: [
    { name: "long", limits: [{ kind: "window", limit: 10, interval: "1m" }], retry: "none" },
  ],
  arrivals: { kind: "steady", count: 1000, per: "1m", for: "100m" },
};

/**
 * Presses "Run", and edits a field in the page as soon as the simulation is under way; runs again at once if `again`. All of
 * it is one turn of the page's loop, so that no result can come in between, however slow the machine is.
 */
const duringRun = (page, path, edit, again = false) =>
  page.evaluate(
    async ([place, text, runs]) => {
      const named = (name) =>
        [...document.querySelectorAll("#controls button")].find((b) => b.textContent === name);
      const isUnderWay = new Promise((resolve) => {
        new MutationObserver((_, observer) => {
          if (named("Stop").hidden) return;
          observer.disconnect();
          resolve();
        }).observe(named("Stop"), { attributes: true });
      });
      named("Run").click();
      await isUnderWay;
      const element = document.querySelector(`[data-path="${place}"]`);
      element.value = text;
      element.dispatchEvent(new Event("input"));
      const keys = { key: "Enter", ctrlKey: true, bubbles: true };
      if (runs) element.dispatchEvent(new KeyboardEvent("keydown", keys));
    },
    [path, edit, again],
  );

test("what is edited runs by itself, also during a run; the page says what it does not show", async (t) => {
  const page = await opened(t);
  await give(page, long);
  await duringRun(page, LIMIT, "20");
  await page.waitForFunction(() => window.paddlegate.scenario().policies[0].limits[0].limit === 20);
  assert.ok(!(await page.getByText("Edited since this run").isVisible()));

  // Nor is a result that of another scenario, which cannot run.
  await give(page, JSON.stringify({ ...presetScenario("boundary-burst"), cost: 0 }));
  await page.getByText("Not run: 1 error.").waitFor();
  assert.ok(await page.getByText("Edited since this run").isVisible());
});

test("a document that was just typed is run", async (t) => {
  const page = await opened(t);
  await page.getByRole("button", { name: "JSON", exact: true }).nth(1).click();
  const before = await runsOf(page);
  await at(page, "policies[0].document").evaluate((element) => {
    element.value = '{"limiters": {"typed": {"window": {"limit": 7, "per": "1m"}}}}';
    element.dispatchEvent(new Event("input"));
    const keys = { key: "Enter", ctrlKey: true, bubbles: true };
    element.dispatchEvent(new KeyboardEvent("keydown", keys));
  });
  await simulated(page, before);
  assert.equal(JSON.parse((await totalsOf(page))[0]).granted, 7);
  assert.ok(!(await page.getByText("Edited since this run").isVisible()));
});

test("a document that is only shown again is not edited", async (t) => {
  const page = await opened(t);
  await page.getByRole("button", { name: "JSON", exact: true }).nth(1).click();
  await at(page, "policies[0].document").fill(
    '{"limiters": {"typed": {"throttle": {"every": "1s"}}}}',
  );
  await rerun(page);
  await page.getByRole("button", { name: "Share" }).click();
  await page.getByLabel("Link").waitFor();
  await page.reload();
  await simulated(page, 0);
  await rerun(page); // waits for all that is read
  assert.ok(!(await page.getByText("Edited since this run").isVisible()));
  assert.match(await page.evaluate(() => location.hash), /^#v1/);
});

test("a run that is not shown leaves nothing behind", async (t) => {
  const page = await opened(t);
  await give(page, long);
  const shown = await totalsOf(page);
  const before = await runsOf(page);
  await duringRun(page, "cost", "x", true);
  await page.waitForFunction((runs) => window.paddlegate.runs() === runs + 2, before);
  await page.getByText("Not run: 1 error.").waitFor();
  assert.deepEqual(await totalsOf(page), shown);
  assert.ok(!(await page.getByRole("button", { name: "Stop" }).isVisible()));
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "CSV", exact: true }).click(),
  ]);
  const lines = readFileSync(await download.path(), "utf8")
    .trimEnd()
    .split("\n");
  assert.equal(lines.length, 1 + JSON.parse(shown[0]).decisions, "all of what is shown");
  await page.locator("#explain-part > summary").click();
  await page.getByRole("button", { name: "Next not granted" }).click();
  await page.getByText("HTTP response headers").waitFor();
});

test("a run that was cut off says so", async (t) => {
  const totals = { name: "window", granted: 5, arrived: 30, decisions: 20_000_000 };
  const says = "Cut off after 20,000,000 decisions; later ones are not counted.";
  assert.equal(cutInWords(totals), "");
  assert.equal(cutInWords({ ...totals, cut_off: false, unrecorded: 0 }), "");
  const drawn = "Counted but not drawn: the last 18,000,000 rows.";
  assert.equal(cutInWords({ ...totals, cut_off: false, unrecorded: 18_000_000 }), drawn);
  assert.equal(
    cutInWords({ ...totals, cut_off: true, unrecorded: 18_000_000 }),
    `${says} ${drawn}`,
  );
  assert.equal(runInWords([{ totals }]), "Simulated. window: 5 of 30 granted.");
  const both = [{ totals }, { totals: { ...totals, name: "leaky", cut_off: true } }];
  assert.ok(runInWords(both).endsWith(`granted. leaky: ${says}`));

  const page = await opened(t);
  const cells = (cut) =>
    page.evaluate(async (isCut) => {
      const { totalsTable } = await import("/src/totals.mjs");
      const told = window.paddlegate.totals().map((text) => ({ totals: JSON.parse(text) }));
      if (isCut) told[1].totals.cut_off = true;
      const rows = [...totalsTable(told).querySelectorAll("tr")];
      const row = rows.find(({ cells: [head] }) => head.textContent === "Cut off");
      return row && [...row.cells].map(({ textContent }) => textContent);
    }, cut);
  assert.equal(await cells(false), undefined);
  assert.match((await cells(true)).join(), /^Cut off,no,Cut off after [\d,]+ decisions/);
});

test("limits are named as the core counts them", async (t) => {
  const window = { kind: "window", limit: 2, interval: "1m" };
  assert.deepEqual(asDecided({ limits: [{ kind: "unlimited" }, window] }).limits, [window]);
  assert.deepEqual(asDecided({ limits: [{ kind: "unlimited" }] }).limits, [{ kind: "unlimited" }]);

  const page = await opened(t);
  await give(page, {
    policies: [{ limits: [{ kind: "unlimited" }, window], retry: "none" }],
    arrivals: { kind: "steady", count: 1, per: "1s", for: "4s" },
  });
  assert.match(await page.locator("#decisions").textContent(), /window 2 in 1m/);
});

test("of what no limit has decided nothing is left", async (t) => {
  const two = { limits: [{}, {}] };
  const columns = { limit: [0, 1, 2, 255, 0], before: [3, 2, 0, 0, Number.NaN] };
  columns.after = [2, 1, 0, 0, Number.NaN];
  const left = columns.limit.map((_, row) => remainingOf(two, columns, row)?.after);
  assert.deepEqual(left, [2, 1, undefined, undefined, undefined]);

  const page = await opened(t);
  await give(page, {
    policies: [{ limits: [{ kind: "concurrency", limit: 5 }], retry: "none" }],
    arrivals: { kind: "steady", count: 1, per: "1s", for: "4s" },
    work: "10s",
    events: [{ at: "2500ms", do: "crash", client: 0, for: "10s" }],
  });
  await page.locator("#decisions-part > summary").click();
  const lost = page.locator("table.decisions tbody tr", { hasText: "Lost" }).first();
  assert.equal(await lost.locator("td").nth(6).textContent(), "–");
  await page.locator("#explain-part > summary").click();
  const row = Number(await lost.locator("th").textContent());
  await page.locator('.explain input[type="range"]').fill(String(row - 1));
  await page.locator(".facts").getByText("Lost: its client crashed").waitFor();
  assert.equal(await page.locator(".facts dt", { hasText: /^Remaining$/ }).count(), 0);
  await page.locator('.explain input[type="range"]').fill("0");
  await page.locator(".facts").getByText("5 before, 4 after").waitFor();
});

test("a cost by label runs, also when only one policy has the label", async (t) => {
  const page = await opened(t);
  const limit = (label) => ({ kind: "window", label, limit: 100, interval: "1m" });
  const policies = [{ limits: [limit("rpm")] }, { limits: [limit("rpm"), limit("tpm")] }];
  const arrivals = { kind: "jobs", count: 8 };
  await give(page, { policies, arrivals, cost: { rpm: 1, tpm: 20 } });
  assert.equal(await page.locator("#errors").isVisible(), false);
  await at(page, "cost").fill("rpm=1, tpn=20");
  await page
    .getByText(/names a label that no policy has: label=tpn/)
    .first()
    .waitFor();
});
