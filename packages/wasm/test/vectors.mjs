// The shared vector files, as Node reads them.
import { readdirSync, readFileSync } from "node:fs";
import test from "node:test";

const folder = new URL("../../../tests/vectors/", import.meta.url);

const read = (name) => JSON.parse(readFileSync(new URL(name, folder), "utf8"));

// The rules of a waiting call are no calls of a limiter.
export const waiting = read("waiting.json");

export const allVectors = readdirSync(folder)
  .filter((name) => name.endsWith(".json") && name !== "waiting.json")
  .map(read)
  // How long a ticket is kept beyond its claim timeout is no option: `admit` has it.
  .map((file) => ({
    ...file,
    cases: file.cases.filter(({ steps }) => !steps?.some((step) => "keep_us" in step)),
  }));

// The small module reads no answers of upstream APIs, and has no time zones by name.
const isNamed = (zone) => /^[A-Z]/.test(zone ?? "UTC") && (zone ?? "UTC") !== "UTC";
const isSmall = ({ limits, limiters, steps }) => {
  const all = [...(limits ?? []), ...(limiters ?? []).flatMap((limiter) => limiter.limits)];
  const learns = steps?.some((step) => step.do === "learn");
  return !learns && !all.some((limit) => isNamed(limit.timezone));
};

export const vectors = allVectors.map((file) => ({ ...file, cases: file.cases.filter(isSmall) }));

/** A test that takes long, or judges the time of a machine. */
export const isSoak = process.env.PADDLEGATE_SOAK === "1";
export const soak = isSoak ? test : () => {};

/** What a further module of the same core replays: of each file the first case, in `make soak` all. */
export const share = (files) =>
  isSoak ? files : files.map((file) => ({ ...file, cases: file.cases.slice(0, 1) }));
