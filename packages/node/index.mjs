import paddlegate from "./index.js";

export const {
  Paddlegate,
  TestClock,
  SKIPPED,
  graphqlCost,
  PaddlegateError,
  OverLimitError,
  InvalidError,
  UnavailableError,
  DataError,
  InternalError,
} = paddlegate;
