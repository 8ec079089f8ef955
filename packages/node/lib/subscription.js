"use strict";

const { callNative } = require("./call-native.js");
const { reconnectPauseMs } = require("./native.js");
const { clearTimeout, setTimeout } = require("./timers.js");
const { connect } = require("./socket.js");
const { Waiters } = require("./shared/waiters.js");

/** The idle time before TCP keep-alive probes; after the subscription nothing else is sent. */
const SILENCE_MS = 10_000;

/** The waiters of one Redis node and the connection for their wake-ups. */
class Subscription extends Waiters {
  #store;
  #node;
  #socket = null;
  /** The timer for the server's confirmation, or for the next attempt to connect. */
  #timer = null;
  /** The number of lost connections and failed attempts since the channel was opened. */
  #failures = 0;

  constructor(store, node) {
    super();
    this.#store = store;
    this.#node = node;
  }

  /**
   * Connects, unless it is connected or about to connect. Neither the socket nor the pauses keep the process alive; the
   * timers of the waiters do.
   */
  open() {
    if (this.#socket !== null || this.#timer !== null) return;
    const subscription = callNative(() => this.#store.subscribe(this.#node));
    let current = null;
    this.#timer = setTimeout(() => this.#lost(current), this.#store.timeoutMs()).unref();
    connect(
      this.#store,
      subscription.node(),
      (socket, isServer) => {
        this.#socket = current = socket;
        if (isServer) this.#attend(socket, subscription);
      },
      () => this.#lost(current),
    );
  }

  #attend(socket, subscription) {
    const lost = () => this.#lost(socket);
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
      this.#failures = 0;
      this.channelOpened(subscription.channel());
    }
    this.deliver(messages);
  }

  #lost(socket) {
    if (socket !== this.#socket) return;
    socket?.destroy();
    clearTimeout(this.#timer);
    this.#socket = null;
    this.channel = "";
    this.#timer = setTimeout(() => {
      this.#timer = null;
      if (this.size > 0) this.open();
    }, reconnectPauseMs(this.#failures)).unref();
    this.#failures += 1;
  }
}

module.exports = { Subscription };
