// The package in a real browser without a bundler: the shared vectors, the README's page, and how fast it simulates.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import test from "node:test";
import { share, soak, vectors } from "./vectors.mjs";

const root = new URL("../", import.meta.url);
const types = { ".mjs": "text/javascript", ".js": "text/javascript", ".wasm": "application/wasm" };
const readme = readFileSync(new URL("README.md", root), "utf8");
const pages = {
  "/readme": `<body>${readme.match(/^```html\n(.*?)^```/ms)[1]}
    <script type="module">
      while (!/\\w \\w/.test(document.body.innerText)) await new Promise((resolve) => setTimeout(resolve, 20));
      await fetch("/report/readme", { method: "POST", body: document.body.innerText });
    </script>`,
  "/vectors": `<script type="module">
      import * as paddlegate from "./node_modules/paddlegate-wasm/web.mjs";
      import { openStore, replay } from "./replay.mjs";
      const report = { replayed: 0, failures: [] };
      try {
        await paddlegate.default();
        for (const file of await (await fetch("/vectors.json")).json()) {
          for (const index of file.cases.keys()) {
            report.replayed += 1;
            try {
              await replay(openStore(paddlegate, "wasm"), file, index);
            } catch (error) { report.failures.push(String(error)); }
          }
        }
      } catch (error) { report.failures.push(String(error)); }
      await fetch("/report/vectors", { method: "POST", body: JSON.stringify(report) });
    </script>`,
  "/simulations": `<script type="module">
      import init, { Simulation } from "./node_modules/paddlegate-wasm/full/web.mjs";
      await init();
      // Decisions, and seconds from the scenario to its end.
      const measured = (kind, keep) => {
        const began = performance.now();
        const made = new Simulation({
          policies: [{ limits: [{ kind, limit: 1000, interval: "10s" }] }],
          arrivals: { kind: "poisson", count: 500_000, per: "1000s", for: "1000s" },
        });
        const simulation = keep ? made : made.withoutTimeline();
        simulation.run();
        const seconds = (performance.now() - began) / 1000;
        const { decisions } = simulation.totals();
        simulation.free();
        return { decisions, seconds };
      };
      const kinds = ["leaky", "window", "bucket"];
      const attempts = Array.from({ length: 5 }, () => kinds.map((kind) => measured(kind, false)));
      const kept = kinds.map((kind) => measured(kind, true));
      await fetch("/report/simulations", { method: "POST", body: JSON.stringify({ kinds, attempts, kept }) });
    </script>`,
};

/** By its path, the Content Security Policy of a page that reports whether the module could be loaded. */
const policies = {
  "/strict": "script-src 'self' 'nonce-page'",
  "/allowing": "script-src 'self' 'nonce-page' 'wasm-unsafe-eval'",
};
for (const path of Object.keys(policies)) {
  pages[path] = `<script type="module" nonce="page">
      import init, { Paddlegate } from "./node_modules/paddlegate-wasm/web.mjs";
      const loaded = init().then(() => new Paddlegate().window("x", 3, 60).allow());
      const body = await loaded.then(String, (error) => error.name);
      await fetch("/report${path}", { method: "POST", body });
    </script>`;
}

/** What the pages at these paths post to /report, in frames of one page. */
async function reported(t, ...paths) {
  const reports = new Map();
  const frames = paths.map((path) => `<iframe src="${path}"></iframe>`).join("");
  const server = createServer((request, response) => {
    if (request.url.startsWith("/report/")) {
      reports.set(request.url.slice("/report".length), request.setEncoding("utf8").toArray());
      response.end();
    } else if (request.url === "/frames") {
      response.setHeader("content-type", "text/html").end(`<!doctype html>${frames}`);
    } else {
      serve(request.url, response);
    }
  });
  t.after(() => server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");

  const profile = mkdtempSync(join(tmpdir(), "paddlegate-"));
  const origin = `http://127.0.0.1:${server.address().port}`;
  const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"];
  flags.push("--disable-background-networking", "--disable-component-update", "--disable-quic");
  const browser = spawn("chromium", [...flags, `--user-data-dir=${profile}`, `${origin}/frames`], {
    detached: true, // a group of its own, to end with all its processes
    stdio: "ignore",
  });
  const ended = once(browser, "exit");
  t.after(async () => {
    process.kill(-browser.pid, "SIGKILL");
    await ended;
    await rm(profile, { recursive: true, maxRetries: 20, retryDelay: 50 });
  });
  // Simulations take ten seconds, more on a machine that is busy.
  for (let waited = 0; reports.size < paths.length && waited < 60_000; waited += 50) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.deepEqual([...reports.keys()].sort(), [...paths].sort(), "reported within a minute");
  return Promise.all(paths.map(async (path) => (await reports.get(path)).join("")));
}

function serve(path, response) {
  const file = path
    .replace(/^\/node_modules\/paddlegate-wasm\//, "")
    .replace(/^\/replay.mjs$/, "../node/test/replay.mjs");
  if (path in pages) {
    if (path in policies) response.setHeader("content-security-policy", policies[path]);
    response.setHeader("content-type", "text/html").end(`<!doctype html>${pages[path]}`);
  } else if (path === "/vectors.json") {
    response.end(JSON.stringify(share(vectors)));
  } else if (file !== path && existsSync(new URL(file, root))) {
    response.setHeader("content-type", types[extname(file)]).end(readFileSync(new URL(file, root)));
  } else {
    response.writeHead(404).end();
  }
}

test("Chromium answers as the vectors say, shows the README's page, and needs a policy that allows it", async (t) => {
  const paths = ["/vectors", "/readme", ...Object.keys(policies)];
  const [answers, shown, strict, allowing] = await reported(t, ...paths);
  const { replayed, failures } = JSON.parse(answers);
  assert.deepEqual(failures, []);
  assert.equal(
    replayed,
    share(vectors).reduce((sum, file) => sum + file.cases.length, 0),
  );
  assert.equal(shown.trim(), "true true true false");
  assert.deepEqual([strict, allowing], ["CompileError", "true"]);
});

soak("Chromium simulates a million decisions a second", async (t) => {
  const { kinds, attempts, kept } = JSON.parse((await reported(t, "/simulations"))[0]);
  const rate = (runs) => {
    const sum = (name) => runs.reduce((total, run) => total + run[name], 0);
    return sum("decisions") / sum("seconds");
  };
  const shown = (rate) => `${(rate / 1e6).toFixed(2)} M/s`;
  for (const [index, kind] of kinds.entries()) {
    const best = Math.max(...attempts.slice(0, 3).map((runs) => rate([runs[index]])));
    t.diagnostic(`${kind}: ${shown(best)}, with a timeline ${shown(rate([kept[index]]))}`);
    assert.ok(attempts.every((runs) => runs[index].decisions > 490_000));
  }
  const best = Math.max(...attempts.map(rate));
  t.diagnostic(`all kinds: ${shown(best)}, with a timeline ${shown(rate(kept))}`);
  assert.ok(best >= 1e6, shown(best));
});
