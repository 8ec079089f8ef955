// The shared vector files, as Node reads them.
import { readdirSync, readFileSync } from "node:fs";

const folder = new URL("../../../tests/vectors/", import.meta.url);

const read = (name) => JSON.parse(readFileSync(new URL(name, folder), "utf8"));

// The rules of a waiting call are no calls of a limiter.
export const waiting = read("waiting.json");

export const allVectors = readdirSync(folder)
  .filter((name) => name.endsWith(".json") && name !== "waiting.json")
  .map(read);

// The small module reads no answers of upstream APIs.
const isSmall = ({ steps }) => !steps?.some((step) => step.do === "learn");

export const vectors = allVectors.map((file) => ({ ...file, cases: file.cases.filter(isSmall) }));
