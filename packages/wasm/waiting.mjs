// The calls of a store that wait.

import { Waiters } from "./dist/shared/waiters.mjs";
import { Alarm } from "./dist/shared/waiting.mjs";

// The timers that the runtime has at each call, so that tests can replace them.
const timers = {
  setTimeout: (then, ms) => setTimeout(then, ms),
  clearTimeout: (timer) => clearTimeout(timer),
  now: () => performance.now(),
};

// The waiting calls of one store, and their wake-ups.
class WaiterHub {
  #messages;
  #waiters = new Waiters();

  // The channel that tickets name.
  get channel() {
    return this.#waiters.channel;
  }

  add(sleeper, limiter) {
    if (this.#messages === undefined) {
      this.#messages = limiter.listen();
      this.#waiters.channel = this.#messages?.name ?? "";
    }
    this.#waiters.add(sleeper);
  }

  remove(sleeper) {
    this.#waiters.remove(sleeper);
    sleeper.stop();
  }

  deliver() {
    if (this.#waiters.size === 0 || this.#messages === undefined) return;
    this.#waiters.deliver(
      this.#messages.receive().map((message) => {
        const space = message.indexOf(" ");
        return { delayMs: message.slice(0, space) / 1000, id: message.slice(space + 1) };
      }),
    );
  }
}

// One call that sleeps until the time of its next attempt.
class Sleeper {
  // The WebAssembly object with the rules of the call, once it is queued.
  waiter;
  #alarm = new Alarm(timers);

  constructor(id) {
    this.id = id;
  }

  sleep(channel) {
    return this.#alarm.sleepUntil(() => this.waiter.retryAt(channel));
  }

  wake(delayMs) {
    this.waiter?.onWakeup(timers.now() + delayMs);
    this.#alarm.moved();
  }

  stop() {
    this.#alarm.stop();
  }
}

export { Sleeper, WaiterHub };
