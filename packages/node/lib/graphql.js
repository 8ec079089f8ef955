"use strict";

const { callNative } = require("./call-native.js");
const native = require("./native.js");
const { optionalText, text } = require("./request.js");
const { only } = require("./shared/arguments.js");
const { variablesText } = require("./shared/response.js");

/** Returns the estimated cost of a query, in points of its provider. */
function graphqlCost(query, variables, options) {
  const { rules, operation } = only(["rules", "operation"], options);
  const given = [
    text("query", query),
    variablesText(variables),
    optionalText("rules", rules),
    optionalText("operation", operation),
  ];
  return callNative(() => native.graphqlCost(...given));
}

module.exports = { graphqlCost };
