import paddlegate from "./index.js";

export const {
  Paddlegate,
  SKIPPED,
  graphqlCost,
  PaddlegateError,
  OverLimitError,
  InvalidError,
  UnavailableError,
  DataError,
  InternalError,
} = paddlegate;
