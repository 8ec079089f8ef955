"use strict";

const { Guard, callerOf } = require("./lib/guard.js");
const { WebLife, lifeOf } = require("./lib/life.js");

/** Returns the caller, where the server is one of Node, which hands its own request and response on. */
const callerIn = (env) => (env?.incoming?.socket ? callerOf(env.incoming) : undefined);

function rateLimit(limiter, options) {
  const guard = new Guard(limiter, options, (c) => callerIn(c.env));
  return async (c, next) => {
    const run = async (permit) => {
      if (permit !== undefined) c.set("permit", permit);
      await next();
      return c.res;
    };
    const { answer, response } = await passed(guard, c, c.req.raw, c.env, run);
    if (answer !== undefined) return answer;
    if (response !== c.res) {
      c.res = undefined;
      c.res = response;
    }
  };
}

function limitHandler(limiter, handler, options) {
  const envs = new WeakMap();
  const guard = new Guard(limiter, options, (request) => callerIn(envs.get(request)));
  return async (request, ...rest) => {
    envs.set(request, rest[0]);
    const run = (permit) => {
      if (permit !== undefined) request.permit = permit;
      return handler(request, ...rest);
    };
    const { answer, response } = await passed(guard, request, request, rest[0], run);
    return answer ?? response;
  };
}

/** Runs a handler within the limit. Resolves with its `response`, or with the `answer` in its place. */
async function passed(guard, host, request, env, run) {
  const ofNode = typeof env?.outgoing?.once === "function";
  const life = ofNode ? lifeOf(env.outgoing) : new WebLife(request);
  const { permit, headers, answer } = await guard.enter(host, life);
  if (answer !== undefined) {
    const { status, body } = answer;
    if (typeof body === "object") return { answer: withFields(body, answer.headers) };
    return { answer: new Response(body, { status, headers: answer.headers }) };
  }
  try {
    const response = withFields(await run(permit), headers);
    return { response: ofNode ? response : life.follow(response, permit) };
  } catch (error) {
    if (!ofNode) life.end();
    throw error;
  }
}

/** Returns the response with the fields that it has not; a copy, if it is one whose fields cannot be changed. */
function withFields(response, headers) {
  try {
    for (const name in headers) {
      if (!response.headers.has(name)) response.headers.set(name, headers[name]);
    }
    return response;
  } catch {
    return withFields(new Response(response.body, response), headers);
  }
}

module.exports = { rateLimit, limitHandler };
