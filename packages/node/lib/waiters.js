"use strict";

/** Those of this thread who wait at one place, and the channel on which they are told that their turn has come. */
class Waiters {
  /** What tickets name; empty while nobody listens. */
  channel = "";
  /** By the id of their calls, of which two limiters may have one in common. */
  #byId = new Map();

  get size() {
    return this.#byId.size;
  }

  add(waiter) {
    const others = this.#byId.get(waiter.id);
    if (others) others.add(waiter);
    else this.#byId.set(waiter.id, new Set([waiter]));
  }

  remove(waiter) {
    const others = this.#byId.get(waiter.id);
    if (others?.delete(waiter) && others.size === 0) this.#byId.delete(waiter.id);
  }

  /** Lets all look, and so find out that the store is closed. */
  close() {
    this.channel = "";
    for (const waiters of this.#byId.values()) {
      for (const waiter of waiters) waiter.wake(0);
    }
  }

  /** Hands messages to those they name. */
  tell(messages) {
    for (const { id, delayMs } of messages) {
      for (const waiter of this.#byId.get(id) ?? []) waiter.wake(delayMs);
    }
  }

  /** There is another channel, which the tickets of all must learn. */
  listen(channel) {
    this.channel = channel;
    for (const waiters of this.#byId.values()) {
      for (const waiter of waiters) waiter.wake(0);
    }
  }
}

module.exports = { Waiters };
