// The pages of the server in Chromium: live numbers, changes by the keyboard alone, what axe finds, and hostile names.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import test, { after } from "node:test";
import { fileURLToPath } from "node:url";
import AxeBuilder from "@axe-core/playwright";
import { chromium } from "playwright-core";

const Axe = AxeBuilder.default ?? AxeBuilder;
const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const HOSTILE = `<script>alert(1)</script>"'&<img src=x onerror=alert(2)>`;

const directory = mkdtempSync(join(tmpdir(), "paddlegate-pages-"));
const prefix = `pages-${process.pid}-`;
const limits = {
  [`${prefix}api`]: { bucket: { limit: 5, per: "day" } },
  [`${prefix}workers`]: { concurrency: { limit: 1, lock_timeout: "1h" } },
  [`${prefix}per-user`]: { bucket: { limit: 2, per: "day" }, keyed: true },
  [`${prefix}slow`]: { window: { limit: 1, per: "hour" } },
  [`${prefix}shop`]: { points: { limit: 1000, refill: "20s" } },
  [`${prefix}busy`]: { window: { limit: 100, per: "hour" } },
  [`${prefix}${HOSTILE}`]: { bucket: { limit: 2, per: "day" } },
};
const file = join(directory, "limits.json");
writeFileSync(file, JSON.stringify({ limiters: limits }));
const store = process.env.PADDLEGATE_TEST_URL ? ["--redis", process.env.PADDLEGATE_TEST_URL] : [];
const command = join(root, "target/release/paddlegate");
const simulator = ["--simulator", join(root, "packages/simulator/dist")];

/** A server and where it listens. */
async function serve(...options) {
  const server = spawn(command, ["serve", "--listen", "127.0.0.1:0", "--limits", file, ...options]);
  const lines = createInterface({ input: server.stdout });
  const [first] = await new Promise((resolve) => lines.once("line", (line) => resolve([line])));
  return [server, first.replace("listening on ", "")];
}

const [server, origin] = await serve(...simulator, ...store);
// Its limits are in memory, and its clock moves when it is told to.
const [sampler, sampled] = await serve("--test-clock", "1800000058000000");
const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"];
flags.push("--disable-background-networking", "--disable-component-update", "--disable-sync");
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: flags });

after(async () => {
  await browser.close();
  for (const one of [server, sampler]) {
    one.kill("SIGTERM");
    await new Promise((resolve) => one.once("exit", resolve));
  }
  rmSync(directory, { recursive: true });
});

/** Calls the API; the answer must be a success. */
async function call(method, name, rest, body, from = origin) {
  const url = `${from}/v1/limiters/${encodeURIComponent(prefix + name)}${rest}`;
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method, headers, body: body && JSON.stringify(body) });
  assert.equal(response.status, 200, await response.clone().text());
  return response.json();
}

await call("POST", "api", "/acquire", { cost: 2 });
await call("POST", "workers", "/acquire", { id: "holder" });
await call("POST", "workers", "/enqueue", { id: "waiter", share: "acme" });
await call("POST", "per-user", "/acquire", { key: "alice" });
await call("POST", HOSTILE, "/acquire", {});
await call("POST", "slow", "/acquire");
for (const id of ["one", "two"]) await call("POST", "slow", "/enqueue", { id });
await call("POST", "shop", "/acquire", { cost: 50 });
for (let i = 0; i < 60; i++) await call("POST", "busy", "/acquire");
await call("POST", "api", "/acquire", { cost: 9 }).catch(() => {});

/** A page; any error on it and any request to elsewhere fails the test. */
async function opened(t, path, options = {}, from = origin) {
  const context = await browser.newContext({ reducedMotion: "reduce", ...options });
  context.setDefaultTimeout(30_000);
  const page = await context.newPage();
  const troubles = [];
  page.on("pageerror", (error) => troubles.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    troubles.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(from)) troubles.push(`request: ${request.url()}`);
  });
  page.on("console", (message) => {
    if (/Content Security Policy/.test(message.text())) troubles.push(message.text());
  });
  t.after(async () => {
    await context.close();
    assert.deepEqual(troubles, []);
  });
  await page.goto(from + path);
  return page;
}

