// The answers that all languages share, byte for byte.
import test from "node:test";
import * as paddlegate from "paddlegate-wasm";
import { replay, replayTogether } from "./replay.mjs";
import { vectors } from "./vectors.mjs";

for (const file of vectors) {
  file.cases.forEach((testCase, index) => {
    test(`${file.name}: ${testCase.title}`, () => replay(paddlegate, file, index));
  });
}

test("names do not collide within one store", () => {
  replayTogether(
    paddlegate,
    vectors.find((file) => file.name === "names"),
  );
});
