"use strict";

const { slots, OPERATION, NOTIFICATION_NODE, LISTEN } = require("./shared-buffer.js");
const { InvalidError } = require("./errors.js");
const { Subscription } = require("./subscription.js");
const { Waiters } = require("./waiters.js");

/** The subscriptions of one store on Redis: one for each node that sends wake-ups, created for its first waiter. */
class RedisHub {
  #store;
  #byNode = new Map();
  #isClosed = false;

  constructor(store) {
    this.#store = store;
  }

  /**
   * Returns the subscription for a limiter's wake-ups, if there is one. `run` is the addon's function of the limiter.
   */
  existing(run) {
    return this.#byNode.size > 0 ? this.#byNode.get(this.#notificationNode(run)) : undefined;
  }

  /**
   * Returns the subscription for a limiter's wake-ups; creates and connects it if needed. Undefined for a limiter without a
   * state, which has none.
   */
  open(run) {
    this.checkOpen();
    const node = this.#notificationNode(run);
    if (node === "") return undefined;
    let subscription = this.#byNode.get(node);
    if (subscription === undefined) {
      subscription = new Subscription(this.#store, node);
      this.#byNode.set(node, subscription);
    }
    subscription.open();
    return subscription;
  }

  /** Throws once the store is being closed. */
  checkOpen() {
    if (this.#isClosed) throw new InvalidError("store", "is closed; open another one");
  }

  /** Ends all waits and closes the connections for wake-ups. */
  close() {
    this.#isClosed = true;
    for (const subscription of this.#byNode.values()) subscription.close();
    this.#byNode.clear();
  }

  /** Does nothing: the sockets deliver wake-ups. */
  deliver() {}

  #notificationNode(run) {
    slots[OPERATION] = NOTIFICATION_NODE;
    run();
    return this.#store.text(0);
  }
}

/** The waiters of one memory store. Every call delivers the wake-ups that it has caused. */
class MemoryHub {
  #store;
  #waiters = new Waiters();

  constructor(store) {
    this.#store = store;
  }

  existing() {
    return this.#waiters.channel === "" ? undefined : this.#waiters;
  }

  open(run) {
    if (this.#waiters.channel === "") {
      slots[OPERATION] = LISTEN;
      // Without a channel the waiters retry at the time of their decision.
      if (run() === 0) this.#waiters.channel = this.#store.text(0);
    }
    return this.#waiters;
  }

  /** A memory store cannot be closed. */
  checkOpen() {}
  close() {}

  /** Delivers the wake-ups of the last call. */
  deliver() {
    if (this.#waiters.size > 0) this.#waiters.deliver(this.#store.hints());
  }
}

module.exports = { RedisHub, MemoryHub };
