// Usable by all: what axe finds, without a mouse, on narrow screens, without motion.
import assert from "node:assert/strict";
import test from "node:test";
import AxeBuilder from "@axe-core/playwright";
import {
  at,
  isSoak,
  NARROW,
  opened,
  presets,
  rerun,
  runsOf,
  simulated,
  totalsOf,
  WIDE,
} from "./page.mjs";

const Axe = AxeBuilder.default ?? AxeBuilder;

const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** `narrowed` leaves out the rules whose findings another view has. */
async function nothingFound(page, view, narrowed) {
  const axe = narrowed(new Axe({ page }));
  // Without the mode for frames of other origins, of which there are none, it takes half as long.
  const { violations, passes } = await axe.setLegacyMode().analyze();
  const found = violations.map(({ id, help, nodes }) => ({
    id,
    help,
    nodes: nodes.slice(0, 3).map(({ html, failureSummary }) => `${html}\n${failureSummary}`),
  }));
  assert.deepEqual(found, [], view);
  console.log(`${view}: axe finds nothing (${passes.length} rules)`);
}

/** The page never scrolls sideways. */
async function fits(page, view) {
  const isWithin = () =>
    document.documentElement.scrollWidth <= document.documentElement.clientWidth;
  await page.waitForFunction(isWithin).catch(() => assert.fail(`${view}: it scrolls sideways`));
}

const openAll = (page) =>
  page.evaluate(() => {
    for (const part of document.querySelectorAll("details")) part.open = true;
  });

// Colours depend on the scheme, all else on the width: each rule sees each of both, and in a soak all of them see all, in
// every scenario.
const everything = (axe) => axe.withTags(TAGS);
const colours = (axe) => axe.withRules(["color-contrast"]);
const others = (axe) => axe.withTags(TAGS).disableRules(["color-contrast"]);
const views = [
  ["light", { colorScheme: "light" }, everything],
  ["dark", { colorScheme: "dark" }, colours],
  ["narrow, light", { colorScheme: "light", viewport: NARROW }, others],
  ...(isSoak ? [["narrow, dark", { colorScheme: "dark", viewport: NARROW }]] : []),
];

for (const [view, options, rules] of views) {
  test(`axe finds nothing: ${view}`, async (t) => {
    const page = await opened(t, options);
    await openAll(page);
    const narrowed = isSoak ? everything : rules;
    const names = isSoak ? presets : presets.slice(0, 1);
    for (const name of names) {
      const before = await runsOf(page);
      if (name !== (await page.locator("#preset").inputValue())) {
        await page.selectOption("#preset", name);
        await simulated(page, before);
      }
      await openAll(page);
      await nothingFound(page, `${view}, ${name}`, narrowed);
      await fits(page, `${view}, ${name}`);
    }

    await at(page, "policies[0].limits[0].kind").selectOption("quota");
    for (const letter of ["C", "D"]) {
      await page.getByRole("button", { name: "Add policy" }).click();
      await page.getByLabel("Name").last().fill(`${letter}, with a rather long name, and longer`);
      await page
        .getByRole("button", { name: "Add limit" })
        .nth(letter === "C" ? 2 : 3)
        .click();
    }
    await rerun(page);
    await openAll(page);
    await nothingFound(page, `${view}, four policies`, narrowed);
    await fits(page, `${view}, four policies`);

    await page.getByRole("button", { name: "JSON", exact: true }).nth(1).click();
    await at(page, "policies[0].document").fill("{");
    await page.waitForSelector('textarea[aria-invalid="true"]');
    await at(page, "arrivals.count").fill("x");
    await at(page, "arrivals.kind").selectOption("times");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByText("This scenario cannot run yet").waitFor();
    await nothingFound(page, `${view}, with errors`, narrowed);
    await fits(page, `${view}, with errors`);
    for (const dialog of ["Share", "Code"]) {
      await page.getByRole("button", { name: dialog, exact: true }).click();
      await nothingFound(page, `${view}, ${dialog}`, narrowed);
      await fits(page, `${view}, ${dialog}`);
      await page.keyboard.press("Escape");
    }
  });
}

test("at 200 % zoom nothing scrolls sideways, and targets are 44 pixels", async (t) => {
  // A browser at 200 % has half as many pixels to lay things out in.
  const viewport = { width: WIDE.width / 2, height: WIDE.height / 2 };
  const page = await opened(t, { viewport, deviceScaleFactor: 2 });
  await openAll(page);
  await fits(page, "200 %");
  await page.setViewportSize(NARROW);
  await fits(page, "320 px");
  const small = await page.evaluate(() =>
    [
      ...document.querySelectorAll(
        "button, select, summary, input:not([type=checkbox]), textarea, .check",
      ),
    ]
      .map((element) => [element, element.getBoundingClientRect()])
      .filter(([, { width, height }]) => width > 0 && (height < 43.5 || width < 43.5))
      .filter(([element]) => !element.matches("button.link"))
      .map(
        ([element, { width, height }]) => `${element.outerHTML.slice(0, 90)} ${width} x ${height}`,
      ),
  );
  assert.deepEqual(small, []);
});

