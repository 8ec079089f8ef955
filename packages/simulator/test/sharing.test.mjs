// Links and files.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import {
  at,
  give,
  isSoak,
  opened,
  origin,
  presetScenario,
  rerun,
  runsOf,
  simulated,
  totalsOf,
} from "./page.mjs";

async function saved(page, name) {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name, exact: true }).first().click(),
  ]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

test("a link gives the same totals in a fresh page", async (t) => {
  const page = await opened(t);
  await at(page, "policies[0].limits[0].limit").fill("42");
  await at(page, "policies[0].name").fill('<b>"é" & ☃</b>');
  await rerun(page);
  await page.getByRole("button", { name: "Share" }).click();
  const link = await page.getByLabel("Link").inputValue();
  assert.match(link, /#v1\.z\.[\w-]+$/);
  assert.ok(link.startsWith(origin));
  const totals = await totalsOf(page);
  const other = await opened(t, { fragment: link.slice(origin.length + 1) });
  assert.deepEqual(await totalsOf(other), totals);
  assert.equal(await at(other, "policies[0].name").inputValue(), '<b>"é" & ☃</b>');
  assert.equal(await other.locator("#figure b b, th b").count(), 0, "names are texts, not HTML");

  // A link in the same page, and one of a browser that cannot compress.
  const plain = Buffer.from(JSON.stringify(presetScenario("three-workers"))).toString("base64url");
  const before = await runsOf(other);
  await other.evaluate((hash) => location.assign(hash), `#v1.j.${plain}`);
  await simulated(other, before);
  assert.equal(await at(other, "policies[0].name").inputValue(), "30 s leases");
  console.log(`a link of ${link.length} characters`);
});

test("broken links are told", async (t) => {
  const broken = async (fragment) => {
    const page = await opened(t, { fragment, isReady: false });
    await page.getByText("The link cannot be read").waitFor();
    await rerun(page);
    assert.equal((await totalsOf(page)).length, 2, "the page works nevertheless");
  };
  const fragments = ["#v1.z.abc", "#v9.z.abc", "#v1.j.abc", "#nonsense", "#v1.j.W10"];
  await Promise.all(fragments.slice(0, isSoak ? 5 : 1).map(broken));
});

test("CSV, JSON and PNG are saved whole", async (t) => {
  const page = await opened(t);
  await give(page, presetScenario("three-workers"));
  const totals = await totalsOf(page);

  const json = await saved(page, "JSON");
  assert.equal(json.name, "paddlegate.json");
  const { totals: told, ...scenario } = JSON.parse(json.bytes);
  assert.deepEqual(told, totals.map(JSON.parse));
  assert.deepEqual(scenario, presetScenario("three-workers"));
  await give(page, JSON.parse(json.bytes));
  assert.deepEqual(await totalsOf(page), totals, "what was saved can be opened again");

  const csv = await saved(page, "CSV");
  assert.equal(csv.name, "paddlegate.csv");
  const [head, ...lines] = csv.bytes.toString().trimEnd().split("\n");
  assert.match(head, /^policy,at_us,job,client,attempt,outcome,/);
  const outcomes = await page.evaluate(() =>
    window.paddlegate.results().flatMap(({ columns }) => Array.from(columns.outcome)),
  );
  assert.equal(lines.length, outcomes.length);
  assert.ok(lines.every((line) => line.split(",").length === head.split(",").length));
  for (const [code, key] of [
    "refused",
    "granted",
    "queued",
    "retries",
    "gave_up",
    "lost",
  ].entries()) {
    const told = lines.filter((line) => line.split(",")[5] === key).length;
    assert.equal(told, outcomes.filter((outcome) => outcome === code).length, key);
  }

  const png = await saved(page, "PNG");
  assert.equal(png.name, "paddlegate.png");
  assert.equal(png.bytes.subarray(0, 8).toString("latin1"), "\x89PNG\r\n\x1a\n");
  const [width, height] = [png.bytes.readUInt32BE(16), png.bytes.readUInt32BE(20)];
  assert.ok(width >= 480 && height > 400, `${width} x ${height}`);
  console.log(`CSV ${lines.length} lines , PNG ${width} x ${height}`);
});

test("the dialog shows the code of each policy in each language", async (t) => {
  const page = await opened(t);
  await page.getByRole("button", { name: "Code", exact: true }).click();
  const dialog = page.getByRole("dialog");
  const shown = async (policy, language) => {
    await dialog.getByLabel("Policy").selectOption(String(policy));
    await dialog.getByLabel("Language").selectOption(language);
    return dialog.locator("code").textContent();
  };
  assert.match(await shown(0, "python"), /pg\.bucket\("bucket", 100, 60\)/);
  assert.match(await shown(1, "node"), /pg\.window\("window", 100, 60\)/);
  assert.match(await shown(1, "ruby"), /Paddlegate\.window\("window", 100, 60\)/);
  assert.match(await shown(0, "rust"), /pg\.bucket\("bucket", 100, Duration::from_secs\(60\)\)/);
  assert.match(await shown(0, "c"), /pg_limiter_bucket\(store, "bucket", 100, 60000000, /);
  await page.keyboard.press("Escape");
  assert.ok(!(await dialog.isVisible()));
});

test("a core that cannot be loaded is told", async (t) => {
  const page = await opened(t, { isReady: false, isWhole: false });
  await page.getByText("The simulator could not be loaded").waitFor();
});
