"use strict";

const errors = require("./lib/errors.js");
const { graphqlCost } = require("./lib/graphql.js");
const { kinds } = require("./lib/limits.js");
const { Paddlegate } = require("./lib/paddlegate.js");
const { SKIPPED } = require("./lib/skipped.js");
const { StreamUsage } = require("./lib/stream-usage.js");
const { TestClock } = require("./lib/test-clock.js");

exports.Paddlegate = Paddlegate;
exports.StreamUsage = StreamUsage;
exports.TestClock = TestClock;
exports.bucket = kinds.bucket;
exports.window = kinds.window;
exports.leaky = kinds.leaky;
exports.points = kinds.points;
exports.throttle = kinds.throttle;
exports.concurrency = kinds.concurrency;
exports.quota = kinds.quota;
exports.SKIPPED = SKIPPED;
exports.graphqlCost = graphqlCost;
exports.PaddlegateError = errors.PaddlegateError;
exports.OverLimitError = errors.OverLimitError;
exports.InvalidError = errors.InvalidError;
exports.UnavailableError = errors.UnavailableError;
exports.DataError = errors.DataError;
exports.InternalError = errors.InternalError;
