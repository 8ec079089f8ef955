// The tab "Limits" as a person uses it: by keyboard and pointer, in light and dark, and axe finds nothing in it.
// Run by sidekiq_web_test.rb, with PORT and LIMITER in the environment.
import assert from "node:assert/strict";
import AxeBuilder from "@axe-core/playwright";
import { chromium } from "playwright-core";

const Axe = AxeBuilder.default ?? AxeBuilder;
const { PORT, LIMITER, CHROMIUM = "/usr/bin/chromium" } = process.env;
const origin = `http://127.0.0.1:${PORT.trim()}`;

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
try {
  const context = await browser.newContext({ reducedMotion: "reduce" });
  const page = await context.newPage();
  const troubles = [];
  page.on("dialog", (dialog) => dialog.accept());
  // Debian's Sidekiq comes without some of its assets, which its own pages miss.
  const isOurs = () => page.url().startsWith(`${origin}/sidekiq/limits`);
  const isAsset = (url) => /\/(stylesheets|javascripts|images)\//.test(url);
  page.on("pageerror", (error) => {
    if (isOurs()) troubles.push(error.message);
  });
  page.on("console", (message) => {
    const isError = message.type() === "error" && !isAsset(message.location().url);
    if (isError && isOurs()) troubles.push(message.text());
  });

  await page.goto(`${origin}/sidekiq`);
  await page.getByRole("link", { name: "Limits", exact: true }).first().click();
  await page.getByLabel("Names that begin with").fill(LIMITER);
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: LIMITER, exact: true }).click();
  await page.getByRole("heading", { name: LIMITER }).waitFor();

  const bars = page.locator("svg rect");
  assert.ok((await bars.count()) >= 4, "granted and refused, of a minute and of an hour");
  const { height } = await bars.first().boundingBox();
  assert.ok(height > 20, `a bar of ${height} pixels`);
  const chart = page.getByRole("img", {
    name: /The last 60 minutes, from .*: 3 granted, 1 refused/,
  });
  await chart.waitFor();

  if (process.env.SCREENSHOT)
    await page.screenshot({ path: process.env.SCREENSHOT, fullPage: true });
  await page.getByLabel("Seconds").fill("9000");
  await page.getByRole("button", { name: "Pause" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText(/^Paused for 8\d\d\d/).waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByText(/^Paused for/).waitFor({ state: "detached" });

  // Only what is ours: Sidekiq's own navigation has findings.
  const { violations } = await new Axe({ page })
    .setLegacyMode()
    .include("svg")
    .include("form[action$='limits/limiter']")
    .include(".table_container")
    .disableRules(["color-contrast"])
    .analyze();
  assert.deepEqual(
    violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`),
    [],
  );

  await page.goto(`${origin}/sidekiq/limits/limiter?name=${LIMITER}-slots`);
  await page.getByText("holder").waitFor();

  await page.goto(`${origin}/sidekiq/limits/limiter?name=${LIMITER}`);
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByText("0 granted, 0 refused").first().waitFor();
  assert.deepEqual(troubles, []);
} finally {
  await browser.close();
}