const address = (name) => `/ui/limiters/${encodeURIComponent(prefix + name)}`;
const list = `/ui/limiters?prefix=${prefix}`;
const rowOf = (page, name) =>
  page
    .locator("tbody tr")
    .filter({ has: page.getByRole("link", { name: prefix + name, exact: true }) });

test("the list has the numbers of each limiter", async (t) => {
  const page = await opened(t, list);
  assert.equal(await page.locator("tbody tr").count(), 7);
  assert.equal(await rowOf(page, "api").locator("[data-cell=used]").textContent(), "2 of 5");
  const workers = rowOf(page, "workers");
  assert.equal(await workers.locator("[data-cell=waiting]").textContent(), "1");
  assert.match(await workers.locator("[data-cell=oldest]").textContent(), /^\d+ (ms|s|min)/);
  assert.equal(await rowOf(page, "api").locator("[data-cell=oldest]").textContent(), "-");
  assert.match(await page.locator("caption").textContent(), /^7 limiters, by name/);
  assert.equal(await rowOf(page, "per-user").locator("[data-cell=state]").textContent(), "keyed");
});

test("the list is sorted by a column, by the keyboard", async (t) => {
  const page = await opened(t, list);
  const names = () => page.locator("tbody th").allTextContents();
  const sorted = (await names()).toSorted();
  assert.deepEqual(await names(), sorted, "by name at first");
  await tabTo(page, "thead a[href$='sort=used']");
  await page.keyboard.press("Enter");
  await page.locator("th[aria-sort=descending]", { hasText: "Used" }).waitFor();
  assert.match((await names())[0], /(slow|workers)$/, "1 of 1");
  assert.equal(await page.locator("th[aria-sort]").count(), 1);
  await page.getByRole("link", { name: "Waiting", exact: true }).click();
  await page.locator("th[aria-sort=descending]", { hasText: "Waiting" }).waitFor();
  assert.equal((await names())[0], `${prefix}slow`, "two wait");
  await page.getByRole("link", { name: "Oldest wait" }).click();
  await page.locator("th[aria-sort=descending]", { hasText: "Oldest wait" }).waitFor();
  assert.equal((await names())[0], `${prefix}workers`, "its call came first");
  const bar = rowOf(page, "busy").locator("progress");
  assert.deepEqual(await bar.evaluate(({ value, max }) => [value, max]), [60, 100]);
  assert.equal((await fetch(`${origin}/ui/limiters?sort=colour`)).status, 400);
});

test("the numbers of the list are live", async (t) => {
  const page = await opened(t, list);
  await call("POST", "api", "/acquire", {});
  const used = rowOf(page, "api").locator("[data-cell=used]");
  await used.filter({ hasText: "3 of 5" }).waitFor();
  assert.ok(
    Number(await page.locator("table").getAttribute("data-updates")) > 0,
    "without loading again",
  );
  assert.equal(
    await rowOf(page, "api")
      .locator("progress")
      .evaluate(({ value }) => value),
    3,
  );
});

/** Starts a worker in a language that takes a lease of a limiter and holds it; the line that it has one comes when it has. */
function hold(t, language, name) {
  const workers = join(root, "tests/shared/workers");
  const [file, ...rest] = {
    node: [process.execPath, join(workers, "holder.mjs")],
    python: [join(root, ".venv/bin/python"), join(workers, "holder.py"), "threads"],
    ruby: ["ruby", "-I", join(root, "packages/ruby/lib"), join(workers, "holder.rb")],
  }[language];
  const env = { ...process.env, PADDLEGATE_URL: process.env.PADDLEGATE_TEST_URL };
  const numbers = ["4", "3600000", "3600000", "1", "1"];
  const stdio = ["ignore", "pipe", "inherit"];
  const worker = spawn(file, [...rest, name, ...numbers], { env, stdio });
  t.after(() => worker.kill("SIGKILL"));
  return new Promise((resolve, reject) => {
    createInterface({ input: worker.stdout }).once("line", resolve);
    worker.once("exit", (code) => reject(new Error(`${language} ended with ${code}`)));
  });
}

