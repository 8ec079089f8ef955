// For bundlers that load WebAssembly as a module.
import bind from "../bind.mjs";
import * as module from "../dist/full/bundler/paddlegate.js";
import more from "./more.mjs";

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
} = bind(module, more);
