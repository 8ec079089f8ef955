"use strict";

const { area, LINK, ROWS, ROW, FAILED, MOVED, LATER } = require("./area.js");
const { failure } = require("./errors.js");
const { Link } = require("./link.js");
const { now, setImmediate, setTimeout } = require("./timers.js");

/** Carries the calls of one store over sockets of this event loop, and ends each by its deadline. */
class Redis {
  #store;
  #timeoutMs;
  #nodes;
  #links = new Map();
  /** By ticket, the oldest first. */
  #calls = new Map();
  /** The deadline of the oldest call. Only this keeps the process alive, and only while there are calls. */
  #timer = null;
  /** Called when the last call is over, once this is to be closed. */
  #closed = null;

  constructor(store) {
    this.#store = store;
    this.#timeoutMs = store.timeoutMs();
    this.#nodes = store.nodes();
  }

  /** Carries the call that the addon just began. `read` makes the answer of its row. */
  carry(ticket, read) {
    return new Promise((resolve, reject) => {
      const call = { ticket, read, resolve, reject, link: null, failures: 0, began: now() };
      this.#calls.set(ticket, call);
      if (this.#timer === null) this.#watch(this.#timeoutMs);
      else if (this.#calls.size === 1) this.#timer.ref();
      this.#give(call, area[LINK]);
    });
  }

  /** Closes the connections when the last call is over, which a call that gives back what another took may be. */
  async close() {
    await new Promise((resolve) => {
      this.#closed = () => setImmediate(() => this.#calls.size === 0 && resolve());
      if (this.#calls.size === 0) this.#closed();
    });
    for (const link of this.#links.values()) link.close("the store was closed");
  }

  /** What the addon has finished on a connection. */
  finished(rows) {
    for (let row = ROWS; row < ROWS + rows * ROW; row += ROW) {
      const call = this.#calls.get(area[row]);
      const field = area[row + 2];
      switch (area[row + 1]) {
        case FAILED:
          this.#fail(call);
          break;
        case MOVED:
          this.#give(call, field);
          break;
        case LATER:
          this.#take(call);
          setTimeout(() => this.#resend(call), field);
          break;
        default:
          this.#end(call).resolve(call.read(row, call.ticket, this.#store));
      }
    }
  }

  /** A connection that has ended after calls were sent on it: they may have counted. */
  lost(link, why, cause) {
    this.#links.delete(link.id);
    for (const ticket of this.#store.fail(link.id, why)) {
      this.#fail(this.#calls.get(ticket), cause);
    }
  }

  /** A connection that has ended before any call was sent on it: another may do. */
  unused(link) {
    this.#links.delete(link.id);
    for (const ticket of this.#store.recall(link.id)) this.#resend(this.#calls.get(ticket));
  }

  /** A connection that could not be made: another node may do, each once. */
  unreachable(link, cause) {
    this.#links.delete(link.id);
    const why = `cannot connect to redis: node=${link.node.name} error=${cause.code ?? cause.message}`;
    for (const ticket of this.#store.recall(link.id)) {
      const call = this.#calls.get(ticket);
      call.failures += 1;
      if (call.failures < this.#nodes && !this.#isOver(call)) this.#resend(call);
      else this.#abandon(call, why, cause);
    }
  }

  #give(call, id) {
    let link = this.#links.get(id);
    if (link === undefined) {
      link = new Link(this, this.#store, id);
      this.#links.set(id, link);
    }
    this.#take(call);
    call.link = link;
    link.add(call);
  }

  #take(call) {
    call.link?.remove();
    call.link = null;
  }

  #resend(call) {
    if (!this.#calls.has(call.ticket)) return;
    this.#store.resend(call.ticket);
    this.#give(call, area[LINK]);
  }

  /** Ends a call that was not sent. */
  #abandon(call, why, cause) {
    this.#store.abandon(call.ticket, why);
    this.#fail(call, cause);
  }

  /** Ends a call that the store has not answered; its limiter may. */
  #fail(call, cause) {
    this.#end(call);
    const error = failure(this.#store, call.ticket, { cause });
    if (error === undefined) call.resolve(call.read(ROWS, call.ticket, this.#store));
    else call.reject(error);
  }

  #end(call) {
    this.#take(call);
    this.#calls.delete(call.ticket);
    if (this.#calls.size > 0) return call;
    this.#timer?.unref();
    this.#closed?.();
    return call;
  }

  #isOver(call) {
    return now() - call.began >= this.#timeoutMs;
  }

  #watch(ms) {
    this.#timer = setTimeout(() => {
      // What arrived while the program was busy is read first.
      setImmediate(() => this.#expire());
    }, Math.ceil(ms));
  }

  #expire() {
    for (const call of this.#calls.values()) {
      call.link?.flush();
      // The connection may have ended with that, and its calls.
      if (!this.#calls.has(call.ticket)) continue;
      if (!this.#isOver(call)) break;
      if (call.link) call.link.close("redis gave no answer in time");
      else this.#abandon(call, "a slot of the cluster is being moved, try again");
    }
    this.#timer = null;
    const [oldest] = this.#calls.values();
    if (oldest) this.#watch(Math.max(0, this.#timeoutMs - (now() - oldest.began)));
  }
}

module.exports = { Redis };
