"use strict";

const {
  slots,
  OPERATION,
  FLAGS,
  MAX_WAIT,
  CLAIM_TIMEOUT,
  QUEUE_POSITION,
  ROWS,
  WAITS,
  GAVE_UP,
  AT_END,
  EXISTING,
  KEEPS,
  SETTLEMENT,
  STATUS,
  GRANTED,
  putKey,
} = require("./shared-buffer.js");
const { admission, admissions } = require("./admission.js");
const { unitsByLabel, withKeptCosts } = require("./cost.js");
const { finish } = require("./multi-step.js");
const { Decision } = require("./decision.js");
const { callNative, failure } = require("./call-native.js");
const { IN_COMMAND, IN_LIMIT, InvalidError, OverLimitError } = require("./shared/errors.js");
const { Opcode, jobClaimTimeoutMs, newId, pickedLimits, waitTimeoutMs } = require("./native.js");
const commands = require("./commands.js");
const { Permit, EXTEND: EXTEND_PERMIT } = require("./permit.js");
const { now } = require("./timers.js");
const { request, writeActual, besides, numeric, text, permitId, PERMIT } = require("./request.js");
const answers = require("./shared/answers.js");
const { abortSignal, limiterList, object, only } = require("./shared/arguments.js");
const { abortable } = require("./shared/waiting.js");
const { skips, withinLimit } = require("./shared/within-limit.js");
const { Turns } = require("./turns.js");
const { Waiter, ACQUIRE_JOB, ACQUIRE_QUEUED, RELEASE_LATE } = require("./waiter.js");
const { giveBack } = require("./waiting.js");

// Fulfilled promises: creating one for each answer takes half as long as a decision.
const TRUE = Promise.resolve(true);
const FALSE = Promise.resolve(false);

/** A limiter: a name and a policy. */
class Limiter {
  #store;
  #redis;
  #hub;
  #run;
  #waitTimeoutMs;
  #skips;
  #members;
  /** Whether grants are leases, which a keyed limiter has in common with those of its keys: see `#mayLeaveLease`. */
  #leases;

  /**
   * `run` is the addon's function; `onLimit` is the handling of refused work in a document, otherwise null; `members` is
   * the number of limiters that decide together, otherwise 0; `key` is that of a keyed limiter, if it has one, which
   * has the `leases` of the limiter of all keys.
   */
  constructor(
    { store, redis, hub },
    name,
    run,
    options,
    {
      onLimit = null,
      members = 0,
      keyed = false,
      key = null,
      leases = { granted: undefined },
    } = {},
  ) {
    this.#store = store;
    this.#redis = redis;
    this.#hub = hub;
    this.#run = run;
    this.#waitTimeoutMs = waiting(options.waitTimeoutMs) ?? waitTimeoutMs();
    this.#skips = skips(options.onLimit);
    this.#members = members;
    this.#leases = leases;
    this.name = name;
    this.group = options.group ?? null;
    this.onLimit = onLimit;
    this.keyed = keyed;
    this.key = key;
  }

