"use strict";

const { slots, RECEIVED, TO_SEND, BROKEN, MAX_ROWS } = require("./shared-buffer.js");
const { nextTick, now, setImmediate } = require("./timers.js");
const { connect } = require("./socket.js");

/** The size of each of the two buffers in bytes. A command has about 250 bytes, an answer 50. */
const BUFFER = 32 * 1024;

/**
 * The most calls in one write. The server decides on some while the program makes others; with all in one write, each
 * would wait for the other.
 */
const BATCH = 32;

/** The idle time after which a connection is checked before use; a server does not restart faster than this. */
const TRUSTED_MS = 100;

/** A socket to one node; the addon creates and parses its bytes. */
class Link {
  #redis;
  #exchange;
  #arrived = Buffer.allocUnsafeSlow(BUFFER);
  #toSend = Buffer.allocUnsafeSlow(BUFFER);
  #socket;
  #isConnected = false;
  #isClosed = false;
  /** The calls since the last flush, and the time of the first of them. */
  #unsent = [];
  #unsentSince = 0;
  /** Whether they can be sent at once: the connection is open and was just used. */
  #isTrusted = false;
  #error;
  /** The number of pending calls, and whether anything was sent since that number was last 0. */
  #calls = 0;
  #hasSent = false;
  #usedAt = 0;

  constructor(redis, store, id) {
    this.id = id;
    this.node = store.node(id);
    this.#redis = redis;
    this.#exchange = store.link(id, this.#arrived, this.#toSend);
    this.#connect(store);
  }

  /** Adds a call that the addon has submitted to this connection. */
  add(call) {
    this.#calls += 1;
    if (this.#unsent.push(call) > 1) return;
    this.#unsentSince = now();
    // If the server has closed the connection, the event arrives before the second immediate.
    this.#isTrusted =
      this.#isConnected && (this.#calls > 1 || call.began - this.#usedAt <= TRUSTED_MS);
    const flush = () => this.flush();
    if (this.#isTrusted || !this.#isConnected) nextTick(flush);
    else setImmediate(setImmediate, flush);
  }

  /** Sends the unsent calls if they are enough for a write. Not for use while rows are processed. */
  flushBatch() {
    if (this.#unsent.length >= BATCH && this.#isTrusted) this.flush();
  }

  /**
   * Sends the unsent calls. The time during which the program was too busy to send does not count against the server,
   * so the deadline of each call moves once, here.
   */
  flush() {
    if (this.#unsent.length === 0) return;
    const late = now() - this.#unsentSince;
    for (const call of this.#unsent) call.began += late;
    this.#unsent.length = 0;
    if (this.#isConnected) this.#process(0);
  }

  /** Removes a call that has ended or has moved to another connection. */
  remove() {
    this.#calls -= 1;
    if (this.#calls === 0) this.#hasSent = false;
  }

  /** Ends the connection and its calls. */
  close(why) {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket?.destroy();
    const error = this.#error;
    if (!this.#isConnected) this.#redis.unreachable(this, error ?? new Error(why));
    else if (!this.#hasSent) this.#redis.unused(this, why, error);
    else
      this.#redis.lost(
        this,
        error ? `redis broke the connection: error=${error.code}` : why,
        error,
      );
  }

  #connect(store) {
    // The deadline keeps the process alive while there are calls.
    const use = (socket, isServer) => {
      this.#socket = socket;
      if (isServer) this.#attend(socket);
    };
    const fail = (error) => {
      this.#error = error;
      this.close(error.message);
    };
    if (this.node === null) {
      setImmediate(fail, new Error("the addon does not know the connection"));
      return;
    }
    connect(store, this.node, use, fail, {
      // One buffer for all received data, instead of one for each chunk.
      onread: {
        buffer: this.#arrived,
        callback: (size) => {
          this.#usedAt = now();
          this.#process(size);
          return true;
        },
      },
    });
  }

  #attend(socket) {
    socket.once(socket.encrypted ? "secureConnect" : "connect", () => {
      // Calls whose deadline passed while the program was busy end before they are sent.
      setImmediate(() => {
        this.#isConnected = true;
        this.#usedAt = now();
        this.#process(0);
      });
    });
    socket.on("error", (error) => {
      this.#error = error;
    });
    const closed = () => this.close("redis closed the connection before it answered");
    socket.once("end", closed);
    socket.once("close", closed);
  }

  /** Passes received bytes to the addon and writes its output to the socket. */
  #process(arrived) {
    slots[RECEIVED] = arrived;
    for (;;) {
      if (this.#isClosed) return;
      const rows = this.#exchange();
      const size = slots[TO_SEND];
      const isBroken = slots[BROKEN] === 1;
      if (size > 0) {
        this.#hasSent = true;
        this.#socket.write(this.#toSend.latin1Slice(0, size), "latin1");
      }
      this.#redis.finished(rows);
      if (rows < MAX_ROWS && size < BUFFER) {
        if (isBroken) this.close("redis broke the connection");
        return;
      }
      slots[RECEIVED] = 0;
    }
  }
}

module.exports = { Link };
