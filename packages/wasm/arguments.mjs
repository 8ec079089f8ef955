// Converts arguments to the form that WebAssembly takes.
import { checkByLabel } from "./dist/shared/arguments.mjs";
import { InvalidError, NAMES, withPublicNames } from "./dist/shared/errors.mjs";

// The public names of the arguments of the current WebAssembly call.
let names = NAMES;
const withNames = (others, call) => {
  names = others;
  try {
    return call();
  } finally {
    names = NAMES;
  }
};

// Returns the error for an argument of the current WebAssembly call.
const invalid = (message, argument) =>
  new InvalidError(names[argument] ?? argument, withPublicNames(message, names));

// Returns the units of labels as a list of labels and units alternately, and a number as it is. The units of a limiter's
// labels are such a list in the list.
function units(argument, cost) {
  if (typeof cost !== "object" || cost === null) return cost;
  checkByLabel(argument, cost);
  return Object.entries(cost).flatMap(([key, of]) => [key, units(argument, of)]);
}

// The cost and the estimate of a request.
const request = ({ cost, estimate, settleWithinMs }) => [
  units("cost", cost),
  units("estimate", estimate),
  settleWithinMs,
];

// The place of a call in the queue, and whether its decision has each limit; undefined without them, as most calls are.
const place = ({ priority, share, weight }, limits = false) =>
  (priority ?? share ?? weight) === undefined && !limits
    ? undefined
    : [priority, share, weight, limits];

const nativeLimits = (list) => list.map(({ kind, numbers, label }) => [kind, numbers, label]);

// Returns the milliseconds since 1970 of a Date; a number is returned as it is.
const date = (value) => (value instanceof Date ? value.getTime() : value);

export { date, invalid, nativeLimits, place, request, units, withNames };
