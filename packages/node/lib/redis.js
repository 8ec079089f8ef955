"use strict";

const { slots, LINK, ROWS, ROW, FAILED, UNFINISHED } = require("./shared-buffer.js");
const { failure } = require("./call-native.js");
const { Link } = require("./link.js");
const { now, setImmediate, setTimeout } = require("./timers.js");

/** Sends the calls of one store over sockets of this event loop and ends each by its deadline. */
class Redis {
  #store;
  #timeoutMs;
  #links = new Map();
  /** The pending calls by ticket, oldest first. */
  #calls = new Map();
  /** The timer for the deadline of the oldest call. Only this keeps the process alive, and only during calls. */
  #timer = null;
  /** Called at the end of the last call, once `close` was called. */
  #closed = null;

  constructor(store) {
    this.#store = store;
    this.#timeoutMs = store.timeoutMs();
  }

  /** Sends the call that the addon has just started. `read` converts its row to the answer. */
  send(ticket, read) {
    return new Promise((resolve, reject) => {
      const call = { ticket, read, resolve, reject, link: null, began: now() };
      this.#calls.set(ticket, call);
      if (this.#timer === null) this.#watch(this.#timeoutMs);
      else if (this.#calls.size === 1) this.#timer.ref();
      this.#submit(call, slots[LINK]);
      call.link.flushBatch();
    });
  }

  /** Closes the connections after the last call. An ending call may start another one to return its grant. */
  async close() {
    await new Promise((resolve) => {
      this.#closed = () => setImmediate(() => this.#calls.size === 0 && resolve());
      if (this.#calls.size === 0) this.#closed();
    });
    for (const link of this.#links.values()) link.close("the store was closed");
  }

  /** Processes the rows that the addon has written for a connection. */
  finished(rows) {
    for (let row = ROWS; row < ROWS + rows * ROW; row += ROW) {
      const call = this.#calls.get(slots[row]);
      switch (slots[row + 1]) {
        case FAILED:
          this.#fail(call);
          break;
        case UNFINISHED:
          this.#proceed(call);
          break;
        default:
          this.#end(call).resolve(call.read(row, call.ticket, this.#store));
      }
    }
  }

  /** Fails the calls of a connection that ended after calls were sent on it: they may have counted. */
  lost(link, why, cause) {
    this.#links.delete(link.id);
    for (const ticket of this.#store.fail(link.id, why)) {
      this.#fail(this.#calls.get(ticket), cause);
    }
  }

  /** Continues the calls of a connection that could not be opened. */
  unreachable(link, cause) {
    const node = link.node?.name ?? "unknown";
    const why = `cannot connect to redis: node=${node} error=${cause.code ?? cause.message}`;
    this.#recall(link, why, false, cause);
    if (link.node !== null) return;
    // The addon does not know this connection, so it has none of its calls to give back.
    for (const call of this.#calls.values()) if (call.link === link) this.#fail(call, cause);
  }

  /** Continues the calls of a connection that ended before any of them was sent. */
  unused(link, why, cause) {
    this.#recall(link, why, true, cause);
  }

  #recall(link, why, hadWorked, cause) {
    this.#links.delete(link.id);
    for (const ticket of this.#store.recall(link.id, why, hadWorked)) {
      this.#proceed(this.#calls.get(ticket), cause);
    }
  }

  /** Continues a call that a connection could not complete, or fails it. */
  #proceed(call, cause) {
    const pause = this.#store.proceed(call.ticket, this.#timeLeft(call));
    if (pause < 0) return this.#fail(call, cause);
    if (pause === 0) return this.#submit(call, slots[LINK]);
    this.#detach(call);
    setTimeout(() => this.#resend(call), pause);
  }

  #submit(call, id) {
    let link = this.#links.get(id);
    if (link === undefined) {
      link = new Link(this, this.#store, id);
      this.#links.set(id, link);
    }
    this.#detach(call);
    call.link = link;
    link.add(call);
  }

  #detach(call) {
    call.link?.remove();
    call.link = null;
  }

  #resend(call) {
    this.#store.resend(call.ticket);
    this.#submit(call, slots[LINK]);
  }

  /** Ends a call without an answer of the store: with the limiter's fallback, otherwise with an error. */
  #fail(call, cause) {
    this.#end(call);
    const error = failure(this.#store, call.ticket, { cause });
    if (error === undefined) call.resolve(call.read(ROWS, call.ticket, this.#store));
    else call.reject(error);
  }

  #end(call) {
    this.#detach(call);
    this.#calls.delete(call.ticket);
    if (this.#calls.size > 0) return call;
    this.#timer?.unref();
    this.#closed?.();
    return call;
  }

  #timeLeft(call) {
    return call.began + this.#timeoutMs - now();
  }

  #watch(ms) {
    this.#timer = setTimeout(() => {
      // Data that arrived while the program was busy is read first.
      setImmediate(() => this.#expire());
    }, Math.ceil(ms));
  }

  #expire() {
    for (const call of this.#calls.values()) {
      call.link?.flush();
      // The flush may have ended the connection and its calls.
      if (!this.#calls.has(call.ticket)) continue;
      if (this.#timeLeft(call) > 0) break;
      // A call without a connection is in a pause that ends before its deadline.
      call.link?.close("redis gave no answer in time");
    }
    this.#timer = null;
    const [oldest] = this.#calls.values();
    if (oldest) this.#watch(Math.max(0, this.#timeLeft(oldest)));
  }
}

module.exports = { Redis };