test("everything is done by the keyboard, and hovering explains", async (t) => {
  const page = await opened(t);
  const reach = async (matches, most = 200) => {
    for (let i = 0; i < most; i++) {
      await page.keyboard.press("Tab");
      const found = await page.evaluate(
        (selector) => document.activeElement.matches(selector),
        matches,
      );
      if (found) return;
    }
    assert.fail(`Tab never comes to ${matches}`);
  };
  // The slider explains one decision after the other, here of the second policy.
  await reach("#explain-part > summary");
  await page.keyboard.press("Enter");
  await reach('.explain:nth-child(2) input[type="range"]');
  const said = () => page.evaluate(() => document.activeElement.getAttribute("aria-valuetext"));
  assert.match(await said(), /^1 of 200, at 59 s: granted/);
  await page.keyboard.press("ArrowRight");
  assert.match(await said(), /^2 of 200/);
  await page.keyboard.press("End");
  assert.match(await said(), /^200 of 200.*refused/);
  const facts = page.locator(".explain").last();
  await facts.getByText("Limit that refused").waitFor();
  await facts.getByText("Retry-After").waitFor();

  // The decisions, page by page; then the limit, another number, and Ctrl+Enter.
  await reach("#decisions-part > summary");
  await page.keyboard.press("Enter");
  await reach('button[aria-label="Next page"]');
  await page.keyboard.press("Enter");
  await page.getByText("26–50 of 200").waitFor();
  await reach('[data-path="policies[0].limits[0].limit"]');
  await page.keyboard.press("Control+a");
  await page.keyboard.type("30");
  const before = await runsOf(page);
  await page.keyboard.press("Control+Enter");
  await simulated(page, before);
  assert.equal(JSON.parse((await totalsOf(page))[0]).granted, 60);
  const focused = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(focused, "solid", "the focus is to be seen");

  // A dialog gives the focus back.
  await page.evaluate(() => document.querySelector("#files button:last-of-type").focus());
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Escape");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Code");

  // The page shows 56 to 64 s: the bursts are at three and at five eighths of the plot.
  const over = page.locator(".u-over").first();
  await over.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  const point = async (part) => {
    await page.mouse.move(box.x + box.width * part, box.y + box.height / 2);
    return facts.locator("dd").first().textContent();
  };
  assert.match(await point(0.37), /^(1|100) of 200$/);
  assert.match(await point(0.63), /^(101|200) of 200$/);
});

test("the focus stays where one goes on", async (t) => {
  const page = await opened(t);
  await openAll(page);
  const focused = () =>
    page.evaluate(() => {
      const { ariaLabel, textContent, dataset, type } = document.activeElement;
      return ariaLabel || (type === "checkbox" && dataset.path) || textContent;
    });
  const press = async (locator) => {
    await locator.focus();
    await page.keyboard.press("Space");
    return focused();
  };
  const named = (name) => page.getByRole("button", { name, exact: true });
  const events = page.locator("#events");
  for (let i = 0; i < 3; i++) await named("Add event").click();
  assert.equal(await press(named("Remove event 1")), "Remove event 1", "of the next event");
  assert.equal(await press(named("Remove event 2")), "Add event", "there is no next one");
  assert.equal(await press(named("Remove event 1")), "Add event");
  assert.equal(await events.getByRole("group").count(), 0);

  const limits = page.locator("#policies .card").first();
  const removal = (i) => limits.getByRole("button", { name: `Remove limit ${i}` });
  for (let i = 0; i < 2; i++) await limits.getByRole("button", { name: "Add limit" }).click();
  assert.equal(await press(removal(1)), "Remove limit 1");
  assert.equal(await press(removal(1)), "Add limit", "the last one cannot be removed");
  assert.ok(await limits.evaluate((element) => element.contains(document.activeElement)));

  const toggle = page.getByLabel("The called service has its own limits");
  assert.equal(await press(toggle), "upstream.on");
  assert.equal(await press(toggle), "upstream.on");

  const before = await runsOf(page);
  await page.selectOption("#preset", "three-workers");
  await simulated(page, before);
  assert.equal(await press(named("Restore my previous edits")), "Run");

  // What is replaced by a run, and what hides at its end.
  await rerun(page);
  await page.locator('input[type="range"]').first().focus();
  const earlier = await runsOf(page);
  await page.keyboard.press("Control+Enter");
  await simulated(page, earlier);
  assert.equal(await focused(), "Run");
  await at(page, "arrivals.count").fill("100000");
  await at(page, "arrivals.every").fill("10s");
  await at(page, "arrivals.for").fill("100s");
  const last = await runsOf(page);
  await page.evaluate(() => {
    const find = (text) =>
      [...document.querySelectorAll("#controls button")].find((b) => b.textContent === text);
    new MutationObserver((_, observer) => {
      if (find("Stop").hidden) return;
      observer.disconnect();
      find("Stop").focus();
    }).observe(find("Stop"), { attributes: true });
    find("Run").click();
  });
  await page.waitForFunction((runs) => window.paddlegate.runs() > runs, last);
  assert.equal(await focused(), "Run");
});

test("a wrong seed is marked while it is typed, and right again without a run", async (t) => {
  const page = await opened(t);
  await at(page, "seed").fill("many");
  await page.waitForSelector('[data-path="seed"][aria-invalid="true"]');
  await page.getByText("must be a whole number, such as 100").waitFor();
  await at(page, "seed").fill("3");
  await page.waitForSelector('[data-path="seed"]:not([aria-invalid])');
});
