import paddlegate from "./index.js";

export const {
  Paddlegate,
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
  PaddlegateError,
  OverLimitError,
  InvalidError,
  UnavailableError,
  DataError,
  InternalError,
} = paddlegate;
