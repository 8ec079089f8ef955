"use strict";

const { calling } = require("./errors.js");
const { abortable } = require("./waiting.js");

/**
 * Carries what takes several operations to its end, and gives what `read` makes of it. The addon hears of every answer
 * itself. One that is aborted goes on to its end, though nobody waits for it.
 */
function finish(parts, course, signal, read) {
  const finished = carry(parts, course, read);
  return signal ? abortable(finished, signal) : finished;
}

async function carry({ redis, hub }, course, read) {
  hub.checkOpen();
  for (let ticket = course.next(); ticket !== 0; ticket = course.next()) {
    await redis.carry(ticket, nothing);
  }
  hub.deliver();
  return calling(() => read(course));
}

const nothing = () => undefined;

module.exports = { finish };
