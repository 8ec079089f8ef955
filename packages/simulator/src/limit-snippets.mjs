// The limits of a policy as code: numbers, and values with labels.
import { KINDS } from "./scenario.mjs";
import { seconds } from "./span.mjs";

export const hasLabel = ({ kind, label }) => label !== kind;

/** Whether a correction of a limit gives back less than the whole difference. */
export const isUndrained = ({ refund }) => refund === "undrained";

/** Whether the code names the kind of a limit: it has a label of its own, or options with names. */
export const isNamed = (limit) => hasLabel(limit) || limit.kind === "quota" || isUndrained(limit);

/** Whether a limit is a throttle of several starts per interval. */
export const isRate = ({ kind, limit }) => kind === "throttle" && limit > 1;

export const text = (value) =>
  JSON.stringify(value).replaceAll("#", "\\u0023").replaceAll("\u2028", "\\u2028");

/** Returns limit, interval and offset as far as the kind has them, with durations in seconds. */
export function numbersOf({ kind, limit, interval, offset }, unit = seconds) {
  if (KINDS[kind].interval === null) return [];
  const isOneStart = kind === "throttle" && limit === 1;
  const numbers = isOneStart ? [unit(interval)] : [String(limit), unit(interval)];
  return offset > 0 ? [...numbers, unit(offset)] : numbers;
}

/** The numbers of a limit as one value, as in `window: [100, 60]`. */
function plainOf(limit, [open, close]) {
  const numbers = numbersOf(limit);
  return numbers.length === 1 ? numbers[0] : `${open}${numbers.join(", ")}${close}`;
}

/** The arguments of a limit that names its kind; `option` formats one that is not positional. */
function argumentsOf(limit, option, milliseconds = seconds) {
  const { kind, offset, interval } = limit;
  if (kind === "quota") return quotaOf(limit, (name, value) => option([name], value));
  const numbers = numbersOf({ ...limit, offset: 0 });
  if (kind === "concurrency")
    return [numbers[0], option(["lock_timeout", "lockTimeoutMs"], milliseconds(interval))];
  if (isRate(limit)) return [numbers[1], option(["limit"], numbers[0])];
  if (isUndrained(limit)) return [...numbers, option(["refund"], text(limit.refund))];
  return offset > 0 ? [...numbers, option(["offset"], seconds(offset))] : numbers;
}

/** The arguments of a quota; `option` formats its time zone and its start, where it has them. */
function quotaOf({ limit, per, timezone, starts }, option, word = text) {
  const options = Object.entries({ timezone, starts }).filter(([, value]) => value !== undefined);
  return [String(limit), word(per), ...options.map(([name, value]) => option(name, text(value)))];
}

/** Returns the code of a limit: its numbers, or a value that names the kind if its label is of its own. */
const limitOf = (limit, plain, named) => (isNamed(limit) ? named(limit) : plain(limit));

export const kindsWithLabels = ({ limits }) => [
  ...new Set(limits.filter(isNamed).map((one) => one.kind)),
];

export const capital = (word) => word[0].toUpperCase() + word.slice(1);

/** Keyword arguments, or a dict if a label cannot be one. */
export function pythonLimits(limits) {
  const option = ([name], value) => `${name}=${value}`;
  const named = (limit) => `${capital(limit.kind)}(${argumentsOf(limit, option).join(", ")})`;
  const code = (limit) => limitOf(limit, (one) => plainOf(one, "()"), named);
  const isKeyword = ({ label }) => /^[a-z][a-z0-9_]*$/.test(label) && !RESERVED.has(label);
  if (limits.every(isKeyword))
    return limits.map((limit) => `${limit.label}=${code(limit)}`).join(", ");
  return `{${limits.map((limit) => `${text(limit.label)}: ${code(limit)}`).join(", ")}}`;
}

// The words of Python and the options of limiters, in Python and in Ruby.
export const RESERVED = new Set(
  (
    "and as assert async await break class continue def del elif else except finally for from global if import in is " +
    "lambda nonlocal not or pass raise return try while with yield self name limits wait_timeout lock_timeout on_limit " +
    "ttl group keyed statistics mode block_after aging on_unavailable local_share_percent"
  ).split(" "),
);

export function nodeLimits(limits) {
  const option = (names, value) => `{ ${names.at(-1)}: ${value} }`;
  const quota = (limit) => {
    const [amount, per, ...options] = quotaOf(limit, (name, value) => `${name}: ${value}`);
    return [amount, per, ...(options.length > 0 ? [`{ ${options.join(", ")} }`] : [])];
  };
  const argumentsIn = (limit) =>
    limit.kind === "quota" ? quota(limit) : argumentsOf(limit, option, (length) => length / 1000);
  const named = (limit) => `${limit.kind}(${argumentsIn(limit).join(", ")})`;
  const plain = (limit) => (limit.kind === "paused" ? "true" : plainOf(limit, "[]"));
  const code = (limit) => limitOf(limit, plain, named);
  const key = (label) => (/^[a-z][a-z0-9_]*$/.test(label) ? label : text(label));
  return `{ ${limits.map((limit) => `${key(limit.label)}: ${code(limit)}`).join(", ")} }`;
}

/** Keyword arguments, or a hash if a label is that of an option. */
export function rubyLimits(limits) {
  const option = ([name], value) => (name === "offset" ? value : `${name}: ${value}`);
  const named = (limit) =>
    `Paddlegate::Limit.${limit.kind}(${argumentsOf(limit, option).join(", ")})`;
  const code = (limit) => limitOf(limit, (one) => plainOf(one, "[]"), named);
  const key = (label) => (/^[a-z][a-z0-9_]*$/.test(label) ? label : text(label));
  const list = limits.map((limit) => `${key(limit.label)}: ${code(limit)}`).join(", ");
  return limits.some(({ label }) => RESERVED.has(label)) ? `{ ${list} }` : list;
}
