// Compiled only: the types for `require`.
import paddlegate = require("paddlegate-wasm");
import full = require("paddlegate-wasm/full");

const decision: paddlegate.Decision = new paddlegate.Paddlegate().window("x", 1, 60).tryAcquire();
decision.remaining satisfies number | null;
const learned: full.Learned = new full.Paddlegate()
  .window("x", 1, 60)
  .learnFromResponse({ status: 429 });
learned.ignored satisfies readonly string[];
full.limitersFromDocument("{}").format satisfies string;
