// A cost as code in each language: a number, or a list of labels and numbers.
import { text } from "./limit-snippets.mjs";

/** Returns the highest cost of a scenario for a policy with these labels; 1 if none of its labels is named. */
export function highest(cost, labels) {
  const most = (range) => (Array.isArray(range) ? range[1] : range);
  if (typeof cost !== "object" || Array.isArray(cost)) return most(cost) ?? 1;
  const own = Object.entries(cost).filter(([label]) => labels.includes(label));
  return own.length > 0 ? own.map(([label, range]) => [label, most(range)]) : 1;
}

const written = (cost, one, open, close) =>
  Array.isArray(cost) ? `${open}${cost.map(one).join(", ")}${close}` : String(cost);

const isName = (label) => /^\w+$/.test(label);
const member = ([label, units]) => `${isName(label) ? label : text(label)}: ${units}`;

export const python = (cost) =>
  written(cost, ([label, units]) => `${text(label)}: ${units}`, "{", "}");

/** Also for Ruby. */
export const node = (cost) => written(cost, member, "{ ", " }");

/** `grouped` writes a number. */
export const rust = (cost, grouped) =>
  Array.isArray(cost)
    ? written(cost, ([label, units]) => `(${text(label)}, ${grouped(units)})`, "&[", "]")
    : grouped(cost);

const cList = (cost) =>
  written(
    cost,
    ([label, units]) => `{.label = ${text(label)}, .units = ${units}}`,
    "(const pg_units[]){",
    "}",
  );

/** Returns the members of a `pg_request`; `name` is `cost` or `estimate`. */
export const cRequest = (name, cost) =>
  Array.isArray(cost)
    ? `.${name}_by_label = ${cList(cost)}, .${name}_count = ${cost.length}`
    : `.${name} = ${cost}`;

/** Returns the three arguments of an actual cost. */
export const cActual = (cost) =>
  Array.isArray(cost) ? `0, ${cList(cost)}, ${cost.length}` : `${cost}, NULL, 0`;
