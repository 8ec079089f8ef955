// Every preset runs, and the page plots what the core says: in Node, and in the terminal.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { csvOf } from "../src/csv.mjs";
import { inNode, isSoak, opened, presetScenario, presets, resultsOf, root } from "./page.mjs";

const terminal = join(root, "target/release/paddlegate");

// The one with many decisions takes longer than all others.
const names = isSoak ? presets : presets.filter((name) => name !== "ten-thousand-jobs");

test("the page plots what the core says of every preset", async (t) => {
  const page = await opened(t);
  for (const name of names) {
    await page.evaluate((preset) => window.paddlegate.open(preset), name);
    assert.notEqual(await page.locator("#story").textContent(), "", name);
    const expected = await inNode(presetScenario(name));
    const [results, panels] = await resultsOf(page);
    const legend = await page.locator(".panel").first().locator("b").allTextContents();
    for (const [i, { columns, overTime, totalsText }] of expected.entries()) {
      assert.equal(results[i].totalsText, totalsText, name);
      const { levels, ...others } = columns;
      for (const [key, values] of Object.entries(others)) {
        assert.deepEqual(results[i].columns[key], values, `${key} of policy ${i} of ${name}`);
      }
      assert.deepEqual(results[i].columns.levels, levels);
      assert.deepEqual(results[i].overTime, overTime);
      // The totals, the line and the legend agree.
      const { granted, arrived, largest_burst, units, throttled } = JSON.parse(totalsText);
      const [{ values: come }, ...lines] = panels[0].lines;
      assert.deepEqual([come.at(-1), lines[i].values.at(-1) ?? 0], [arrived, granted], name);
      if (panels[1].key === "burst" && units === granted && throttled === 0) {
        assert.equal(Math.max(...panels[1].lines[i].values), largest_burst.units, name);
      }
    }
    if (name === "three-workers") {
      await page.getByRole("button", { name: "Show the whole time range" }).click();
      assert.deepEqual(await page.locator(".panel").first().locator("b").allTextContents(), [
        "60",
        "59",
        "59",
      ]);
    }
    assert.equal(legend.length, expected.length + 1);
    console.log(`${name}: ${expected.map(({ columns }) => columns.at.length)} decisions equal`);
  }
});

test("the boundary burst opens at its moment, and a drag zooms once", async (t) => {
  const page = await opened(t);
  const ranges = async () => (await resultsOf(page))[1].map(({ range }) => range);
  assert.deepEqual(await ranges(), Array(3).fill([56_000, 64_000]));
  // A bucket is full again at 60 s, although nothing is decided then.
  const [, , { drawn }] = (await resultsOf(page))[1];
  const at = drawn[0].findLastIndex((ms) => ms <= 60_500);
  assert.equal(
    drawn[1].slice(0, at + 1).findLast((value) => value !== null),
    100,
  );

  await page.getByRole("button", { name: "Show the whole time range" }).click();
  const over = page.locator(".u-over").nth(1);
  await over.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  const end = (await ranges())[0][1];
  const x = (ms) => box.x + (box.width * ms) / end;
  await page.mouse.move(x(30_000), box.y + 20);
  await page.mouse.down();
  await page.mouse.move(x(60_000), box.y + 25, { steps: 3 });
  await page.mouse.move(x(90_000), box.y + 20, { steps: 3 });
  await page.mouse.up();
  for (const [from, to] of await ranges()) {
    assert.ok(Math.abs(from - 30_000) < 300 && Math.abs(to - 90_000) < 300, `${from} to ${to}`);
  }
  await page.mouse.dblclick(box.x + 50, box.y + 20);
  assert.deepEqual((await ranges())[0], [0, end]);
  await page.getByRole("button", { name: "59 to 61 s: 200 pass a limit of 100" }).click();
  assert.deepEqual((await ranges())[0], [56_000, 64_000]);
});

test("a frame of another page has the plots and the numbers alone", async (t) => {
  const page = await opened(t, { fragment: "?embed&scenario=monthly-quota" });
  assert.ok(await page.locator("#figure canvas").first().isVisible());
  assert.ok(await page.locator("#numbers table").isVisible());
  for (const place of ["#editor", "#controls", "#preset", "#rest"]) {
    assert.ok(!(await page.locator(place).isVisible()), place);
  }
  const link = page.getByRole("link", { name: "Open the simulator" });
  assert.equal(await link.getAttribute("href"), "./?scenario=monthly-quota");
});

test("the terminal gives the same totals and the same timeline", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "paddlegate-terminal-"));
  t.after(() => rmSync(directory, { recursive: true }));
  for (const name of names) {
    const file = join(root, "packages/simulator/scenarios", `${name}.json`);
    const csv = join(directory, `${name}.csv`);
    const printed = execFileSync(
      terminal,
      ["simulate", "--scenario", file, "--json", "--csv", csv],
      {
        encoding: "utf8",
      },
    );
    const expected = await inNode(presetScenario(name));
    assert.equal(JSON.parse(printed).length, expected.length);
    for (const { totalsText } of expected) assert.ok(printed.includes(totalsText), printed);
    const names = expected.map(({ totalsText }) => JSON.parse(totalsText).name);
    const timelines = expected.map(({ columns }) => ({ columns: () => columns }));
    const text = await csvOf(names, timelines).text();
    assert.ok(text === readFileSync(csv, "utf8"), `the timeline of ${name}`);
    console.log(`${name}: the terminal's totals and timeline are equal to the byte`);
  }
});
