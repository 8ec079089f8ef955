"use strict";

/** The waiters of this thread at one node, and the channel for their wake-ups. */
class Waiters {
  /** The channel that tickets name; empty while there is no connection for wake-ups. */
  channel = "";
  /** The waiters by the id of their call; calls of two limiters may have the same id. */
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

  /** Wakes all waiters; their next attempt finds the store closed. */
  close() {
    this.channel = "";
    for (const waiters of this.#byId.values()) {
      for (const waiter of waiters) waiter.wake(0);
    }
  }

  /** Delivers wake-ups to their waiters. */
  deliver(messages) {
    for (const { id, delayMs } of messages) {
      for (const waiter of this.#byId.get(id) ?? []) waiter.wake(delayMs);
    }
  }

  /** Sets a new channel and wakes all waiters, since their tickets must name it. */
  channelOpened(channel) {
    this.channel = channel;
    for (const waiters of this.#byId.values()) {
      for (const waiter of waiters) waiter.wake(0);
    }
  }
}

module.exports = { Waiters };
