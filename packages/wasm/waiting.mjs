// Calls that wait: their timers, their wake-ups and their signals.
// The build converts this file to dist/waiting.cjs for CommonJS: keep the one `export` at the start of its line.

// The waiting calls of one store, and the channel for their wake-ups.
class WaiterHub {
  channel = "";
  #messages;
  #sleepers = new Set();

  add(id, limiter) {
    if (this.#messages === undefined) {
      this.#messages = limiter.listen();
      this.channel = this.#messages?.name ?? "";
    }
    const sleeper = new Sleeper(id);
    this.#sleepers.add(sleeper);
    return sleeper;
  }

  remove(sleeper) {
    this.#sleepers.delete(sleeper);
    sleeper.stop();
  }

  deliver() {
    if (this.#sleepers.size === 0 || this.#messages === undefined) return;
    for (const message of this.#messages.receive()) {
      const space = message.indexOf(" ");
      const at = performance.now() + message.slice(0, space) / 1000;
      const id = message.slice(space + 1);
      for (const sleeper of this.#sleepers) if (sleeper.id === id) sleeper.wake(at, this.channel);
    }
  }
}

// One call that sleeps until a time, or until an earlier wake-up.
class Sleeper {
  // The WebAssembly object with the rules of the call, once it is queued.
  waiter;
  #timer;
  #resume;

  constructor(id) {
    this.id = id;
  }

  sleep(until) {
    return new Promise((resolve) => {
      this.#resume = resolve;
      this.#set(until);
    });
  }

  wake(at, channel) {
    this.waiter?.onWakeup(at);
    if (this.#resume) this.#set(this.waiter.retryAt(channel));
  }

  stop() {
    clearTimeout(this.#timer);
  }

  #set(until) {
    this.stop();
    const ms = until - performance.now();
    const resume = () => {
      this.#resume?.();
      this.#resume = undefined;
    };
    // Timers count whole milliseconds from a time that may lie before now; with one more they never end early.
    // Less than a microsecond is no time: the waiter rounds, so that a wake-up for now may lie ahead.
    if (ms >= 0.001) this.#timer = setTimeout(resume, Math.min(Math.floor(ms) + 1, 2 ** 31 - 1));
    else resume();
  }
}

// Follows the promise; rejects with the reason of `signal` if it is aborted first.
function abortable(promise, signal) {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const stop = () => reject(signal.reason);
    const unsubscribe = onAbort(signal, stop);
    promise.then(resolve).finally(unsubscribe);
  });
}

// Node warns of a leak when a signal has more than ten listeners, so all calls with one signal share a listener.
const stopsBySignal = new WeakMap();

// Calls `stop` when `signal` is aborted. Returns a function that removes `stop`.
function onAbort(signal, stop) {
  let stops = stopsBySignal.get(signal);
  if (stops === undefined) {
    const all = new Set();
    const aborted = () => {
      for (const stop of all) stop();
    };
    signal.addEventListener("abort", aborted, { once: true });
    stops = { all, aborted };
    stopsBySignal.set(signal, stops);
  }
  stops.all.add(stop);
  return () => {
    stops.all.delete(stop);
    if (stops.all.size > 0 || stopsBySignal.get(signal) !== stops) return;
    stopsBySignal.delete(signal);
    signal.removeEventListener("abort", stops.aborted);
  };
}

export { abortable, WaiterHub };
