// The shared vector files, as packages/node and packages/wasm replay them.
import { readdirSync, readFileSync } from "node:fs";

const folder = new URL("../../../tests/vectors/", import.meta.url);

const read = (name) => JSON.parse(readFileSync(new URL(name, folder), "utf8"));

// The rules of a waiting call are no calls of a limiter.
export const waiting = read("waiting.json");

export const vectors = readdirSync(folder)
  .filter((name) => name.endsWith(".json") && name !== "waiting.json")
  .map(read)
  // How long a ticket is kept beyond its claim timeout is no option: `admit` has it.
  .map((file) => ({
    ...file,
    cases: file.cases.filter(({ steps }) => !steps?.some((step) => "keep_us" in step)),
  }));
