"use strict";

const { finish } = require("./multi-step.js");
const { callNative } = require("./call-native.js");
const { text } = require("./request.js");
const { gateDecision } = require("./shared/answers.js");
const { abortSignal, noOption, object } = require("./shared/arguments.js");
const { OverLimitError } = require("./shared/errors.js");
const { optionsAndBody } = require("./shared/within-limit.js");
const { sleep } = require("./waiting.js");

/** Selects the slot of a document that limits a request, and counts the request there. */
class Gate {
  #parts;
  #gate;

  constructor(parts, gate) {
    this.#parts = parts;
    this.#gate = gate;
  }

  async admit(facts) {
    const { signal, ...known } = read(facts);
    const steps = callNative(() => this.#gate.start(known));
    return finish(this.#parts, steps, signal, () => gateDecision(steps.gateDecision()));
  }

  async withinLimit(facts, fn) {
    const [given, body] = optionsAndBody(facts, fn);
    const decision = await this.admit(given);
    if (decision.delayMs > 0) await sleep(decision.delayMs, given?.signal ?? undefined);
    if (!decision.allowed) throw new OverLimitError(decision.slot, decision);
    return body(decision);
  }
}

const FACTS = ["context", "url", "logOnCode", "dataContainerId", "ip"];

/** Converts the attributes of a request to the form that the addon takes. */
function read(facts) {
  const known = {};
  for (const name in object(facts)) {
    const value = facts[name];
    if (value === undefined || value === null) continue;
    if (name === "signal") known.signal = abortSignal(value);
    else if (FACTS.includes(name)) known[name] = text(name, value);
    else throw noOption(name, [...FACTS, "signal"]);
  }
  known.signal?.throwIfAborted();
  return known;
}

module.exports = { Gate };
