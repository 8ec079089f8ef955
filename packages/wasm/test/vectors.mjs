// The shared vectors, and what the modules of this package replay of them.
import test from "node:test";
import { openStore, replay } from "../../node/test/replay.mjs";
import { vectors as allVectors } from "../../node/test/vectors.mjs";

export { waiting } from "../../node/test/vectors.mjs";
export { allVectors };

// The small module reads no answers of upstream APIs, knows no keys of callers, and has no time zones by name.
const ONLY_IN_FULL = new Set(["learn", "caller_key", "plain_key"]);
const isNamed = (zone) => /^[A-Z]/.test(zone ?? "UTC") && (zone ?? "UTC") !== "UTC";
const isSmall = ({ limits, limiters, steps }) => {
  const all = [...(limits ?? []), ...(limiters ?? []).flatMap((limiter) => limiter.limits)];
  const isOfFull = steps?.some((step) => ONLY_IN_FULL.has(step.do));
  return !isOfFull && !all.some((limit) => isNamed(limit.timezone));
};

export const vectors = allVectors.map((file) => ({ ...file, cases: file.cases.filter(isSmall) }));

/** A test that takes long, or judges the time of a machine. */
export const isSoak = process.env.PADDLEGATE_SOAK === "1";
export const soak = isSoak ? test : () => {};

/** What a further module of the same core replays: of each file the first case, in `make soak` all. */
export const share = (files) =>
  isSoak ? files : files.map((file) => ({ ...file, cases: file.cases.slice(0, 1) }));

/** Replays a case in a store of its own. */
export const replayCase = (paddlegate, file, index) =>
  replay(openStore(paddlegate, "wasm"), file, index);

/** Replays the cases of one file in one store, where names could collide. */
export async function replayTogether(paddlegate, file) {
  const store = openStore(paddlegate, "wasm");
  for (const index of file.cases.keys()) await replay(store, file, index);
}
