// Every preset runs, and the page plots what the core says: in Node, and in the terminal.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { csvOf } from "../src/csv.mjs";
import {
  inNode,
  isSoak,
  opened,
  plottedOf,
  presetScenario,
  presets,
  root,
  runsOf,
  simulated,
  totalsOf,
} from "./page.mjs";

const terminal = join(root, "target/release/paddlegate");

// The one with many decisions takes longer than all others.
const names = isSoak ? presets : presets.filter((name) => name !== "ten-thousand-jobs");

for (const name of names) {
  test(`${name}: the page plots what the core says`, async (t) => {
    const page = await opened(t);
    const before = await runsOf(page);
    await page.selectOption("#preset", "").catch(() => {});
    await page.selectOption("#preset", name);
    await simulated(page, before);

    const scenario = presetScenario(name);
    const expected = await inNode(scenario);
    assert.deepEqual(
      await totalsOf(page),
      expected.map(({ totalsText }) => totalsText),
    );
    const plotted = await plottedOf(page);
    assert.equal(plotted.length, scenario.policies.length);
    for (const [i, { columns, lines, outcomes, levels, histogram }] of plotted.entries()) {
      const { levels: given, ...others } = expected[i].columns;
      for (const [key, values] of Object.entries(others)) {
        assert.deepEqual(columns[key], values, `${key} of policy ${i}`);
      }
      assert.deepEqual(columns.levels, given);
      assert.deepEqual(lines.find(({ key }) => key === "queue").values, columns.queue);
      drawn(columns, lines, outcomes, levels);
      const granted = expected[i].columns.outcome.filter((code) => code === 1).length;
      assert.equal(sum(histogram.counts), granted, "the histogram has every grant");
    }
    console.log(`${name}: ${plotted.map(({ columns }) => columns.at.length)} decisions equal`);
  });
}

// What is drawn are decisions of the timeline, and each decision is in one of the marks.
function drawn(columns, lines, outcomes, levels) {
  assert.equal(sum(outcomes.counts), columns.at.length, "marks stand for all decisions");
  outcomes.rows.forEach((row, i) => {
    assert.equal(outcomes.data[0][i], columns.at[row]);
    const lane = outcomes.data.slice(1).findIndex((series) => series[i] !== null);
    assert.ok(lane >= 0, "every mark has a lane");
  });
  levels.rows.forEach((row, i) => {
    assert.equal(levels.data[0][i], columns.at[row]);
    lines.forEach(({ values }, line) => {
      const value = levels.data[line + 1][i];
      assert.equal(value ?? Number.NaN, values[row]);
    });
  });
  if (columns.at.length <= 200) {
    assert.equal(levels.rows.length, columns.at.length, "few decisions are all drawn");
  }
}

const sum = (numbers) => numbers.reduce((total, value) => total + value, 0);

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
