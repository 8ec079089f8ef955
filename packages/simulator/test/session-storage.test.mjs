// What was edited is not lost: by a reload, a link, a file or another scenario.
import assert from "node:assert/strict";
import test from "node:test";
import { fragmentOf } from "../src/share.mjs";
import { at, give, opened, presetScenario, runsOf, simulated } from "./page.mjs";

const NAME = "policies[0].name";
const nameOf = (page) => at(page, NAME).inputValue();
const hashOf = (page) => page.evaluate(() => location.hash);
const back = (page) => page.getByRole("button", { name: "Restore my previous edits" });

/** A page that is on its way out may write too late for the next one, so what it keeps is waited for. */
async function reloaded(page, ...edits) {
  const link = JSON.stringify({ link: await hashOf(page) }).slice(1, -1);
  const texts = [await nameOf(page), ...edits].map((text) => JSON.stringify(text));
  await page.waitForFunction(
    (parts) => parts.every((part) => sessionStorage.getItem("paddlegate-draft")?.includes(part)),
    [link, ...texts],
  );
  await page.reload();
  await simulated(page, 0);
}

async function chosen(page, name) {
  const before = await runsOf(page);
  await page.selectOption("#preset", name);
  await simulated(page, before);
}

test("what was edited after a link or after sharing is there after a reload", async (t) => {
  const fragment = await fragmentOf(presetScenario("three-workers"));
  const page = await opened(t, { fragment });
  await reloaded(page);
  assert.equal(await hashOf(page), fragment, "nothing was edited");
  await at(page, NAME).fill("mine");
  assert.equal(await hashOf(page), "");
  await reloaded(page);
  assert.equal(await nameOf(page), "mine");

  await page.getByRole("button", { name: "Share" }).click();
  const link = await page.getByLabel("Link").inputValue();
  await page.keyboard.press("Escape");
  await reloaded(page);
  assert.equal(await nameOf(page), "mine");
  assert.ok(link.endsWith(await hashOf(page)));
  await at(page, NAME).fill("mine, later");
  await reloaded(page);
  assert.equal(await nameOf(page), "mine, later");
});

test("what no link holds is there after a reload of the link", async (t) => {
  const page = await opened(t);
  await at(page, "arrivals.kind").selectOption("times");
  await at(page, "arrivals.text").fill("0\n1\n");
  await at(page, "arrivals.kind").selectOption("burst");
  await page.getByRole("button", { name: "Share" }).click();
  await page.getByLabel("Link").waitFor();
  await reloaded(page, "0\n1\n");
  assert.match(await hashOf(page), /^#v1/);
  await at(page, "arrivals.kind").selectOption("times");
  assert.equal(await at(page, "arrivals.text").inputValue(), "0\n1\n");
});

test("a file and a preset are no link any more", async (t) => {
  const fragment = await fragmentOf(presetScenario("three-workers"));
  const page = await opened(t, { fragment });
  await give(page, presetScenario("shopify-points"));
  assert.equal(await hashOf(page), "");
  await reloaded(page);
  assert.equal(await nameOf(page), "corrected");
  // What is chosen before the link was run would be told apart from it by nothing.
  const before = await runsOf(page);
  await page.evaluate((hash) => location.assign(hash), fragment);
  await simulated(page, before);
  assert.equal(await nameOf(page), "30 s leases");
  await chosen(page, "boundary-burst");
  assert.equal(await hashOf(page), "");
});

test("what was edited before a reload is offered when something else is opened", async (t) => {
  const page = await opened(t);
  await at(page, NAME).fill("mine");
  await reloaded(page);
  await chosen(page, "three-workers");
  await back(page).click();
  assert.equal(await nameOf(page), "mine");

  // A link that is opened by its address loads the page anew.
  const fragment = await fragmentOf(presetScenario("shopify-points"));
  const { origin } = new URL(page.url());
  await page.goto("about:blank");
  await page.goto(`${origin}/${fragment}`);
  await simulated(page, 0);
  assert.equal(await nameOf(page), "corrected");
  await back(page).click();
  assert.equal(await nameOf(page), "mine");
});

test("bringing back changes places with what is edited now", async (t) => {
  const page = await opened(t);
  await at(page, NAME).fill("first");
  await chosen(page, "three-workers");
  await at(page, NAME).fill("second");
  await back(page).focus();
  for (const name of ["first", "second", "first"]) {
    await page.keyboard.press("Enter");
    assert.equal(await nameOf(page), name);
    const focused = await page.evaluate(() => document.activeElement.textContent);
    assert.equal(focused, "Restore my previous edits");
  }
});
