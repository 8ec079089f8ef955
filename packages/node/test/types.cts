// Checked by the compiler, never run.
import paddlegate = require("paddlegate");

const pg: paddlegate.Paddlegate = new paddlegate.Paddlegate();
const allowed: Promise<boolean> = pg.window("x", 1, "minute").allow({ cost: 1 });
const isOver = (error: unknown): error is paddlegate.OverLimitError =>
  error instanceof paddlegate.OverLimitError;
// @ts-expect-error not a function
paddlegate();

export = { allowed, isOver };
