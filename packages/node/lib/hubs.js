"use strict";

const { area, OPERATION, WHERE, LISTEN } = require("./area.js");
const { InvalidError } = require("./errors.js");
const { Subscription } = require("./subscription.js");
const { Waiters } = require("./waiters.js");

/** Where the waiters of one store hear of their turn; one for each node of Redis, made when somebody waits there. */
class Subscriptions {
  #store;
  #byPlace = new Map();
  #isClosed = false;

  constructor(store) {
    this.#store = store;
  }

  /** Where the waiters of a limiter are told, if one of this store has waited before. `run` is the limiter's function. */
  known(run) {
    return this.#byPlace.size > 0 ? this.#byPlace.get(this.#place(run)) : undefined;
  }

  /** The same, made when there is none. */
  open(run) {
    this.checkOpen();
    const place = this.#place(run);
    let subscription = this.#byPlace.get(place);
    if (subscription === undefined) {
      subscription = new Subscription(this.#store, place);
      this.#byPlace.set(place, subscription);
    }
    subscription.open();
    return subscription;
  }

  /** Fails once the store is being closed. */
  checkOpen() {
    if (this.#isClosed) throw new InvalidError("store", "is closed; open another one");
  }

  /** Ends all waits, and the connections on which they were told. */
  close() {
    this.#isClosed = true;
    for (const subscription of this.#byPlace.values()) subscription.close();
    this.#byPlace.clear();
  }

  /** Messages come by themselves. */
  deliver() {}

  #place(run) {
    area[OPERATION] = WHERE;
    run();
    return this.#store.text(0);
  }
}

/** The same in memory, where whoever calls takes the messages along. */
class Inbox {
  #store;
  #waiters = new Waiters();

  constructor(store) {
    this.#store = store;
  }

  known() {
    return this.#waiters.channel === "" ? undefined : this.#waiters;
  }

  open(run) {
    if (this.#waiters.channel === "") {
      area[OPERATION] = LISTEN;
      // Without a channel they look by themselves.
      if (run() === 0) this.#waiters.channel = this.#store.text(0);
    }
    return this.#waiters;
  }

  /** Memory stays as long as somebody holds it. */
  checkOpen() {}
  close() {}

  /** Hands over what the last call has sent. */
  deliver() {
    if (this.#waiters.size > 0) this.#waiters.tell(this.#store.hints());
  }
}

module.exports = { Subscriptions, Inbox };
