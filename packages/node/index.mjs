import paddlegate from "./index.js";

export const {
  Paddlegate,
  StreamUsage,
  TestClock,
  bucket,
  window,
  leaky,
  points,
  throttle,
  concurrency,
  quota,
  SKIPPED,
  graphqlCost,
  callerKey,
  plainKey,
  PaddlegateError,
  OverLimitError,
  InvalidError,
  UnavailableError,
  DataError,
  InternalError,
} = paddlegate;
