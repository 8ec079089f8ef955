// A clock that runs as fast as the program does, in whole milliseconds. Import it before the package is loaded, which keeps
// the timers that it finds.
import { createRequire } from "node:module";

const timers = createRequire(import.meta.url)("node:timers");
const { setImmediate } = timers;
const due = [];
let now = 1_700_000_000_000;

/** Milliseconds since 1970. */
export const time = () => now;

/** Calls `then` after `ms` milliseconds. */
export function after(ms, then) {
  const timer = { at: now + Math.max(0, Math.ceil(ms)), then };
  timer.ref = timer.unref = () => timer;
  due.push(timer);
  return timer;
}

timers.setTimeout = (then, ms) => after(ms, then);
timers.clearTimeout = (timer) => {
  const index = due.indexOf(timer);
  if (index >= 0) due.splice(index, 1);
};
Date.now = time;
performance.now = time;

/** Lets time pass from timer to timer until this is true; `moved` is told each time before its timer. */
export async function passes(isOver, moved) {
  for (;;) {
    // What has begun without a timer ends first.
    await new Promise((resolve) => setImmediate(resolve));
    if (isOver()) return;
    const next = due.reduce((first, timer) => (timer.at < first.at ? timer : first));
    timers.clearTimeout(next);
    now = next.at;
    moved(now);
    next.then();
  }
}
