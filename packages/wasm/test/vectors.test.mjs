// The answers that all languages share, byte for byte.
import test from "node:test";
import * as small from "paddlegate-wasm";
import * as paddlegate from "paddlegate-wasm/full";
import { allVectors, replayCase, replayTogether, share, vectors } from "./vectors.mjs";

for (const file of allVectors) {
  file.cases.forEach((testCase, index) => {
    test(`${file.name}: ${testCase.title}`, () => replayCase(paddlegate, file, index));
  });
}

test("the smaller module answers the same", async () => {
  for (const file of share(vectors)) {
    for (const index of file.cases.keys()) await replayCase(small, file, index);
  }
});

test("names do not collide within one store", async () => {
  await replayTogether(
    paddlegate,
    allVectors.find((file) => file.name === "names"),
  );
});
