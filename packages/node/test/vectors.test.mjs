// Replays the files that all languages share through the public API; `waiter.test.mjs` replays that about waiting.
import test from "node:test";
import * as paddlegate from "../index.mjs";
import { openStore, replay } from "./replay.mjs";
import { required, unique } from "./support.mjs";
import { vectors } from "./vectors.mjs";

const stores = { memory: "memory://", redis: required("PADDLEGATE_TEST_URL") };

for (const [name, url] of Object.entries(stores)) {
  for (const file of vectors) {
    test(`${file.name} in ${name}`, async (t) => {
      const store = openStore(paddlegate, "node", url, { timeoutMs: 10_000 });
      const prefix = unique(file.name);
      for (const [index, { title }] of file.cases.entries()) {
        await t.test(title, () => replay(store, file, index, prefix));
      }
    });
  }
}
