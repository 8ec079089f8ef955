import { execFileSync } from "node:child_process";
import test from "node:test";
import { root } from "./support.mjs";

test("the types hold for import and require", () => {
  execFileSync("../../node_modules/.bin/tsc", ["--noEmit", "--project", "."], {
    cwd: root,
    stdio: "inherit",
  });
});
