"use strict";

const { finish } = require("./course.js");
const { InvalidError, OverLimitError, calling } = require("./errors.js");
const { abortSignal, numeric, object, text } = require("./request.js");
const { sleep } = require("./waiting.js");

/** Chooses which slot of a document limits a request, and counts it. */
class Gate {
  #parts;
  #gate;

  constructor(parts, gate) {
    this.#parts = parts;
    this.#gate = gate;
  }

  async admit(facts) {
    const { signal, ...known } = read(facts);
    const course = calling(() => this.#gate.start(known));
    return finish(this.#parts, course, signal, verdict);
  }

  async withinLimit(facts, fn) {
    const body = typeof facts === "function" ? facts : fn;
    if (typeof body !== "function") {
      throw new InvalidError("fn", "must be the function to call within the limit");
    }
    const given = facts === body ? undefined : facts;
    const verdict = await this.admit(given);
    if (verdict.delayMs > 0) await sleep(verdict.delayMs, given?.signal ?? undefined);
    if (!verdict.allowed) throw new OverLimitError(verdict.slot, verdict);
    return body(verdict);
  }
}

/** By the user's names: what the core calls it. */
const FACTS = {
  context: "context",
  url: "url",
  logOnCode: "log_on_code",
  dataContainerId: "data_container_id",
  ip: "ip",
};

/** The facts as the addon takes them. */
function read(facts) {
  const known = {};
  for (const name in object(facts)) {
    const value = facts[name];
    if (value === undefined || value === null) continue;
    if (name === "signal") known.signal = abortSignal(value);
    else if (name === "atUs") known.atUs = numeric(value);
    else if (Object.hasOwn(FACTS, name)) known[name] = text(FACTS[name], value);
    else {
      const names = [...Object.keys(FACTS), "signal and atUs"].join(", ");
      throw new InvalidError(name, `is no fact here; there are ${names}`);
    }
  }
  known.signal?.throwIfAborted();
  return known;
}

function verdict(course) {
  const { allowed, delayMs, slot, level, retryAfterMs, reason } = course.verdict();
  return Object.freeze({
    allowed,
    delayMs,
    slot: slot ?? null,
    level: level ?? null,
    retryAfterMs: retryAfterMs ?? null,
    reason: reason ?? null,
  });
}

module.exports = { Gate };
