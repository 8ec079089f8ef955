"use strict";

const { callNative } = require("./errors.js");
const native = require("./native.js");
const { json } = require("./commands.js");
const { only, text } = require("./request.js");

/** Returns the estimated cost of a query, in points of its provider. */
function graphqlCost(query, variables, options) {
  const { rules, operation } = only(["rules", "operation"], options);
  const given = [
    text("query", query),
    written(variables),
    optional("rules", rules),
    optional("operation", operation),
  ];
  return callNative(() => native.graphqlCost(...given));
}

/** Returns the variables as JSON; an empty text if there are none. */
function written(variables) {
  if (variables === undefined || variables === null) return "";
  return typeof variables === "string" ? variables : json("variables", variables);
}

const optional = (argument, value) =>
  value === undefined || value === null ? undefined : text(argument, value);

module.exports = { graphqlCost };
