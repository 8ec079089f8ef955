"use strict";

const errors = require("./lib/shared/errors.js");
const { graphqlCost } = require("./lib/graphql.js");
const { Paddlegate } = require("./lib/paddlegate.js");
const { constructors } = require("./lib/shared/limits.js");
const { SKIPPED } = require("./lib/shared/within-limit.js");
const { StreamUsage } = require("./lib/stream-usage.js");
const { TestClock } = require("./lib/test-clock.js");

exports.Paddlegate = Paddlegate;
exports.StreamUsage = StreamUsage;
exports.TestClock = TestClock;
exports.bucket = constructors.bucket;
exports.window = constructors.window;
exports.leaky = constructors.leaky;
exports.points = constructors.points;
exports.throttle = constructors.throttle;
exports.concurrency = constructors.concurrency;
exports.quota = constructors.quota;
exports.SKIPPED = SKIPPED;
exports.graphqlCost = graphqlCost;
exports.PaddlegateError = errors.PaddlegateError;
exports.OverLimitError = errors.OverLimitError;
exports.InvalidError = errors.InvalidError;
exports.UnavailableError = errors.UnavailableError;
exports.DataError = errors.DataError;
exports.InternalError = errors.InternalError;