test("what workers in Python, Ruby and Node change is on the pages without loading them again", async (t) => {
  assert.ok(process.env.PADDLEGATE_TEST_URL, "run it by scripts/with-redis.sh");
  const fleet = `fleet-${process.pid}`;
  await hold(t, "python", fleet);
  const listed = await opened(t, `/ui/limiters?prefix=${fleet}`);
  const shown = await opened(t, `/ui/limiters/${fleet}`);
  let loads = 0;
  for (const page of [listed, shown]) {
    page.on("load", () => {
      loads++;
    });
  }
  const used = listed.locator("[data-cell=used]");
  assert.equal(await used.textContent(), "1 of 4");
  for (const [i, language] of ["ruby", "node", "python"].entries()) {
    await hold(t, language, fleet);
    const begun = performance.now();
    const count = i + 2;
    await Promise.all([
      used.filter({ hasText: `${count} of 4` }).waitFor(),
      shown.getByRole("heading", { name: `Leases (${count})` }).waitFor(),
    ]);
    t.diagnostic(`${language}: on both pages after ${Math.round(performance.now() - begun)} ms`);
    const cells = shown.locator("[data-part=limits] td");
    assert.deepEqual((await cells.allTextContents()).slice(4, 6), [`${count}`, `${4 - count}`]);
  }
  const leases = shown.locator("[data-part=leases]");
  await leases.locator("tbody tr").nth(3).waitFor();
  // Whoever moves through the table is not interrupted, and sees the change later.
  const before = await leases.evaluate((part) => {
    part.querySelector("[role=region]").focus();
    return part.innerHTML;
  });
  for (let i = 0; i < 2; i++) await shown.waitForResponse((answer) => answer.ok());
  assert.equal(await leases.innerHTML(), before);
  await unfold(shown, "Pause");
  await shown.locator("#pause-for").fill("10m");
  await shown.waitForFunction(
    (before) => document.querySelector("[data-part=leases]").innerHTML !== before,
    before,
  );
  assert.equal(await shown.locator("#pause-for").inputValue(), "10m", "what is typed stays");
  assert.equal(loads, 0, "no page was loaded again");
});

test("a page whose order was being read is shown again in that order", async (t) => {
  const page = await opened(t, list);
  let loads = 0;
  page.on("load", () => {
    loads++;
  });
  const contentType = "text/event-stream";
  const body = "event: ordered\ndata: used\n\n";
  await page.route("**/ui/live?**", (route) => route.fulfill({ contentType, body }));
  await page.reload();
  await page.waitForEvent("load");
  assert.ok(loads >= 2);
});

test("whoever types a prefix is not interrupted", async (t) => {
  const page = await opened(t, list);
  let told = 0;
  await page.route("**/ui/live?**", async (route) => {
    // The browser asks again when it was told all.
    told++;
    const body = "retry: 10\nevent: ordered\ndata: used\n\n";
    if (told === 1) await page.locator("#prefix").fill("typed");
    await route.fulfill({ contentType: "text/event-stream", body });
  });
  await page.goto(origin + list, { waitUntil: "domcontentloaded" });
  for (const seen = told; told < seen + 3; ) await page.waitForRequest("**/ui/live?**");
  assert.equal(await page.locator("#prefix").inputValue(), "typed");
});

test("without a script the pages say the same", async (t) => {
  const page = await opened(t, list, { javaScriptEnabled: false });
  assert.match(await rowOf(page, "api").locator("[data-cell=used]").textContent(), /of 5$/);
  await rowOf(page, "api").getByRole("link").click();
  await page.getByRole("heading", { name: `${prefix}api` }).waitFor();
});

test("one limiter has its limits, leases, queue and history", async (t) => {
  const page = await opened(t, address("workers"));
  for (const text of ["holder", "waiter", "acme", "Leases (1)", "Queue (1)"]) {
    await page.getByText(text, { exact: true }).first().waitFor();
  }
  // Beside these the server may have looked at what is left and who waits.
  assert.equal(await page.locator("[data-part] > .plot > svg.chart").count(), 2);
  assert.equal(await page.locator("details tbody tr").count(), 60 + 48);
});

