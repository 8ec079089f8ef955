"use strict";

const { Guard, callerOf } = require("./lib/guard.js");
const { lifeOf } = require("./lib/life.js");

function rateLimit(limiter, options) {
  const guard = new Guard(limiter, options, callerOf);
  return async (req, res, next) => {
    let turn;
    try {
      turn = await guard.enter(req, lifeOf(res), res);
    } catch (error) {
      return next(error);
    }
    const { permit, headers, answer } = turn;
    if (answer !== undefined) return send(res, answer);
    if (permit !== undefined) req.permit = permit;
    for (const name in headers) res.setHeader(name, headers[name]);
    return next();
  };
}

function send(res, { status, headers, body }) {
  if (body === undefined || res.headersSent) return;
  res.statusCode = status;
  for (const name in headers) res.setHeader(name, headers[name]);
  res.end(body);
}

module.exports = { rateLimit };
