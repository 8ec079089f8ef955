"use strict";

const { callNative } = require("./call-native.js");
const { abortable } = require("./shared/waiting.js");

/**
 * Runs a procedure of several operations to its end and returns what `read` makes of its outcome. The addon itself
 * receives the result of each operation. After an abort the remaining operations still run.
 */
function finish(parts, steps, signal, read) {
  const finished = runSteps(parts, steps, read);
  return signal ? abortable(finished, signal) : finished;
}

async function runSteps({ redis, hub }, steps, read) {
  hub.checkOpen();
  for (let ticket = steps.next(); ticket !== 0; ticket = steps.next()) {
    await redis.send(ticket, nothing);
  }
  hub.deliver();
  return callNative(() => read(steps));
}

const nothing = () => undefined;

module.exports = { finish };
