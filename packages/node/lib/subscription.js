"use strict";

const { calling } = require("./errors.js");
const { clearTimeout, setTimeout } = require("./timers.js");
const { connect } = require("./socket.js");
const { Waiters } = require("./waiters.js");

/** The first pause before a connection that was lost is made again, and the longest. */
const PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;

/** After what silence the server is asked whether it is still there; nothing else is ever sent. */
const SILENCE_MS = 10_000;

/** Those who wait at one node of Redis, and the connection on which it tells them. */
class Subscription extends Waiters {
  #store;
  #place;
  #socket = null;
  /** Until the server must have confirmed, and until the next attempt. */
  #timer = null;
  #pauseMs = PAUSE_MS;

  constructor(store, place) {
    super();
    this.#store = store;
    this.#place = place;
  }

  /** Connects, unless it has or is about to. Neither this nor the pauses keep the process alive: who waits does. */
  open() {
    if (this.#socket !== null || this.#timer !== null) return;
    const subscription = calling(() => this.#store.subscribe(this.#place));
    const socket = connect(subscription.node(), this.#store.tls());
    const lost = () => this.#lost(socket);
    this.#socket = socket;
    this.#timer = setTimeout(lost, this.#store.timeoutMs()).unref();
    socket.on("data", (arrived) => {
      if (socket !== this.#socket) return;
      try {
        this.#received(subscription, arrived);
      } catch {
        lost();
      }
    });
    for (const end of ["error", "end", "close"]) socket.on(end, lost);
    socket.setKeepAlive(true, SILENCE_MS);
    socket.write(subscription.output());
  }

  close() {
    clearTimeout(this.#timer);
    this.#socket?.destroy();
    this.#socket = null;
    super.close();
  }

  #received(subscription, arrived) {
    const messages = subscription.receive(arrived);
    if (this.channel === "" && subscription.isReady()) {
      clearTimeout(this.#timer);
      this.#timer = null;
      this.#pauseMs = PAUSE_MS;
      this.listen(subscription.channel());
    }
    this.tell(messages);
  }

  #lost(socket) {
    if (socket !== this.#socket) return;
    socket.destroy();
    clearTimeout(this.#timer);
    this.#socket = null;
    this.channel = "";
    this.#timer = setTimeout(() => {
      this.#timer = null;
      if (this.size > 0) this.open();
    }, this.#pauseMs).unref();
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
  }
}

module.exports = { Subscription };
