"use strict";

const {
  area,
  OPERATION,
  GIVEN,
  ACTUAL,
  PATIENCE,
  GRACE,
  PLACE,
  ROWS,
  ACQUIRE,
  PEEK,
  CORRECT,
  RESET,
  ALLOW,
  ENTER,
  RELEASE,
  RENEW,
  CANCEL,
  STATISTICS,
  PAUSE,
  RESUME,
  OVERRIDE,
  RESTORE,
  CONTROLS,
  REPORT_BUDGET,
  LEARN,
  ADMIT,
  ADMIT_ALL,
  APPLY_OJS_OVERRIDE,
  SIGNAL,
  WAITS,
  GAVE_UP,
  AT_END,
  KEPT,
  STATUS,
  GRANTED,
} = require("./area.js");
const { admission, admissions } = require("./admission.js");
const { runtimeState, shown } = require("./runtime-state.js");
const { learned } = require("./learned.js");
const { finish } = require("./course.js");
const { Decision } = require("./decision.js");
const { IN_ORDER, InvalidError, OverLimitError, calling, failure } = require("./errors.js");
const { jobClaimTimeoutMs, waitTimeoutMs } = require("./native.js");
const commands = require("./commands.js");
const { Permit } = require("./permit.js");
const { now } = require("./timers.js");
const { request, numeric, text, permitId, abortSignal, object } = require("./request.js");
const { SKIPPED } = require("./skipped.js");
const { statistics } = require("./statistics.js");
const { Waiter, LOOK, GIVE_BACK } = require("./waiter.js");
const { abortable, sleep } = require("./waiting.js");

// Promises that are kept already; to make one for each answer takes as long as half a decision.
const TRUE = Promise.resolve(true);
const FALSE = Promise.resolve(false);

/** A name and a policy. */
class Limiter {
  #store;
  #redis;
  #hub;
  #run;
  #waitTimeoutMs;
  #skips;

  /** `run` is the addon's function; `onLimit` what a document says of refused work, else null. */
  constructor({ store, redis, hub }, name, run, options, onLimit = null) {
    this.#store = store;
    this.#redis = redis;
    this.#hub = hub;
    this.#run = run;
    this.#waitTimeoutMs = waiting(options.waitTimeoutMs) ?? waitTimeoutMs();
    this.#skips = skips(options.policy);
    Object.defineProperty(this, "name", { value: name, enumerable: true });
    Object.defineProperty(this, "onLimit", { value: onLimit, enumerable: true });
  }

  allow(options) {
    if (options !== undefined) return this.#start(ALLOW, options, allowed);
    try {
      this.#hub.checkOpen();
    } catch (error) {
      return Promise.reject(error);
    }
    area[OPERATION] = ALLOW;
    area[GIVEN] = 0;
    const ticket = this.#run();
    if (ticket !== 0) return this.#finish(ticket, allowed);
    const answer = allowed(ROWS) ? TRUE : FALSE;
    this.#hub.deliver();
    return answer;
  }

  tryAcquire(options) {
    return this.#try(options);
  }

  peek(options) {
    return this.#start(PEEK, options, decision);
  }

  correct(permit, actual, options) {
    return this.#start(CORRECT, options, settlement, { permit, actual });
  }

  release(permit, options) {
    return this.#start(RELEASE, options, settlement, { permit });
  }

  renew(permit, options) {
    return this.#start(RENEW, options, lease, { permit });
  }

  enqueue(id, options) {
    return this.#queue(id, options, AT_END);
  }

  claim(id, options) {
    return this.#queue(id, options, KEPT);
  }

  admit(job, options) {
    try {
      const { onLimit: given, ...asked } = object(options);
      const onLimit = given ?? this.onLimit ?? "wait";
      const read = admission(this, now(), asked);
      return this.#start(ADMIT, asked, read, { id: job, onLimit, options: ["onLimit"] });
    } catch (error) {
      return Promise.reject(error);
    }
  }

  admitAll(jobs, options) {
    const make = () => commands.jobs(jobs, options, this.onLimit);
    return this.#course(ADMIT_ALL, make, ({ partial }) =>
      admissions(this, now(), this.#store, partial),
    );
  }

  /** `gaveUp`: its time was up, which counts as a refusal. */
  cancel(id, options, gaveUp = false) {
    return this.#start(CANCEL, options, settlement, { id, gaveUp });
  }

  stats(options) {
    return this.#start(STATISTICS, options, statistics);
  }

  reset() {
    return this.#start(RESET, undefined, nothing);
  }

