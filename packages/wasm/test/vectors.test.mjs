// The answers that all languages share, byte for byte.
import test from "node:test";
import * as small from "paddlegate-wasm";
import * as paddlegate from "paddlegate-wasm/full";
import { replay, replayTogether } from "./replay.mjs";
import { allVectors, share, vectors } from "./vectors.mjs";

for (const file of allVectors) {
  file.cases.forEach((testCase, index) => {
    test(`${file.name}: ${testCase.title}`, () => replay(paddlegate, file, index));
  });
}

test("the smaller module answers the same", () => {
  for (const file of share(vectors)) {
    file.cases.forEach((_, index) => {
      replay(small, file, index);
    });
  }
});

test("names do not collide within one store", () => {
  replayTogether(
    paddlegate,
    allVectors.find((file) => file.name === "names"),
  );
});
