"use strict";

/** Reads HTTP responses and documents. */

const { InvalidError } = require("./errors.js");
const { BodyUsage } = require("./stream-usage.js");

/** Returns status, headers and body of a response as the core reads them. */
function responseParts(response) {
  if (typeof response !== "object" || response === null) {
    throw new InvalidError("response", "must be an object such as { status, headers, body }");
  }
  // Responses of Node's own client have `statusCode`.
  const status = response.status ?? response.statusCode;
  return { status, headers: pairs(response.headers), body: bodyText(response.body) };
}

/**
 * Returns names and values alternately, from `Headers`, a `Map`, a list of pairs or a plain object. A value may be a
 * list.
 */
function pairs(headers) {
  if (headers === undefined || headers === null) return [];
  if (typeof headers !== "object") throw new InvalidError("headers", NO_HEADERS);
  const isIterable = typeof headers[Symbol.iterator] === "function";
  const flat = [];
  for (const pair of isIterable ? headers : Object.entries(headers)) {
    if (!Array.isArray(pair) || pair.length !== 2) throw new InvalidError("headers", NO_HEADERS);
    const [name, values] = pair;
    for (const value of Array.isArray(values) ? values : [values]) {
      if (value !== undefined && value !== null) flat.push(String(name), String(value));
    }
  }
  return flat;
}

const NO_HEADERS = "must be Headers, an object, a Map or a list of pairs of a name and a value";

/** Returns the text of a body; empty for a stream, which cannot be read here. */
function bodyText(body) {
  if (body === undefined || body === null) return "";
  if (body instanceof BodyUsage) return body.body;
  if (ArrayBuffer.isView(body) || body instanceof ArrayBuffer) {
    return new TextDecoder().decode(body);
  }
  const isStream = typeof body.getReader === "function" || typeof body.pipe === "function";
  return isStream ? "" : jsonText("body", body);
}

/** Returns a text as it is, and an object as JSON. */
function jsonText(argument, value) {
  if (typeof value === "string") return value;
  if (typeof value === "object" && value !== null) {
    try {
      const text = JSON.stringify(value);
      if (text !== undefined) return text;
    } catch {
      // The value has a circular reference or a bigint.
    }
  }
  throw new InvalidError(argument, `must be a text or an object that JSON can hold: ${argument}`);
}

/** Returns the variables of a query as JSON; an empty text if there are none. */
function variablesText(variables) {
  return (variables ?? null) === null ? "" : jsonText("variables", variables);
}

module.exports = { responseParts, jsonText, variablesText };
