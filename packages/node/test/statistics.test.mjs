// What a process counts itself is sent when it ends.
import assert from "node:assert/strict";
import test from "node:test";
import { Paddlegate } from "../index.mjs";
import { entry, required, run, unique } from "./support.mjs";

const url = required("PADDLEGATE_TEST_URL");

const ends = {
  "the end of the program": "await burst();",
  exit: "await burst(); process.exit(0);",
  "a closed store": "await burst(); await pg.close(); process.exit(0);",
  "a thread": `
    const { Worker } = await import("node:worker_threads");
    const worker = new Worker(program + "; await burst();", { eval: true });
    await new Promise((resolve) => worker.on("exit", resolve));
  `,
};

for (const [what, end] of Object.entries(ends)) {
  test(`all is counted at ${what}`, async () => {
    const name = unique();
    const program = `
      const { Paddlegate } = await import(${JSON.stringify(entry)});
      const pg = new Paddlegate(${JSON.stringify(url)}, { timeoutMs: 20_000 });
      const api = pg.bucket(${JSON.stringify(name)}, 3, "day");
      const burst = async () => {
        for (let i = 0; i < 5; i++) await api.allow();
      };`;
    const thread = what === "a thread" ? `const program = ${JSON.stringify(program)};` : program;
    await run(`${thread}\n${end}`);
    const stats = await new Paddlegate(url, { timeoutMs: 20_000 }).bucket(name, 3, "day").stats();
    assert.deepEqual([stats.granted, stats.refused, stats.units], [3, 2, 3]);
  });
}
