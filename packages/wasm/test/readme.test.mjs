// What the README's examples print. Of every change `make test-readme` runs them.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import test from "node:test";
import { soak } from "./vectors.mjs";

const root = new URL("../", import.meta.url);
const readme = readFileSync(new URL("README.md", root), "utf8");
const examples = [...readme.matchAll(/^```js\n(.*?)^```/gms)].map(([, code]) => code);

test("the README has its examples", () => assert.equal(examples.length, 11));

for (const [index, code] of examples.entries()) {
  soak(`README, example ${index + 1}`, () => {
    const arguments_ = ["--input-type=module", "--eval", code];
    const printed = execFileSync(process.execPath, arguments_, { cwd: root, encoding: "utf8" });
    const promised = code.match(/^console\.log\(.+\); \/\/ ([\w,]+)/m)?.[1] ?? "";
    assert.equal(printed.trim(), promised);
  });
}