  /** Picks the limiters that decide together, for the addon. Returns a copy of the list. */
  static pick(limiters) {
    const members = limiterList(limiters, (it) => #run in it);
    for (const member of members) {
      slots[OPERATION] = Opcode.Pick;
      member.#run();
    }
    return members;
  }

  get limits() {
    slots[OPERATION] = Opcode.Pick;
    this.#run();
    return Object.freeze(pickedLimits().map(Object.freeze));
  }

  withKey(key) {
    const limiter = this.#of(text("key", key));
    slots[OPERATION] = Opcode.CheckKey;
    if (limiter.#run() < 0) throw failure(this.#store, 0);
    return limiter;
  }

  allow(options) {
    const key = options === undefined ? null : onlyKey(options);
    if (key === undefined) return this.#start(Opcode.Allow, options, allowed);
    let ticket;
    try {
      this.#hub.checkOpen();
      ticket = this.#allowOf(key);
    } catch (error) {
      return Promise.reject(error);
    }
    if (ticket !== 0) return this.#finish(ticket, allowed);
    const answer = allowed(ROWS) ? TRUE : FALSE;
    this.#hub.deliver();
    return answer;
  }

  allowSync(options) {
    if (this.#redis !== null) {
      throw new InvalidError("store", "is in Redis, where an answer takes time: use await allow()");
    }
    this.#hub.checkOpen();
    const key = options === undefined ? null : onlyKey(options);
    let ticket;
    if (key === undefined) {
      request(Opcode.Allow, options);
      ticket = runPlain(besides.key === null ? this.#run : ofKey(this.#run, besides.key));
    } else ticket = this.#allowOf(key);
    if (ticket < 0) throw failure(this.#store, 0);
    const answer = allowed(ROWS);
    this.#hub.deliver();
    return answer;
  }

  tryAcquire(options) {
    return this.#try(options);
  }

  peek(options) {
    return this.#start(Opcode.Peek, options, decision);
  }

  correct(permit, cost, options) {
    try {
      const actual = typeof cost === "number" ? cost : unitsByLabel("actual", cost);
      return this.#start(Opcode.Correct, options, settlement, { permit, actual });
    } catch (error) {
      return Promise.reject(error);
    }
  }

  debit(cost, options) {
    try {
      const call = only(["key", "signal"], options);
      return this.#start(Opcode.Debit, { ...call, cost: cost ?? Number.NaN }, decision);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  refund(units, options) {
    try {
      const call = only(["key", "signal"], options);
      const cost = typeof units === "number" ? units : unitsByLabel("units", units);
      return this.#start(Opcode.Refund, { ...call, cost }, decision);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  extend(permit, units, options) {
    if (permit?.[PERMIT] === true) return permit[EXTEND_PERMIT](this, units, options);
    try {
      const call = only(["key", "signal"], options);
      const cost = typeof units === "number" ? units : unitsByLabel("units", units);
      return this.#start(Opcode.Extend, { ...call, cost }, extension, { permit });
    } catch (error) {
      return Promise.reject(error);
    }
  }

  release(permit, options) {
    return this.#start(Opcode.Release, options, settlement, { permit });
  }

  renew(permit, options) {
    return this.#start(Opcode.Renew, options, lease, { permit });
  }

  /** `queuePosition`: the number of a ticket before it lapsed. */
  enqueue(id, options, queuePosition = AT_END) {
    return this.#queue(id, options, queuePosition);
  }

  claim(id, options) {
    return this.#queue(id, options, EXISTING);
  }

  admit(job, options) {
    try {
      const { onLimit: given, claimTimeoutMs, key, ...asked } = object(options);
      const limiter = this.#of(key);
      const onLimit = given ?? this.onLimit ?? "wait";
      const read = admission(limiter, now(), asked);
      return limiter.#start(Opcode.Admit, asked, read, {
        id: job,
        onLimit,
        claimTimeoutMs: claimTimeout(claimTimeoutMs),
        options: ["onLimit", "claimTimeoutMs"],
      });
    } catch (error) {
      return Promise.reject(error);
    }
  }

  admitAll(jobs, options) {
    const make = () => commands.jobs(jobs, options, this.onLimit);
    return this.#multiStep(Opcode.AdmitAll, make, ({ partial }, limiter) =>
      admissions(limiter, now(), this.#store, partial),
    );
  }

  /** `gaveUp`: the wait timed out, which counts as a refusal. */
  cancel(id, options, gaveUp = false) {
    return this.#start(Opcode.Cancel, options, settlement, { id, gaveUp });
  }

  ready(count, options) {
    try {
      const call = only(["key", "signal"], options);
      return this.#start(
        Opcode.Ready,
        { ...call, cost: count === undefined ? 100 : numeric(count) },
        ids,
      );
    } catch (error) {
      return Promise.reject(error);
    }
  }

  turns(options) {
    const {
      count = 100,
      waitTimeoutMs,
      key,
      signal,
    } = only(["count", "waitTimeoutMs", "key", "signal"], options);
    const limiter = key === undefined || key === null ? this : this.withKey(key);
    const cost = numeric(count);
    const ask = (id, channel) =>
      limiter.#start(Opcode.Ready, { cost, signal }, turns, { id, channel });
    const given = { waitTimeoutMs: waiting(waitTimeoutMs), signal: abortSignal(signal) };
    return new Turns(this.#hub, limiter.#run, ask, given).ids();
  }

  inspect(options) {
    return this.#look(options, inspection);
  }

  queue(options) {
    return this.#look(options, tickets);
  }

  stats(options) {
    return this.#start(Opcode.Statistics, options, statistics);
  }

  history(options) {
    return this.#start(Opcode.History, options, history);
  }

  reset(options) {
    return this.#start(Opcode.Reset, options, nothing);
  }

  pause(options) {
    return this.#admin(Opcode.Pause, () => commands.pause(options), runtimeState);
  }

  block(options) {
    return this.#admin(Opcode.Block, () => commands.block(options), runtimeState);
  }

  resume(options) {
    return this.#admin(Opcode.Resume, () => commands.resume(options), runtimeState);
  }

  override(options) {
    return this.#admin(Opcode.Override, () => commands.override(options), runtimeState);
  }

  applyOjsOverride(document, options) {
    const make = () => commands.ojsDocument(document, options);
    return this.#multiStep(
      Opcode.ApplyOjsOverride,
      make,
      () => (steps) => answers.runtimeState(steps.runtimeState()),
    );
  }

  applyOjsSignal(document, options) {
    const make = () => commands.ojsDocument(document, options);
    return this.#multiStep(Opcode.ApplyOjsSignal, make, () => (steps) => steps.applyOjsSignal());
  }

  restore(options) {
    return this.#admin(Opcode.Restore, () => commands.restore(options), runtimeState);
  }

  runtimeState(options) {
    return this.#admin(Opcode.RuntimeState, () => commands.runtimeState(options), runtimeState);
  }

  reportBudget(options) {
    return this.#admin(Opcode.ReportBudget, () => commands.reportBudget(options), learned);
  }

  learnFromResponse(response, options) {
    return this.#admin(Opcode.Learn, () => commands.learnFromResponse(response, options), learned);
  }

  async acquire(options) {
    const { waitTimeoutMs: wait, id, key, ...others } = object(options);
    const limiter = this.#of(key);
    const asked = withKeptCosts(others);
    const maxWaitMs = waiting(wait) ?? this.#waitTimeoutMs;
    if (maxWaitMs === 0) {
      const began = now();
      return limiter.#permit(await limiter.#try({ ...asked, id }, WAITING), began, asked);
    }
    abortSignal(asked.signal)?.throwIfAborted();
    const given = id === undefined || id === null ? null : text("id", id);
    const waiter = new Waiter(limiter, this.#hub, limiter.#run, given, asked, maxWaitMs);
    return limiter.#permit(await waiter.decision(), waiter.began, asked);
  }

  /** Its ticket stays in the queue when the turn does not come within `patienceMs`, and the error has the decision. */
  async [ACQUIRE_JOB](job, { key, ...others }, { claimTimeoutMs, patienceMs }) {
    const limiter = this.#of(key);
    const asked = withKeptCosts(others);
    const how = { claimTimeoutMs: claimTimeout(claimTimeoutMs), patienceMs };
    const waiter = new Waiter(limiter, this.#hub, limiter.#run, text("job", job), asked, 0, how);
    return limiter.#permit(await waiter.decision(), waiter.began, asked);
  }

  withinLimit(options, fn) {
    return withinLimit(this, this.#skips, options, fn);
  }

  /**
   * Sends one attempt of a waiter: `maxWaitMs` is the rest of its wait, `queuePosition` its ticket or a special value,
   * `channel` the channel for its wake-ups; `keeps` as in `KEEPS`.
   */
  [ACQUIRE_QUEUED](id, { signal, ...asked }, { channel = "", ...how }) {
    return this.#start(Opcode.AcquireWithId, asked, decision, {
      id,
      channel,
      ...how,
      options: WAITING,
    });
  }

  /** Returns the limiter of a key; this one without a key. The addon checks the key at the first call. */
  #of(key) {
    if (key === undefined || key === null) return this;
    const parts = { store: this.#store, redis: this.#redis, hub: this.#hub };
    const { name, group, onLimit } = this;
    const options = {
      waitTimeoutMs: this.#waitTimeoutMs,
      onLimit: this.#skips ? "ignore" : "raise",
      group,
    };
    const run = ofKey(this.#run, text("key", key));
    const leases = this.#leases;
    return new Limiter(parts, name, run, options, { onLimit, keyed: true, key, leases });
  }

  /** Starts an `allow` of one unit of a key, or without one. Returns the ticket. */
  #allowOf(key) {
    if (key !== null && this.key === null && putKey(key)) {
      slots[OPERATION] = Opcode.AllowKey;
      return this.#run();
    }
    if (key !== null) text("key", key);
    slots[OPERATION] = Opcode.Allow;
    slots[FLAGS] = 0;
    return key === null ? this.#run() : this.#run(key);
  }

  /** `names` are the options that the caller has already removed, and `id`. */
  #try(options, names) {
    const id = options?.id ?? undefined;
    if (id === undefined) {
      if (this.#mayLeaveLease()) return this.#tryLease(options, names);
      return this.#start(Opcode.Acquire, options, decision, names && { options: names });
    }
    const { id: _, ...asked } = options;
    return this.#start(Opcode.AcquireWithId, asked, decision, { id, options: names });
  }

  /** Tries with an id of its own, by which the lease of a call without an answer can be cancelled. */
  #tryLease(options, names) {
    try {
      const more = { id: callNative(newId), ownsId: true, options: names };
      return this.#start(Opcode.AcquireWithId, options, decision, more);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Returns whether a call without an answer may leave a lease in a server. The addon is asked once, and before a request. */
  #mayLeaveLease() {
    if (this.#redis === null) return false;
    if (this.#leases.granted === undefined) {
      slots[OPERATION] = Opcode.GrantsLeases;
      const answer = this.#run();
      // The key is invalid, as the call is about to say.
      if (answer < 0) return false;
      this.#leases.granted = answer === 1;
    }
    return this.#leases.granted;
  }

  #queue(id, options, queuePosition) {
    try {
      const { waitTimeoutMs: wait, claimTimeoutMs: given, ...asked } = object(options);
      const maxWaitMs = waiting(wait) ?? Number.NaN;
      const claimTimeoutMs = claimTimeout(given) ?? jobClaimTimeoutMs();
      const how = { maxWaitMs, claimTimeoutMs, queuePosition, channel: "" };
      return this.#start(Opcode.AcquireWithId, asked, decision, {
        id,
        ...how,
        options: ["claimTimeoutMs", "waitTimeoutMs"],
      });
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #permit(decision, began, { estimate }) {
    if (!decision.allowed) throw new OverLimitError(this.name, decision);
    return new Permit(this, decision, began, estimate !== undefined && estimate !== null);
  }

  /** Starts an operation with an admin command. */
  #admin(operation, make, read) {
    try {
      const { command, call } = make();
      return this.#start(operation, call, read, { command });
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Starts a procedure of several operations. */
  async #multiStep(operation, make, reader) {
    const { command, call } = make();
    const signal = request(operation, call);
    const limiter = this.#of(besides.key);
    const read = reader(command, limiter);
    if (runCommand(limiter.#run, command) < 0) {
      throw failure(this.#store, 0, { names: IN_COMMAND });
    }
    const parts = { redis: this.#redis, hub: this.#hub };
    return finish(parts, this.#store.multiStep(), signal, read);
  }

  #look(options, read) {
    try {
      const {
        offset = 0,
        count = 100,
        ...call
      } = only(["offset", "count", "key", "signal"], options);
      const page = { cost: numeric(count), estimate: numeric(offset) };
      return this.#start(Opcode.Inspect, { ...call, ...page }, read);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Starts an operation; the promise is settled at once if no server is needed. */
  #start(operation, options, read, more) {
    try {
      // Operations that return units or leases are allowed until the last call has ended.
      this.#hub.checkOpen(ALLOWED_WHILE_CLOSING.has(operation));
      const signal = request(operation, options, more?.options);
      const { key } = besides;
      const run = key === null ? this.#run : ofKey(this.#run, key);
      const isPlain = more === undefined || operation === Opcode.Acquire;
      const ticket = isPlain ? runPlain(run) : runWith(run, more);
      const command = more?.command;
      const names = command && (command.limits === undefined ? IN_COMMAND : IN_LIMIT);
      const finished = this.#finish(ticket, read, names);
      const canCancel = more?.ownsId === true && ticket > 0;
      const promise = canCancel
        ? finished.catch((error) => this.#cancelUndecided(error, more.id, key))
        : finished;
      const tries =
        operation === Opcode.Acquire ||
        (operation === Opcode.AcquireWithId && more.channel === undefined);
      if (signal === undefined || ticket <= 0) return promise;
      return abortable(promise, signal, () => {
        if (!tries) return;
        promise
          .then((decision) => this[RELEASE_LATE](decision, { ...options, key }))
          .catch(nothing);
      });
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #finish(ticket, read, names) {
    if (ticket > 0) return this.#redis.send(ticket, read);
    if (ticket < 0) return Promise.reject(failure(this.#store, 0, { names }));
    const answer = read(ROWS, 0, this.#store);
    this.#hub.deliver();
    return Promise.resolve(answer);
  }

  /** Cancels the lease that a call may have, which ends with this error; throws the error. */
  #cancelUndecided(error, id, key) {
    if (error.mayHaveCounted) giveBack(() => this.cancel(id, { key }));
    throw error;
  }

  /** Gives back the grant of a call that was aborted before its answer. */
  async [RELEASE_LATE](decision, { estimate, key }) {
    if (!isNewGrant(decision, this.#members)) return;
    const { permit, fencingToken } = decision;
    const parts = [];
    if (estimate !== undefined && estimate !== null) {
      parts.push(giveBack(() => this.correct(permit, 0, { key })));
    }
    if (fencingToken !== null) parts.push(giveBack(() => this.release(permit, { key })));
    await Promise.all(parts);
  }
}

// Calls of the addon's function of a limiter, which takes a name, a channel, a key, units by label with their limiters, a
// command, and a share; or only a key.

/** Returns the function of a keyed limiter with this key in place of another one. */
const ofKey =
  (run, own) =>
  (...given) => {
    if (given.length < 2) return run(given[0] ?? own);
    const [name, channel, key, ...more] = given;
    return run(name, channel, key ?? own, ...more);
  };

/** Returns the key of options that have nothing else; undefined for others. */
function onlyKey(options) {
  if (typeof options !== "object" || options === null) return undefined;
  for (const name in options) if (name !== "key") return undefined;
  return typeof options.key === "string" ? options.key : undefined;
}

const runPlain = (run) =>
  besides.units === null && besides.share === null ? run() : runBesides(run, "", "");

const runCommand = (run, command) => run("", "", null, null, null, command);

/** Runs a call that has units by label or a share. */
function runBesides(run, name, channel) {
  const { units, share } = besides;
  const limiters = units === null ? null : units.limiters;
  if (share !== null) return run(name, channel, null, units, limiters, null, share);
  if (limiters === null) return run(name, channel, null, units);
  return run(name, channel, null, units, limiters);
}

/** `more` has a command, or an `id` or a `permit` with further arguments; its `options` are for an error message. */
function runWith(run, more) {
  if (more.command !== undefined) return runCommand(run, more.command);
  const { maxWaitMs, claimTimeoutMs, queuePosition, onLimit } = more;
  const name = "id" in more ? text("id", more.id) : permitId(more.permit);
  const channel = onLimit === undefined ? more.channel : text("onLimit", onLimit);
  if (more.actual !== undefined) writeActual(more.actual);
  if (more.gaveUp) slots[FLAGS] |= GAVE_UP;
  slots[CLAIM_TIMEOUT] = claimTimeoutMs ?? Number.NaN;
  if (more.channel !== undefined) {
    slots[FLAGS] |= more.keeps ? WAITS | KEEPS : WAITS;
    slots[MAX_WAIT] = maxWaitMs;
    slots[QUEUE_POSITION] = queuePosition;
  }
  if (besides.units !== null || besides.share !== null) return runBesides(run, name, channel ?? "");
  return run(name, channel ?? "");
}

/** Additional options of calls that may wait, for an error message. */
const WAITING = ["id", "waitTimeoutMs", "limits"];

const ALLOWED_WHILE_CLOSING = new Set([Opcode.Correct, Opcode.Release, Opcode.Cancel]);

// Readers of an answer; the arguments are the row, the ticket and the store.
const allowed = (row) => (slots[row + 2] & STATUS) === GRANTED;
const decision = (row, ticket, store) => new Decision(row, ticket, store);
const settlement = (_row, ticket, store) => store.text(ticket);
const extension = (row, ticket, store) =>
  (slots[row + 1] === SETTLEMENT ? settlement : decision)(row, ticket, store);
const ids = (_row, ticket, store) => store.answer(ticket);
const turns = (row, ticket, store) => ({
  ids: store.answer(ticket),
  afterMs: slots[row + 2] / 1000,
});
const runtimeState = (_row, ticket, store) => answers.runtimeState(store.answer(ticket));
const learned = (_row, ticket, store) => answers.learnedReport(store.answer(ticket));
const statistics = (_row, ticket, store) => answers.statistics(store.answer(ticket));
const inspection = (_row, ticket, store) => answers.inspection(store.answer(ticket));
const tickets = (row, ticket, store) => inspection(row, ticket, store).tickets;
const history = (_row, ticket, store) => {
  const { minutes, hours } = store.answer(ticket);
  return answers.history(minutes, hours);
};
const lease = (row) => (Number.isNaN(slots[row + 2]) ? null : slots[row + 2] / 1000);
const nothing = () => undefined;

/**
 * Returns whether this call made the grant; a call with an id may return an earlier lease instead, also of one of several
 * limiters.
 */
function isNewGrant({ permit, atUs }, members) {
  if (permit === null) return false;
  const grants = members === 0 ? [permit] : permit.split("+").slice(-members);
  // Of a limiter without a permit the grant is empty, of one that only passed the call in shadow `~`.
  const isNew = (grant) => ["", "~"].includes(grant) || grant.split(":").at(-2) === String(atUs);
  return grants.every(isNew);
}

/** Returns the wait timeout in milliseconds, if one was given. */
function waiting(given) {
  if (given === undefined || given === null) return undefined;
  return callNative(() => waitTimeoutMs(numeric(given)));
}

/** Checks a claim timeout; undefined if none was given. */
function claimTimeout(given) {
  if (given === undefined || given === null) return undefined;
  if (typeof given !== "number" || Number.isNaN(given)) {
    throw new InvalidError("claimTimeoutMs", "must be a number of milliseconds");
  }
  return given;
}

module.exports = { Limiter };
