// A fresh page in a fresh Chromium, and the same core in Node to compare with.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import test, { after } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { build } from "../build.mjs";
import { serverOf } from "../serve.mjs";

/** A test that takes long, or judges the time of a machine. */
export const isSoak = process.env.PADDLEGATE_SOAK === "1";
export const soak = isSoak ? test : () => {};
export const PATIENCE = 30_000;
export const WIDE = { width: 1400, height: 900 };
export const NARROW = { width: 320, height: 700 };
export const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");

const directory = mkdtempSync(join(tmpdir(), "paddlegate-simulator-"));
const dist = build(join(directory, "dist"));
const server = serverOf(dist);
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
export const origin = `http://127.0.0.1:${server.address().port}`;

const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"];
flags.push("--disable-background-networking", "--disable-component-update", "--disable-sync");
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: flags,
});

after(async () => {
  await browser.close();
  server.closeAllConnections();
  server.close();
  await rm(directory, { recursive: true, maxRetries: 20, retryDelay: 50 });
});

let shared = null; // a fresh page costs two seconds, so that tests that need none share one

/** A page that shows the first scenario; any error on it and any request to elsewhere fails the test. */
export async function opened(t, options) {
  if (options !== undefined) return fresh(t, options);
  if (shared === null) {
    const troubles = [];
    shared = { page: await fresh({ after() {} }, {}, troubles), troubles };
  }
  const { page, troubles } = shared;
  t.after(() => assert.deepEqual(troubles.splice(0), []));
  await page.setViewportSize(WIDE);
  await page.mouse.move(0, 0);
  await page.evaluate(async () => {
    document.getElementById("dialog").close();
    for (const part of document.querySelectorAll("#rest details")) part.open = false;
    await window.paddlegate.open("boundary-burst");
    document.getElementById("bring-back").hidden = true;
    sessionStorage.clear();
    document.activeElement.blur();
  });
  return page;
}

async function fresh(
  t,
  { fragment = "", isReady = true, isWhole = true, ...options } = {},
  troubles = [],
) {
  const context = await browser.newContext({
    viewport: WIDE,
    reducedMotion: "reduce",
    acceptDownloads: true,
    ...options,
  });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  page.on("pageerror", (error) => troubles.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error") troubles.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !url.startsWith("blob:")) troubles.push(`request: ${url}`);
  });
  t.after(async () => {
    await context.close();
    if (isWhole) assert.deepEqual(troubles, []);
  });
  // Without the core the browser itself reports an error on the console.
  if (!isWhole) await page.route("**/*.wasm", (route) => route.abort());
  await page.goto(`${origin}/${fragment}`);
  if (isReady) await simulated(page, 0);
  return page;
}

/** Waits for the result of a run after so many. */
export async function simulated(page, before) {
  await page.waitForFunction(
    (runs) =>
      window.paddlegate?.runs() > runs &&
      document.getElementById("status").textContent.startsWith("Simulated."),
    before,
    { timeout: PATIENCE },
  );
}

export const runsOf = (page) => page.evaluate(() => window.paddlegate.runs());

/** Presses "Run" and waits for the result. */
export async function rerun(page) {
  const before = await runsOf(page);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await simulated(page, before);
}

/** Opens a scenario of ours as a file. */
export async function give(page, scenario) {
  const before = await runsOf(page);
  const [chooser] = await Promise.all([
    page.waitForEvent("filechooser"),
    page.getByRole("button", { name: "Open", exact: true }).click(),
  ]);
  const buffer = Buffer.from(typeof scenario === "string" ? scenario : JSON.stringify(scenario));
  await chooser.setFiles({ name: "given.json", mimeType: "application/json", buffer });
  if (typeof scenario !== "string") await simulated(page, before);
}

export const at = (page, path) => page.locator(`[data-path="${path}"]`);

/** The texts of the totals that are shown. */
export const totalsOf = (page) => page.evaluate(() => window.paddlegate.totals());

/** The results and what is plotted of them, to the bit: typed arrays come over as their bytes. */
export async function resultsOf(page) {
  const text = await page.evaluate(() => {
    const packed = (view) => {
      const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
      let binary = "";
      for (let i = 0; i < bytes.length; i += 8192) {
        binary += String.fromCharCode(...bytes.subarray(i, i + 8192));
      }
      return { type: view.constructor.name, bytes: btoa(binary) };
    };
    const all = [window.paddlegate.results(), window.paddlegate.plotted()];
    return JSON.stringify(all, (_, value) => (ArrayBuffer.isView(value) ? packed(value) : value));
  });
  return JSON.parse(text, (_, value) => {
    if (typeof value?.bytes !== "string") return value;
    const bytes = Uint8Array.from(Buffer.from(value.bytes, "base64"));
    return new globalThis[value.type](bytes.buffer);
  });
}

export const presets = readdirSync(join(dist, "scenarios")).map((name) =>
  name.replace(".json", ""),
);

export const presetScenario = (name) =>
  JSON.parse(readFileSync(join(dist, "scenarios", `${name}.json`), "utf8"));

/** The module that the page uses, in this process. */
export async function core() {
  const files = readdirSync(join(dist, "wasm"), { recursive: true, withFileTypes: true });
  const wasm = files.find(({ name }) => name.endsWith(".wasm"));
  const module = await import(pathToFileURL(join(dist, "wasm/full/web.mjs")).href);
  await module.default(readFileSync(join(wasm.parentPath ?? wasm.path, wasm.name)));
  return module;
}

/** Every policy of a scenario in Node: `[{ columns, overTime, totalsText }]`. */
export async function inNode(scenario) {
  const { Simulation } = await core();
  return scenario.policies.map((_, index) => {
    const simulation = new Simulation(scenario, index);
    while (simulation.run(100_000));
    return {
      columns: simulation.columns(),
      overTime: simulation.overTime(),
      totalsText: simulation.totalsText(),
    };
  });
}
