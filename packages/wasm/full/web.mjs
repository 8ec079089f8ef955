// The entry for browsers without a bundler, workers and edge runtimes. Await `init()` first.
import bind from "../bind.mjs";
import load, * as module from "../dist/full/web/paddlegate.js";
import more from "./more.mjs";

// `source`: a URL, a Response, a WebAssembly.Module or bytes. Default: the file next to the module.
export default async function init(source) {
  await load(source === undefined ? undefined : { module_or_path: source });
}

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
