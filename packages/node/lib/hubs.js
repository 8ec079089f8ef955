"use strict";

const { slots, OPERATION } = require("./shared-buffer.js");
const { Opcode } = require("./native.js");
const { InvalidError } = require("./shared/errors.js");
const { Subscription } = require("./subscription.js");
const { Waiters } = require("./shared/waiters.js");

/** The waiters of one store, and whether it is open. */
class Hub {
  #isClosing = false;
  #isClosed = false;

  /** Throws once the store is being closed; for a call that gives something back, once it is closed. */
  checkOpen(givesBack = false) {
    if (givesBack ? this.#isClosed : this.#isClosing) {
      throw new InvalidError("store", "is closed; open another one");
    }
  }

  /** Ends all waits, which give back their tickets. */
  close() {
    this.#isClosing = true;
  }

  /** Ends all other calls too. */
  closed() {
    this.#isClosed = true;
  }
}

/** The subscriptions of one store on Redis: one for each node that sends wake-ups, created for its first waiter. */
class RedisHub extends Hub {
  #store;
  #byNode = new Map();

  constructor(store) {
    super();
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

  close() {
    super.close();
    for (const subscription of this.#byNode.values()) subscription.close();
    this.#byNode.clear();
  }

  /** Does nothing: the sockets deliver wake-ups. */
  deliver() {}

  #notificationNode(run) {
    slots[OPERATION] = Opcode.NotificationNode;
    run();
    return this.#store.text(0);
  }
}

/** The waiters of one memory store. Every call delivers the wake-ups that it has caused. */
class MemoryHub extends Hub {
  #store;
  #waiters = new Waiters();

  constructor(store) {
    super();
    this.#store = store;
  }

  existing() {
    return this.#waiters.channel === "" ? undefined : this.#waiters;
  }

  open(run) {
    this.checkOpen();
    if (this.#waiters.channel === "") {
      slots[OPERATION] = Opcode.Listen;
      // Without a channel the waiters retry at the time of their decision.
      if (run() === 0) this.#waiters.channel = this.#store.text(0);
    }
    return this.#waiters;
  }

  close() {
    super.close();
    this.#waiters.close();
  }

  /** Wakes all waiters, because the store is another one, which does not know its channel. */
  forget() {
    this.#waiters.close();
  }

  /** Delivers the wake-ups of the last call. */
  deliver() {
    if (this.#waiters.size > 0) this.#waiters.deliver(this.#store.hints());
  }
}

module.exports = { RedisHub, MemoryHub };
