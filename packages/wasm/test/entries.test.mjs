// The package as each platform loads it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import test from "node:test";
import * as paddlegate from "paddlegate-wasm";
import * as web from "paddlegate-wasm/web";
import { replayCase, share, vectors } from "./vectors.mjs";

const require = createRequire(import.meta.url);
const root = new URL("../", import.meta.url);
const read = (path) => readFileSync(new URL(path, root), "utf8");
const declared = [
  ...(read("index.d.ts") + read("types.d.ts")).matchAll(
    /^export (?:abstract class|class|const|function) (\w+)/gm,
  ),
].map(([, name]) => name);

test("what is declared is there, and no others", () => {
  const sorted = [...declared].sort();
  assert.deepEqual(Object.keys(paddlegate).sort(), sorted);
  assert.deepEqual(Object.keys(require("paddlegate-wasm")).sort(), sorted);
  assert.deepEqual(Object.keys(web).sort(), [...sorted, "default"].sort());
});

test("import and require share one instance", () => {
  assert.equal(require("paddlegate-wasm").Paddlegate, paddlegate.Paddlegate);
});

test("the module for the web answers as the vectors say, started from bytes", async () => {
  await web.default(readFileSync(new URL("dist/bundler/paddlegate_bg.wasm", root)));
  for (const file of share(vectors)) {
    for (const index of file.cases.keys()) await replayCase(web, file, index);
  }
});

test("the module for bundlers loads as WebAssembly modules do", () => {
  const code = `
    import * as paddlegate from "./bundler.mjs";
    const decision = new paddlegate.Paddlegate().points("shop", 1000, 20).tryAcquire({ estimate: 200 });
    console.log(Object.keys(paddlegate).length, decision.remaining);`;
  const flags = ["--experimental-wasm-modules", "--no-warnings", "--input-type=module", "--eval"];
  const printed = execFileSync(process.execPath, [...flags, code], { cwd: root, encoding: "utf8" });
  assert.equal(printed.trim(), `${declared.length} 800`);
});

test("the version is the one of all packages", () => {
  const [, version] = read("../../Cargo.toml").match(/^version = "(.+)"$/m);
  assert.equal(JSON.parse(read("package.json")).version, version);
});
