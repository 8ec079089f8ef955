// One instance for both `import` and `require`.
import paddlegate from "./node.cjs";

export const {
  Paddlegate,
  TestClock,
  SKIPPED,
  window,
  bucket,
  leaky,
  points,
  throttle,
  concurrency,
  quota,
  PaddlegateError,
  OverLimitError,
  InvalidError,
  UnavailableError,
  DataError,
  InternalError,
  Simulation,
  StreamUsage,
  graphqlCost,
  callerKey,
  plainKey,
  limitersFromDocument,
} = paddlegate;
