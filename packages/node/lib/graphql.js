"use strict";

const { calling } = require("./errors.js");
const native = require("./native.js");
const { json } = require("./commands.js");
const { only, text } = require("./request.js");

/** What a query is likely to cost, in points of its provider. */
function graphqlCost(query, variables, options) {
  const { rules, operation } = only(["rules", "operation"], options);
  const given = [
    text("query", query),
    written(variables),
    optional("rules", rules),
    optional("operation", operation),
  ];
  return calling(() => native.graphqlCost(...given));
}

/** Variables as JSON; none are the empty text. */
function written(variables) {
  if (variables === undefined || variables === null) return "";
  return typeof variables === "string" ? variables : json("variables", variables);
}

const optional = (argument, value) =>
  value === undefined || value === null ? undefined : text(argument, value);

module.exports = { graphqlCost };
