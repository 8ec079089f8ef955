// The entry for bundlers that load WebAssembly as a module.
import bind from "./bind.mjs";
import * as module from "./dist/bundler/paddlegate.js";

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
} = bind(module);
