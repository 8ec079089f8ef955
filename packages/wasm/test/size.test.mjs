// The README says how large the modules are.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

const file = (path) => readFileSync(new URL(`../${path}`, import.meta.url));
const kilobytes = (path) => gzipSync(file(path), { level: 9 }).length / 1000;

test("the README says how large the modules are", () => {
  const said = (pattern) => Number(pattern.exec(String(file("README.md")))?.[1]);
  for (const [pattern, path] of [
    [/It has (\d+) kB gzipped/, "dist/full/bundler/paddlegate_bg.wasm"],
    [/module has (\d+) kB/, "dist/bundler/paddlegate_bg.wasm"],
    [/about (\d+) kB gzipped/, "dist/bundler/paddlegate_bg.wasm"],
  ]) {
    // Programs compress a little differently.
    const ratio = said(pattern) / kilobytes(path);
    assert.ok(Math.abs(ratio - 1) < 0.03, `${pattern} and ${kilobytes(path)} kB of ${path}`);
  }
});

test("each module is in the package once", () => {
  const files = readdirSync(new URL("../dist", import.meta.url), { recursive: true });
  const modules = files.filter((path) => path.endsWith(".wasm")).sort();
  assert.deepEqual(modules, ["bundler/paddlegate_bg.wasm", "full/bundler/paddlegate_bg.wasm"]);
});
