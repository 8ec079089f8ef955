// As a user would: the packed tarball, installed into an empty folder. Of every change `make test-readme` installs it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { soak } from "./vectors.mjs";

const root = fileURLToPath(new URL("../", import.meta.url));
const use = `
  const shop = new Paddlegate("memory://", { clock: new TestClock() }).points("shop", 1000, 20);
  const { permit } = shop.tryAcquire({ estimate: 200 });
  console.log(shop.correct(permit, 50), shop.peek({ cost: 0 }).remaining);`;

soak("npm pack, npm install, import and require", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "paddlegate-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const run = (command, ...args) =>
    execFileSync(command, args, { cwd: folder, encoding: "utf8" }).trim();

  const [packed] = JSON.parse(run("npm", "pack", "--json", root));
  run("npm", "init", "--yes");
  run("npm", "install", "--offline", "--no-audit", "--no-fund", `./${packed.filename}`);

  const node = (type, code) => run(process.execPath, `--input-type=${type}`, "--eval", code);
  assert.equal(
    node("module", `import { Paddlegate, TestClock } from "paddlegate-wasm";${use}`),
    "settled 950",
  );
  assert.equal(
    node("commonjs", `const { Paddlegate, TestClock } = require("paddlegate-wasm");${use}`),
    "settled 950",
  );
  const cost =
    'console.log(graphqlCost("{ a { b } }"), new Paddlegate().window("a", 1, 1).learnFromResponse({}).ignored[0]);';
  assert.equal(
    node("module", `import { graphqlCost, Paddlegate } from "paddlegate-wasm/full";${cost}`),
    "1 not a rate limit answer",
  );
  assert.equal(
    node("commonjs", `const { graphqlCost, Paddlegate } = require("paddlegate-wasm/full");${cost}`),
    "1 not a rate limit answer",
  );
  assert.equal(
    packed.files.some(({ path }) => path.startsWith("test")),
    false,
  );
});
