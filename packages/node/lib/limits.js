"use strict";

const { numeric, optionalText, span, text } = require("./request.js");
const { limitList } = require("./shared/limits.js");

/** Converts a limit to the form that the addon takes, which checks the numbers. */
function limitSpec({ kind, numbers, label }) {
  const isThrottleOfOne = kind === "throttle" && numbers.length < 2;
  const [amount, interval, third, starts] = isThrottleOfOne ? [1, ...numbers] : numbers;
  const made = { label, kind: String(kind), amount: numeric(amount) };
  if (kind === "quota") {
    made.per = text("per", interval);
    made.timezone = optionalText("timezone", third);
    made.starts = optionalText("starts", starts);
    return made;
  }
  made.interval = kind === "concurrency" ? optionalSpan(interval) : span(interval);
  if (kind === "leaky" || kind === "points") made.refund = optionalText("refund", third);
  else made.offset = optionalSpan(third);
  return made;
}

const optionalSpan = (value) => (value === undefined || value === null ? undefined : span(value));

const limitSpecs = (limits) => limitList(limits).map(limitSpec);

module.exports = { limitSpec, limitSpecs, optionalSpan };