/** Waits until the minute that is not over has been looked at. */
async function passed(name, seconds) {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ micros: seconds * 1_000_000 });
  const address = `${sampled}/ojs/v1/test-clock/advance`;
  assert.equal((await fetch(address, { method: "POST", headers, body })).status, 200);
  for (;;) {
    const { minutes } = await call("GET", name, "/samples", undefined, sampled);
    if (minutes.at(-1).waiting !== null) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test("the page has charts of remaining units and of waiting calls", async (t) => {
  await call("POST", "workers", "/acquire", { id: "holder" }, sampled);
  await call("POST", "workers", "/enqueue", { id: "waiter" }, sampled);
  await passed("workers", 2);
  const page = await opened(t, address("workers"), {}, sampled);
  const charts = await page
    .locator("svg.chart")
    .evaluateAll((all) => all.map((one) => one.ariaLabel));
  assert.deepEqual(
    charts.filter((label) => label.startsWith("Waiting") || label.startsWith("Remaining")),
    [
      "Waiting in the last hour: from 1 to 1",
      "Remaining of concurrency in the last hour: from 0 to 0",
      "Waiting in the last two days: from 1 to 1",
      "Remaining of concurrency in the last two days: from 0 to 0",
    ],
  );
  await page.getByText(/since \d\d:\d\d:58 UTC, by this server/).waitFor();
  await page.getByText("Numbers of the last hour").click();
  const [row] = await page.locator("details tbody tr").allTextContents();
  assert.match(row, /10$/, "one waits, none is left");
});

test("the page says when the last that waits is granted", async (t) => {
  const page = await opened(t, address("slow"));
  await page.getByText(/The last of 2 waiting ends at about \d\d:\d\d:\d\d UTC, in 2 h:/).waitFor();
});

test("the most refused keys lead to their state", async (t) => {
  for (const [key, calls] of [
    [HOSTILE, 5],
    ["bob", 3],
  ]) {
    for (let i = 0; i < calls; i++) await call("POST", "per-user", "/acquire", { key });
  }
  const page = await opened(t, address("per-user"));
  const rows = page.getByRole("region", { name: "Most refused keys" }).locator("tbody tr");
  assert.deepEqual(
    await rows.evaluateAll((rows) =>
      rows.map((row) => [...row.children].map((cell) => cell.textContent)),
    ),
    [
      [HOSTILE, "3"],
      ["bob", "1"],
    ],
  );
  await rows.first().getByRole("link").click();
  await page.getByRole("heading", { name: "Leases (0)" }).waitFor();
  assert.equal(await page.getByLabel("The state of the key").inputValue(), HOSTILE);
  await call("POST", "per-user", "/reset", { key: "bob" });
  await call("POST", "per-user", "/reset", { key: HOSTILE });
  await page.goto(origin + address("per-user"));
  await page.getByText("No key was refused in this hour or the last.").waitFor();
  // What axe sees has one.
  for (let i = 0; i < 3; i++) await call("POST", "per-user", "/acquire", { key: "bob" });
});

test("a name that no limiter has is a page", async (t) => {
  const page = await opened(t, address("nobody"));
  await page.getByRole("heading", { name: "No such limiter" }).waitFor();
  assert.equal((await fetch(origin + address("nobody"))).status, 404);
});

test("a change of a key has the key and the day on the page of changes", async (t) => {
  await call("PUT", "per-user", "/pause", { key: "carol", expires_in: "1h", reason: "abuse" });
  const page = await opened(t, "/ui/changes");
  const cells = await page.locator("tbody tr").first().locator("td").allTextContents();
  assert.match(cells[0], new RegExp(`^${new Date().toISOString().slice(0, 4)}-\\d\\d-\\d\\d `));
  assert.equal(cells[2], "carol");
});

test("what is wrong is the first line, and has a colour", async (t) => {
  await call("PUT", "shop", "/pause", { expires_in: "1h", reason: "a look" });
  const page = await opened(t, list);
  // What all limiters together say is read from time to time.
  const isFirst = async () =>
    /^Now: 1 paused/.test(await page.locator("main > *").first().textContent());
  while (!(await isFirst())) await page.reload();
  assert.equal(await rowOf(page, "shop").getAttribute("data-mark"), "paused");
  assert.equal(await rowOf(page, "slow").getAttribute("data-mark"), "full");
  await call("DELETE", "shop", "/pause");
});

test("a key is looked up", async (t) => {
  const page = await opened(t, address("per-user"));
  assert.equal(
    await page.getByRole("heading", { name: /^Leases/ }).count(),
    0,
    "there is no state without a key",
  );
  await page.getByLabel("The state of the key").fill("alice");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Leases (0)" }).waitFor();
  await unfold(page, "Pause");
  await page.getByLabel("For").first().fill("5m");
  await page.getByLabel("Reason").first().fill("abuse");
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByText("no estimate for one key").waitFor();
  await page.getByRole("button", { name: "Pause now" }).click();
  await page.getByText(/Paused for/).waitFor();
  assert.match(page.url(), /key=alice/);
  assert.equal((await call("POST", "per-user", "/peek", { key: "nobody" })).allowed, true);
  assert.equal((await call("POST", "per-user", "/peek", { key: "alice" })).reason, "paused");
});

/** Waits until the effect is shown, and confirms by the keyboard: the button has the focus. */
async function confirm(page) {
  await page.getByRole("heading", { name: "Effect" }).waitFor();
  // The browser moves the focus there some time after it shows the page.
  await page.locator("button:focus", { hasText: /now$/ }).waitFor();
  await page.keyboard.press("Enter");
}

/** Opens a part of the bar of changes. */
const unfold = (page, title) => page.locator(".bar summary", { hasText: title }).click();

/** Moves on by the keyboard until an element is reached. */
async function tabTo(page, selector) {
  for (let i = 0; i < 100; i++) {
    await page.keyboard.press("Tab");
    if (await page.evaluate((selector) => document.activeElement.matches(selector), selector))
      return;
  }
  assert.fail(`not reached by the keyboard: ${selector}`);
}

test("all changes are made by the keyboard, with a reason, and are told", async (t) => {
  const page = await opened(t, address("api"));
  const change = async (part, fields, shown) => {
    await tabTo(page, `.bar details:nth-of-type(${part}) summary`);
    await page.keyboard.press("Enter");
    for (const [selector, text] of fields) {
      await tabTo(page, selector);
      await page.keyboard.type(text);
    }
    await page.keyboard.press("Enter");
    await confirm(page);
    await page.getByText(shown).first().waitFor();
  };
  await change(
    1,
    [
      ["#pause-for", "10m"],
      ["#pause-why", "the upstream is down"],
    ],
    /Paused for (9|10) min/,
  );
  assert.equal((await call("POST", "api", "/peek")).reason, "paused");
  await page.goto(origin + address("api"));
  await change(1, [["#resume-why", "it is up"]], /^Mode enforce\.$/);
  const override = [
    ["#override-limit", "50"],
    ["#override-for", "1h"],
    ["#override-why", "a sale"],
  ];
  await page.goto(origin + address("api"));
  await change(2, override, /Overrides for/);
  assert.equal((await call("POST", "api", "/peek")).limit, 50);
  await page.goto(origin + address("api"));
  await change(2, [["#restore-why", "it is over"]], /^Mode enforce\.$/);
  await page.goto(origin + address("api"));
  await change(
    3,
    [
      ["#shadow-for", "1h"],
      ["#shadow-why", "a trial"],
    ],
    /Mode shadow\./,
  );
  await page.goto(origin + address("api"));
  await tabTo(page, ".bar details:nth-of-type(4) summary");
  await page.keyboard.press("Enter");
  await tabTo(page, "#reset-why");
  await page.keyboard.type("a new start");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Space");
  await page.keyboard.press("Enter");
  await page.getByText(/^bucket: \d+ of 5 taken, then 0\.$/).waitFor();
  await confirm(page);
  await page.getByText(/^Mode enforce\.$/).waitFor();
  assert.equal((await call("POST", "api", "/peek")).remaining, 5);
  await page.goto(`${origin}/ui/changes`);
  const rows = await page
    .locator("tbody tr")
    .filter({ hasText: `${prefix}api` })
    .allTextContents();
  const what = ["reset", "mode shadow", "restore", "override", "resume", "pause"];
  assert.deepEqual(
    rows.map((row) => what.find((word) => row.includes(word))),
    what,
  );
  assert.ok(rows.at(-1).includes("the upstream is down"));
});

test("an override shows first what it would have done with the last hour", async (t) => {
  const page = await opened(t, address("busy"));
  await unfold(page, "Override");
  await page.getByLabel("Limit", { exact: true }).fill("20");
  await page.locator("#override-for").fill("1h");
  await page.locator("#override-why").fill("the upstream asks for less");
  await page.getByRole("button", { name: "Override", exact: true }).click();
  await page
    .getByText("With 20 instead of 100 about 40 of 60 such calls would be refused")
    .waitFor();
  await page.getByText("An estimate by the simulator from sums per minute").waitFor();
  assert.equal((await call("POST", "busy", "/peek")).limit, 100, "nothing is changed yet");
  await page.getByRole("link", { name: "Back, change nothing" }).click();
  await page.getByRole("region", { name: "Change" }).waitFor();
  assert.equal((await call("POST", "busy", "/peek")).limit, 100);
});

test("the effect of each change is told", async (t) => {
  const page = await opened(t, address("busy"), { javaScriptEnabled: false });
  const shows = async (form, fields, text) => {
    await page.goto(origin + address("busy"));
    await page.locator(`summary:has(+ * #${form}-why)`).click();
    for (const [selector, value] of fields) await page.locator(selector).fill(value);
    await page.locator(`#${form}-why`).fill("a look");
    await page.locator(`form:has(#${form}-why) button`).click();
    await page.getByText(text).waitFor();
  };
  await shows("pause", [["#pause-for", "2h"]], "Paused, 60 of 60 such calls");
  await shows("resume", [], "It is not paused now.");
  await shows("restore", [], "It has no override of a limit now.");
  await shows("shadow", [["#shadow-for", "1h"]], "In shadow all of them pass: about 0 of 60");
  const zero = [
    ["#override-limit", "0"],
    ["#override-for", "1h"],
  ];
  await shows("override", zero, "With 0 instead of 100 about 60 of 60");
  assert.equal((await call("GET", "busy", "")).paused_for, null);
});

test("the last hour is opened in the simulator, and by the terminal", async (t) => {
  const page = await opened(t, address("busy"));
  const { body } = await fetch(`${origin}${address("busy")}/scenario.json`).then(
    async (answer) => ({
      body: await answer.text(),
    }),
  );
  const simulated = spawnSync(command, ["simulate", "--scenario", "-", "--json"], { input: body });
  assert.equal(simulated.status, 0, String(simulated.stderr));
  assert.match(String(simulated.stdout), /"granted":\s*60/);
  await tabTo(page, "a[href^='/simulator/']");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Paddlegate simulator" }).waitFor();
  await page.getByRole("cell", { name: /^60\b/ }).first().waitFor();
  assert.equal(new URL(page.url()).origin, origin);
  await page.goto(origin + address("shop"));
  await page.getByRole("link", { name: "Open in the simulator" }).click();
  await page.locator("#status", { hasText: "Simulated." }).waitFor();
  assert.equal(await page.locator('[data-path="cost"]').inputValue(), "points=50");
});

test("the simulator is served from its folder and from nowhere else", async () => {
  const page = await fetch(`${origin}/simulator/`);
  assert.equal(page.status, 200);
  assert.match(page.headers.get("content-security-policy"), /script-src 'self' 'wasm-unsafe-eval'/);
  const list = await fetch(`${origin}/ui/limiters`);
  assert.doesNotMatch(list.headers.get("content-security-policy"), /wasm/);
  for (const path of ["..%2Findex.html", "%2e%2e/serve.mjs", "%2Fetc%2Fpasswd", "src", "src/"]) {
    assert.equal((await fetch(`${origin}/simulator/${path}`)).status, 404, path);
  }
});

test("a wrong change says what is wrong and changes nothing", async (t) => {
  const page = await opened(t, address("workers"));
  await unfold(page, "Pause");
  await page.locator("#pause-for").fill("soon");
  await page.locator("#pause-why").fill("a test");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").filter({ hasText: "Nothing was changed: expires_in" }).waitFor();
  assert.equal((await call("GET", "workers", "")).paused_for, null);
});

test("a form of elsewhere changes nothing", async () => {
  const url = `${origin}${address("workers")}/pause`;
  const body = "reason=x&expires_in=1h";
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  for (const [more, fields] of [
    [{}, ""],
    [{}, "&csrf="],
    [{}, "&csrf=guessed"],
  ]) {
    const sent = {
      method: "POST",
      headers: { ...headers, ...more },
      body: body + fields,
      redirect: "manual",
    };
    assert.equal((await fetch(url, sent)).status, 403);
  }
  const page = await (await fetch(origin + address("workers"))).text();
  const csrf = /name="csrf" value="([0-9a-f]{32})"/.exec(page)[1];
  const of = (name, value) => ({
    method: "POST",
    headers: { ...headers, [name]: value },
    body: `${body}&csrf=${csrf}`,
  });
  assert.equal((await fetch(url, of("origin", "http://evil.example"))).status, 403);
  assert.equal((await call("GET", "workers", "")).paused_for, null);
  assert.equal((await fetch(url, of("origin", origin))).status, 200, "the effect");
  assert.equal((await call("GET", "workers", "")).paused_for, null);
  const confirmed = { ...of("origin", origin), redirect: "manual" };
  confirmed.body += "&confirmed=yes";
  assert.equal((await fetch(url, confirmed)).status, 303, "its own form");
  await call("DELETE", "workers", "/pause");
});

test("a hostile name is a text", async (t) => {
  const page = await opened(t, list);
  await rowOf(page, HOSTILE).getByRole("link").click();
  await page.getByRole("heading", { level: 1 }).waitFor();
  assert.equal(await page.getByRole("heading", { level: 1 }).textContent(), prefix + HOSTILE);
  await page.goto(`${origin}/ui/limiters?prefix=${encodeURIComponent(HOSTILE)}`);
  assert.equal(await page.locator("#prefix").inputValue(), HOSTILE);
});

for (const colorScheme of ["light", "dark"]) {
  for (const viewport of [
    { width: 1400, height: 900 },
    { width: 320, height: 700 },
  ]) {
    test(`axe finds nothing: ${colorScheme}, ${viewport.width} wide`, async (t) => {
      const page = await opened(t, list, { colorScheme, viewport });
      const opening = page;
      const within = async (path, page = opening) => {
        await page.evaluate(() => {
          for (const part of document.querySelectorAll("details")) part.open = true;
        });
        const { violations } = await new Axe({ page }).withTags(TAGS).setLegacyMode().analyze();
        const found = violations.map(({ id, nodes }) => [
          id,
          nodes.slice(0, 3).map(({ html }) => html),
        ]);
        assert.deepEqual(found, [], path);
        const isWithin = await page.evaluate(
          () => document.documentElement.scrollWidth <= document.documentElement.clientWidth,
        );
        assert.ok(isWithin, `${path}: it scrolls sideways`);
      };
      for (const path of [
        list,
        address("workers"),
        address("per-user"),
        "/ui/changes",
        "/ui/limiters?prefix=nobody",
      ]) {
        await page.goto(origin + path);
        await within(path);
      }
      await page.goto(origin + address("busy"));
      await unfold(page, "Pause");
      await page.locator("#pause-for").fill("1h");
      await page.locator("#pause-why").fill("a look");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Effect" }).waitFor();
      await within("the effect");
      await call("POST", "workers", "/acquire", { id: "holder" }, sampled);
      await passed("workers", 60);
      const charts = await opened(t, address("workers"), { colorScheme, viewport }, sampled);
      await charts.locator("svg.chart .remaining").first().waitFor();
      await within("charts of samples", charts);
    });
  }
}