  pause(options) {
    return this.#order(PAUSE, () => commands.pause(options), runtimeState);
  }

  resume(options) {
    return this.#order(RESUME, () => commands.resume(options), runtimeState);
  }

  override(options) {
    return this.#order(OVERRIDE, () => commands.override(options), runtimeState);
  }

  applyOjsOverride(document, options) {
    const make = () => commands.written(document, options);
    return this.#course(APPLY_OJS_OVERRIDE, make, () => (course) => shown(course.runtimeState()));
  }

  applyOjsSignal(document, options) {
    const make = () => commands.written(document, options);
    return this.#course(SIGNAL, make, () => (course) => course.applyOjsSignal());
  }

  restore(options) {
    return this.#order(RESTORE, () => commands.restore(options), runtimeState);
  }

  runtimeState(options) {
    return this.#order(CONTROLS, () => commands.runtimeState(options), runtimeState);
  }

  reportBudget(options) {
    return this.#order(REPORT_BUDGET, () => commands.reportBudget(options), learned);
  }

  learnFromResponse(response, options) {
    return this.#order(LEARN, () => commands.learnFromResponse(response, options), learned);
  }

  async acquire(options) {
    const { waitTimeoutMs: wait, id, ...asked } = object(options);
    const patienceMs = waiting(wait) ?? this.#waitTimeoutMs;
    // A time that was given says nothing of the store's queue.
    if (patienceMs === 0 || typeof asked.atUs === "number") {
      return this.#acquireByItself({ ...asked, id }, patienceMs);
    }
    abortSignal(asked.signal)?.throwIfAborted();
    const given = id === undefined || id === null ? null : text("id", id);
    const waiter = new Waiter(this, this.#hub, this.#run, given, asked, patienceMs);
    return this.#permit(await waiter.decision(), waiter.began, asked);
  }

  async withinLimit(options, fn) {
    const body = typeof options === "function" ? options : fn;
    if (typeof body !== "function") {
      throw new InvalidError("fn", "must be the function to call within the limit");
    }
    let permit;
    try {
      permit = await this.acquire(options === body ? undefined : options);
    } catch (error) {
      if (this.#skips && error instanceof OverLimitError) return SKIPPED;
      throw error;
    }
    try {
      return await body(permit);
    } finally {
      await this.#leave(permit);
    }
  }

  /** One look of a waiter: for how long it would go on, from which place, and where it is told of its turn. */
  [LOOK](id, { signal, ...asked }, { patienceMs, graceMs, place, channel = "" }) {
    const how = { channel, patienceMs, graceMs, place, options: WAITING };
    return this.#start(ENTER, asked, decision, { id, ...how });
  }

  /** `names` are options that were taken out before, and `id`. */
  #try(options, names) {
    const id = options?.id ?? undefined;
    if (id === undefined)
      return this.#start(ACQUIRE, options, decision, names && { options: names });
    const { id: _, ...asked } = options;
    return this.#start(ENTER, asked, decision, { id, options: names });
  }

  #queue(id, options, place) {
    try {
      const { waitTimeoutMs: wait, claimTimeoutMs: given, ...asked } = object(options);
      const patienceMs = waiting(wait) ?? Number.NaN;
      const graceMs = given === undefined || given === null ? jobClaimTimeoutMs() : given;
      if (typeof graceMs !== "number" || Number.isNaN(graceMs)) {
        throw new InvalidError("claimTimeoutMs", "must be a number of milliseconds");
      }
      const how = { patienceMs, graceMs, place, channel: "" };
      return this.#start(ENTER, asked, decision, {
        id,
        ...how,
        options: ["claimTimeoutMs", "waitTimeoutMs"],
      });
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Looks again when there may be room, without a ticket. */
  async #acquireByItself(asked, patienceMs) {
    const deadline = now() + patienceMs;
    for (;;) {
      const began = now();
      const decision = await this.#try(asked, WAITING);
      const wait = decision.retryAfterUs === null ? null : decision.retryAfterUs / 1000;
      const isFinal = decision.allowed || decision.degraded || wait === null;
      if (isFinal || wait > deadline - now()) {
        return this.#permit(decision, began, asked);
      }
      await sleep(wait, asked.signal);
      // A time that was given goes on while we wait.
      if (typeof asked.atUs === "number") asked.atUs += Math.round(wait * 1000);
    }
  }

  #permit(decision, began, { estimate }) {
    if (!decision.allowed) throw new OverLimitError(this.name, decision);
    return new Permit(this, decision, began, estimate !== undefined && estimate !== null);
  }

  async #leave(permit) {
    if (permit.fence === null) return;
    // A lease that cannot be given back ends by itself.
    await permit.release().catch(nothing);
    if (permit.lost) {
      process.emitWarning(
        `the lease of ${JSON.stringify(this.name)} ended before its function did; others may have run meanwhile`,
        "LeaseLostWarning",
      );
    }
  }

  /** Starts an operation that comes with an order. */
  #order(operation, make, read) {
    try {
      const { order, call } = make();
      return this.#start(operation, call, read, { order });
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Starts what takes several operations. */
  async #course(operation, make, reader) {
    const { order, call } = make();
    const signal = request(operation, call);
    const read = reader(order);
    if (this.#run("", "", order) < 0) throw failure(this.#store, 0, { names: IN_ORDER });
    const parts = { redis: this.#redis, hub: this.#hub };
    return finish(parts, this.#store.course(), signal, read);
  }

  /** Starts an operation; the promise is settled at once when no server has to be asked. */
  #start(operation, options, read, more) {
    try {
      // What gives back goes on until the last call is over.
      if (!GIVES_BACK.has(operation)) this.#hub.checkOpen();
      const signal = request(operation, options, more?.options);
      const isPlain = more === undefined || operation === ACQUIRE;
      const ticket = isPlain ? this.#run() : this.#runWith(more);
      const names = more?.order === undefined ? undefined : IN_ORDER;
      const promise = this.#finish(ticket, read, names);
      const tries = operation === ACQUIRE || (operation === ENTER && more.channel === undefined);
      if (signal === undefined || ticket <= 0) return promise;
      return abortable(promise, signal, () => {
        if (tries) promise.then((decision) => this[GIVE_BACK](decision, options)).catch(nothing);
      });
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** `more` has an order, or an `id` or a `permit` and what else goes with it; its `options` are for an error. */
  #runWith(more) {
    if (more.order !== undefined) return this.#run("", "", more.order);
    const { channel, patienceMs, graceMs, place, onLimit } = more;
    const name = "id" in more ? text("id", more.id) : permitId(more.permit);
    area[ACTUAL] = numeric(more.actual);
    if (more.gaveUp) area[GIVEN] |= GAVE_UP;
    if (onLimit !== undefined) return this.#run(name, text("onLimit", onLimit));
    if (channel === undefined) return this.#run(name);
    area[GIVEN] |= WAITS;
    area[PATIENCE] = patienceMs;
    area[GRACE] = graceMs ?? Number.NaN;
    area[PLACE] = place;
    return this.#run(name, channel);
  }

  #finish(ticket, read, names) {
    if (ticket > 0) return this.#redis.carry(ticket, read);
    if (ticket < 0) return Promise.reject(failure(this.#store, 0, { names }));
    const answer = read(ROWS, 0, this.#store);
    this.#hub.deliver();
    return Promise.resolve(answer);
  }

  /** Of a call whose answer nobody waits for any more. What cannot be given back ends by itself. */
  async [GIVE_BACK](decision, { estimate }) {
    if (!isNewGrant(decision)) return;
    const { permit, fence } = decision;
    const parts = [];
    if (estimate !== undefined && estimate !== null) parts.push(this.correct(permit, 0));
    if (fence !== null) parts.push(this.release(permit));
    await Promise.allSettled(parts);
  }
}

/** What who may wait can say besides. */
const WAITING = ["id", "waitTimeoutMs"];

const GIVES_BACK = new Set([CORRECT, RELEASE, CANCEL]);

// What is read of an answer: the row, the ticket and the store.
const allowed = (row) => (area[row + 2] & STATUS) === GRANTED;
const decision = (row, ticket, store) => new Decision(row, ticket, store);
const settlement = (_row, ticket, store) => store.text(ticket);
const lease = (row) => (Number.isNaN(area[row + 2]) ? null : area[row + 2] / 1000);
const nothing = () => undefined;

/** Whether this call was granted something that can be given back; under an id it may be told of an earlier lease. */
const isNewGrant = ({ permit, atUs }) => permit?.split(":").at(-2) === String(atUs);

/** The time to wait that was given, if one was. */
function waiting(given) {
  if (given === undefined || given === null) return undefined;
  return calling(() => waitTimeoutMs(numeric(given)));
}

/** Whether a refused function is skipped. */
function skips(given) {
  const policy = given ?? "raise";
  if (!["raise", "ignore", "skip"].includes(policy)) {
    throw new InvalidError("policy", "must be 'raise' or 'ignore'");
  }
  return policy !== "raise";
}

module.exports = { Limiter };
