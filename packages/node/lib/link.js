"use strict";

const { area, RECEIVED, TO_SEND, BROKEN, MAX_ROWS } = require("./area.js");
const { nextTick, now, setImmediate } = require("./timers.js");
const { connect } = require("./socket.js");

/** Bytes of each of the two buffers. A command has some 250, an answer 50. */
const BUFFER = 32 * 1024;

/** After what time an unused connection is looked at before it is trusted; a server restarts no faster. */
const TRUSTED_MS = 100;

/** A socket to one node; what goes over it is the addon's. */
class Link {
  #redis;
  #exchange;
  #arrived = Buffer.allocUnsafeSlow(BUFFER);
  #toSend = Buffer.allocUnsafeSlow(BUFFER);
  #socket;
  #isConnected = false;
  #isClosed = false;
  /** The calls since the last flush, and when the first of them came. */
  #fresh = [];
  #freshSince = 0;
  #error;
  /** How many calls wait for an answer, and whether anything was sent since there were none. */
  #calls = 0;
  #hasSent = false;
  #usedAt = 0;

  constructor(redis, store, id) {
    this.id = id;
    this.node = store.node(id);
    this.#redis = redis;
    this.#exchange = store.link(id, this.#arrived, this.#toSend);
    this.#socket = this.#connect(store.tls());
  }

  /** A call for this connection was given to the addon. */
  add(call) {
    this.#calls += 1;
    if (this.#fresh.push(call) > 1) return;
    this.#freshSince = now();
    // A connection that the server has closed meanwhile says so before the second immediate.
    const isTrusted =
      !this.#isConnected || this.#calls > 1 || call.began - this.#usedAt <= TRUSTED_MS;
    const flush = () => this.flush();
    if (isTrusted) nextTick(flush);
    else setImmediate(setImmediate, flush);
  }

  /**
   * Sends the calls that were not sent yet. For how long the program was too busy to do so is not the server's time, so
   * the deadline of a call moves once, here, and never again.
   */
  flush() {
    if (this.#fresh.length === 0) return;
    const late = now() - this.#freshSince;
    for (const call of this.#fresh) call.began += late;
    this.#fresh.length = 0;
    if (this.#isConnected) this.#turn(0);
  }

  /** A call of this connection is over. */
  remove() {
    this.#calls -= 1;
    if (this.#calls === 0) this.#hasSent = false;
  }

  /** Ends the connection and its calls. */
  close(why) {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket.destroy();
    const error = this.#error;
    if (!this.#isConnected) this.#redis.unreachable(this, error ?? new Error(why));
    else if (!this.#hasSent) this.#redis.unused(this);
    else
      this.#redis.lost(
        this,
        error ? `redis broke the connection: error=${error.code}` : why,
        error,
      );
  }

  #connect(encrypted) {
    // The deadline keeps the process alive while there are calls.
    const socket = connect(this.node, encrypted, {
      // One buffer for all that arrives, in place of one for each piece.
      onread: {
        buffer: this.#arrived,
        callback: (size) => {
          this.#usedAt = now();
          this.#turn(size);
          return true;
        },
      },
    });
    socket.once(encrypted ? "secureConnect" : "connect", () => {
      // Calls whose time was up while the program was busy end before they are sent.
      setImmediate(() => {
        this.#isConnected = true;
        this.#usedAt = now();
        this.#turn(0);
      });
    });
    socket.on("error", (error) => {
      this.#error = error;
    });
    const closed = () => this.close("redis closed the connection before it answered");
    socket.once("end", closed);
    socket.once("close", closed);
    return socket;
  }

  /** Hands over what has arrived, writes what is to be sent. */
  #turn(arrived) {
    area[RECEIVED] = arrived;
    for (;;) {
      if (this.#isClosed) return;
      const rows = this.#exchange();
      const size = area[TO_SEND];
      const isBroken = area[BROKEN] === 1;
      if (size > 0) {
        this.#hasSent = true;
        this.#socket.write(this.#toSend.latin1Slice(0, size), "latin1");
      }
      this.#redis.finished(rows);
      if (rows < MAX_ROWS && size < BUFFER) {
        if (isBroken) this.close("redis broke the connection");
        return;
      }
      area[RECEIVED] = 0;
    }
  }
}

module.exports = { Link };
