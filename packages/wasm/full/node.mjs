// One instance for both `import` and `require`.
import paddlegate from "./node.cjs";

export const {
  Paddlegate,
  TestClock,
  SKIPPED,
  PaddlegateError,
  OverLimitError,
  InvalidError,
  UnavailableError,
  DataError,
  InternalError,
  Simulation,
  graphqlCost,
  limitersFromDocument,
} = paddlegate;
