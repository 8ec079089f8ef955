"use strict";

const { now } = require("./timers.js");
const { PERMIT } = require("./request.js");
const { checkEstimated, only } = require("./shared/arguments.js");

/** Internal method of `Permit`: extends it by the limiter that the caller chose. */
const EXTEND = Symbol("extend");

/** A grant. */
class Permit {
  #limiter;
  #isEstimated;
  #id;
  /** The pending extension, whose id a further one and a correction need; null without one. */
  #extending = null;
  /** The latest end of the lease by this process's clock. */
  #deadline;
  #isLost = false;
  #settlement = null;
  #releasing = null;

  /** `began` is the time at which the granted call was sent. */
  constructor(limiter, decision, began, isEstimated) {
    this.#limiter = limiter;
    this.#isEstimated = isEstimated;
    this.#deadline = decision.leaseMs === null ? null : began + decision.leaseMs;
    this.decision = decision;
    this.#id = decision.permit;
    this.fencingToken = decision.fencingToken;
    this.degraded = decision.degraded;
    Object.freeze(this);
  }

  /** Marks a permit, which is accepted in place of its id. */
  get [PERMIT]() {
    return true;
  }

  get id() {
    return this.#id;
  }

  get expiresInMs() {
    return this.#deadline === null ? null : Math.max(0, this.#deadline - now());
  }

  get lost() {
    return this.#isLost || (this.#settlement === null && this.expiresInMs === 0);
  }

  async release() {
    if (this.#deadline === null) return "unknown";
    this.#releasing ??= this.#release();
    return this.#releasing;
  }

  async renew() {
    if (this.#deadline === null || this.#settlement !== null) return false;
    const began = now();
    const leaseMs = await this.#limiter.renew(this.id);
    if (leaseMs === null) this.#isLost = this.#settlement === null;
    else this.#deadline = began + leaseMs;
    return leaseMs !== null;
  }

  async correct(actual) {
    checkEstimated(this.#isEstimated);
    if (this.#extending !== null) await this.#extending;
    return this.#limiter.correct(this.id, actual);
  }

  extend(units) {
    return this[EXTEND](this.#limiter, units);
  }

  /** Extends the permit by a limiter, after its extensions that are pending. */
  async [EXTEND](limiter, units, options) {
    checkEstimated(this.#isEstimated);
    const before = this.#extending ?? Promise.resolve();
    const extended = before.then(() => this.#extend(limiter, units, options));
    const settled = extended.then(nothing, nothing);
    this.#extending = settled;
    try {
      return await extended;
    } finally {
      if (this.#extending === settled) this.#extending = null;
    }
  }

  pointsUsed(actual) {
    return this.correct(actual);
  }

  async learnFromResponse(response, options) {
    const bounds = only(["provider", "maxPauseMs", "defaultPauseMs", "maxLearned"], options);
    if (this.#extending !== null) await this.#extending;
    return this.#limiter.learnFromResponse(response, { ...bounds, permit: this.id });
  }

  async #extend(limiter, units, options) {
    const extension = await limiter.extend(this.id, units, options);
    if (extension.allowed && extension.permit !== null) this.#id = extension.permit;
    return extension;
  }

  async #release() {
    const isLate = this.lost;
    try {
      this.#settlement = await this.#limiter.release(this.id);
    } catch (error) {
      this.#releasing = null;
      throw error;
    }
    // A lease that another caller has released was lost too.
    this.#isLost = isLate || this.#settlement !== "released";
    return this.#settlement;
  }
}

const nothing = () => undefined;

module.exports = { Permit, EXTEND };
