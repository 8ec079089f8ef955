// Replays the files that all languages share through the public API; `waiter.test.mjs` replays that about waiting.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import test from "node:test";
import { InvalidError, Paddlegate, StreamUsage, TestClock } from "../index.mjs";
import errors from "../lib/errors.js";
import sharedBuffer from "../lib/shared-buffer.js";
import waiter from "../lib/waiter.js";
import { required, unique } from "./support.mjs";

const folder = new URL("../../../tests/vectors/", import.meta.url);
const files = readdirSync(folder)
  .filter((name) => name.endsWith(".json") && name !== "waiting.json")
  .map((name) => JSON.parse(readFileSync(new URL(name, folder), "utf8")))
  // How long a ticket is kept beyond its claim timeout is no option: `admit` has it.
  .map((file) => ({
    ...file,
    cases: file.cases.filter(({ steps }) => !steps?.some((step) => "keep_us" in step)),
  }));
const stores = { memory: "memory://", redis: required("PADDLEGATE_TEST_URL") };

for (const [store, url] of Object.entries(stores)) {
  for (const file of files) {
    const isErrors = file.name === "errors";
    test(`${file.name} in ${store}`, async (t) => {
      const clock = new TestClock();
      const pg = new Paddlegate(url, { timeoutMs: 10_000, clock });
      const prefix = unique(file.name);
      for (const [i, example] of file.cases.entries()) {
        await t.test(example.title, () =>
          isErrors
            ? misuse(pg, example, prefix + i)
            : replay(pg, clock, example, prefix + (example.name ?? i)),
        );
      }
    });
  }
}

async function replay(pg, clock, example, name) {
  const several = example.limiters && new Several(pg, example.limiters, name);
  let limiter = several ? undefined : pg.limiter(name, policy(example.limits));
  let key;
  const permits = new Map();
  for (const [i, written] of example.steps.entries()) {
    const message = `${example.title}, step ${i}: ${JSON.stringify(written)}`;
    const step = several?.renamed(written) ?? written;
    if (step.at_us !== undefined) clock.nowUs = step.at_us;
    if (several && step.do !== "together") [limiter, key] = several.of(step);
    const settleWithinMs = step.settle_within_us && step.settle_within_us / 1000;
    const asked = { cost: step.cost, estimate: step.estimate, settleWithinMs, key };
    const { priority, share, weight } = step;
    const attempts = {
      together: () => several.of(step),
      acquire: () => limiter.tryAcquire(asked),
      peek: () => limiter.peek(asked),
      debit: () => limiter.debit(step.cost, { key }),
      correct: () => limiter.correct(permits.get(step.permit) ?? step.permit, step.actual, { key }),
      extend: () => limiter.extend(permits.get(step.permit) ?? step.permit, step.units, { key }),
      enter: () => enter(limiter, step, { ...asked, priority, share, weight }),
      statistics: () => limiter.stats({ key }),
      history: () => limiter.history({ key }),
      ready: () => limiter.ready(step.count, { key }),
      inspect: () => limiter.inspect({ offset: step.offset, count: step.count, key }),
      queue: () => limiter.queue({ offset: step.offset, count: step.count, key }),
    };
    if (step.error && attempts[step.do]) {
      await assert.rejects(
        async () => attempts[step.do](),
        (error) => {
          assert.ok(error instanceof InvalidError, `${message}: ${error.stack}`);
          assert.equal(error.argument, errors.NAMES[step.error] ?? step.error, message);
          return true;
        },
      );
      continue;
    }
    switch (step.do) {
      case "acquire": {
        let decision;
        for (let times = step.times ?? 1; times > 0; times -= 1) {
          decision = await limiter.tryAcquire(asked);
        }
        if (step.permit) permits.set(step.permit, decision.permit);
        assert.equal(shown(decision), JSON.stringify(step.expect), message);
        break;
      }
      case "peek":
        assert.equal(shown(await limiter.peek(asked)), JSON.stringify(step.expect), message);
        break;
      case "debit": {
        let decision;
        for (let times = step.times ?? 1; times > 0; times -= 1) {
          decision = await limiter.debit(step.cost, { key });
        }
        assert.equal(shown(decision), JSON.stringify(step.expect), message);
        break;
      }
      case "correct": {
        const permit = permits.get(step.permit) ?? step.permit;
        const settlement = await limiter.correct(permit, step.actual, { key });
        assert.equal(settlement, step.expect, message);
        break;
      }
      case "extend": {
        const extended = await attempts.extend();
        if (step.as) permits.set(step.as, extended.permit);
        const answer = typeof extended === "string" ? JSON.stringify(extended) : shown(extended);
        assert.equal(answer, JSON.stringify(step.expect), message);
        break;
      }
      case "enter": {
        const decision = await attempts.enter();
        if (step.permit) permits.set(step.permit, decision.permit);
        assert.equal(entered(decision), JSON.stringify(step.expect), message);
        break;
      }
      case "release": {
        const permit = permits.get(step.permit) ?? step.permit;
        assert.equal(await limiter.release(permit, { key }), step.expect, message);
        break;
      }
      case "renew": {
        const permit = permits.get(step.permit) ?? step.permit;
        const leaseMs = await limiter.renew(permit, { key });
        assert.equal(micros(leaseMs), step.expect, message);
        break;
      }
      case "cancel": {
        const cancelled = await limiter.cancel(step.id, { key }, step.gave_up);
        assert.equal(cancelled, step.expect, message);
        break;
      }
      case "inspect":
        assert.equal(inspected(await attempts.inspect()), JSON.stringify(step.expect), message);
        break;
      case "queue":
        assert.deepEqual((await attempts.queue()).map(ticketOf), step.expect, message);
        break;
      case "ready":
        assert.deepEqual(await attempts.ready(), step.expect, message);
        break;
      case "statistics":
        assert.equal(counted(await limiter.stats()), JSON.stringify(step.expect), message);
        break;
      case "history":
        assert.equal(recorded(await limiter.history()), JSON.stringify(step.expect), message);
        break;
      case "reset":
        await limiter.reset({ key });
        break;
      case "pause":
      case "block":
      case "mode":
      case "resume":
      case "override":
      case "overrides":
      case "restore":
      case "controls":
        await control(limiter, step, key, message);
        break;
      case "sync":
      case "learn": {
        const told = await taught(limiter, step, key, permits.get(step.permit) ?? step.permit);
        const { settlement, learned, ignored } = told;
        assert.deepEqual({ settlement, learned, ignored }, step.expect, message);
        break;
      }
      case "limits":
        limiter = pg.limiter(name, policy(step.limits));
        break;
      default:
        assert.fail(`an unknown step: ${message}`);
    }
  }
}

/** The limiters of a case, which decide together or alone. */
class Several {
  #pg;
  #name;
  #each;

  constructor(pg, limiters, name) {
    this.#pg = pg;
    this.#name = name;
    this.#each = new Map(limiters.map((it) => [it.name, { ...it, limits: policy(it.limits) }]));
  }

  /** Returns the limiter of a step, and the key for its calls; those that decide together have theirs. */
  of({ of = [...this.#each.keys()], groups = {}, keys = {}, modes = {} }) {
    const one = (name) => {
      const { limits, block_after: rule, ...options } = this.#each.get(name);
      const { keyed, statistics, mode = undefined } = options;
      const blockAfter = rule && {
        refusals: rule.refusals,
        withinMs: rule.within_us / 1000,
        forMs: rule.for_us / 1000,
      };
      const more = { keyed, statistics, mode: modes[name] ?? mode, blockAfter };
      return this.#pg.limiter(this.#real(name), limits, { group: groups[name], ...more });
    };
    const ofKey = (name) => (name in keys ? one(name).withKey(keys[name]) : one(name));
    return typeof of === "string" ? [one(of), keys[of]] : [this.#pg.together(of.map(ofKey))];
  }

  /** Returns a step whose costs have the real names. */
  renamed(step) {
    const real = (key) => (this.#each.has(key) ? this.#real(key) : key);
    const renamed = (cost) =>
      typeof cost === "object"
        ? Object.fromEntries(Object.entries(cost).map(([key, units]) => [real(key), units]))
        : cost;
    const { cost, estimate, actual } = step;
    return {
      ...step,
      cost: renamed(cost),
      estimate: renamed(estimate),
      actual: renamed(actual),
    };
  }

  #real(name) {
    return `${this.#name}.${name}`;
  }
}

async function misuse(pg, example, name) {
  if (example.not_in?.includes("node")) return;
  // The members of an object are distinct.
  const isObject = example.limits.some(({ label }) => label !== undefined);
  const labels = new Set(example.limits.map(({ label, kind }) => label ?? kind));
  if (isObject && labels.size < example.limits.length) return;
  const make = () => pg.limiter("name" in example ? example.name : name, policy(example.limits));
  const asked = { cost: value(example.cost), estimate: value(example.estimate) };
  const limiter = example.do === "limiter" ? undefined : make();
  const calls = {
    limiter: make,
    acquire: () => limiter.tryAcquire(asked),
    peek: () => limiter.peek(asked),
    correct: () => limiter.correct(example.permit, value(example.actual)),
    debit: () => limiter.debit(value(example.cost)),
    clock: () => new TestClock(example.now_us),
  };
  await assert.rejects(
    async () => calls[example.do](),
    (error) => {
      assert.ok(error instanceof InvalidError, `${example.title}: ${error.stack}`);
      assert.equal(error.code.toLowerCase(), example.expect.kind);
      const { argument } = example.expect;
      assert.equal(error.argument, errors.IN_LIMIT[argument] ?? argument, example.title);
      assert.notEqual(error.message, "");
      return true;
    },
  );
  if (limiter) {
    const whole = await limiter.peek({ cost: 0 });
    assert.equal(whole.remaining, whole.limit, `${example.title}: something was taken`);
  }
}

/** Sends one attempt of a waiter with the queue position of the vector. */
function enter(limiter, { id, patience_us, grace_us, place }, asked) {
  if (patience_us === undefined) return limiter.tryAcquire({ ...asked, id });
  const claimTimeoutMs = grace_us === undefined ? undefined : grace_us / 1000;
  const how = {
    maxWaitMs: patience_us / 1000,
    claimTimeoutMs,
    queuePosition: place ?? sharedBuffer.AT_END,
  };
  return limiter[waiter.ACQUIRE_QUEUED](
    id,
    asked,
    place === "kept" ? { ...how, queuePosition: sharedBuffer.EXISTING } : how,
  );
}

/** Admin commands, which return the runtime state. */
async function control(limiter, step, key, message) {
  const { forMs, until, label, expiresInMs, expiresAt, intervalMs } = orders(step);
  const options = {
    pause: { forMs, until, key },
    block: { forMs, until, key },
    mode: { mode: step.mode, expiresInMs, expiresAt, key },
    override: { label, limit: step.amount, intervalMs, expiresInMs, expiresAt, key },
    overrides: { limits: step.limits && policy(step.limits), expiresInMs, expiresAt, key },
    restore: { label, key },
  };
  const mode = step.mode === null ? "restore" : "override";
  const verbs = { controls: "runtimeState", overrides: "override", mode };
  if (step.mode === null) options.mode = { mode: true, key };
  const ordered = limiter[verbs[step.do] ?? step.do](options[step.do] ?? { key });
  if (step.error) {
    await assert.rejects(ordered, (error) => {
      assert.ok(error instanceof InvalidError, `${message}: ${error.stack}`);
      assert.equal(error.argument, errors.IN_COMMAND[step.error] ?? step.error, message);
      return true;
    });
    return;
  }
  const state = await ordered;
  const { version, pausedForMs, overrides, expiresInMs: lasts, learned } = state;
  const limits = (settings) =>
    Object.entries(settings).map(([label, { kind, limit, intervalMs }]) => {
      return { label, kind, amount: limit, interval_us: micros(intervalMs) };
    });
  const answer = {
    version,
    paused_for_us: micros(pausedForMs),
    overrides: limits(overrides),
    expires_in_us: micros(lasts),
    learned: limits(learned),
    ...(state.blockedForMs !== null && { blocked_for_us: micros(state.blockedForMs) }),
    ...(state.mode !== null && { mode: state.mode }),
  };
  if (step.expect) assert.equal(JSON.stringify(answer), JSON.stringify(step.expect), message);
}

/** The usage of a body that is fed in chunks. */
function streamed(step) {
  const [usage, bytes] = [new StreamUsage(), Buffer.from(step.body)];
  for (let at = 0; at < bytes.length; at += step.chunk_bytes) {
    usage.feed(bytes.subarray(at, at + step.chunk_bytes));
  }
  assert.deepEqual(usage.ignored, step.unread);
  return usage;
}

/** What upstream says. */
function taught(limiter, step, key, permit) {
  const { label, intervalMs, resetInMs, resetAt } = orders(step);
  if (step.do === "learn") {
    const { status, headers, provider } = step;
    const body = step.chunk_bytes === undefined ? step.body : streamed(step);
    const defaultPauseMs = orders(step).defaultPauseMs;
    const options = { provider, defaultPauseMs, maxLearned: step.max_learned, permit, key };
    return limiter.learnFromResponse({ status, headers, body }, options);
  }
  const { remaining, amount: limit } = step;
  return limiter.reportBudget({
    remaining,
    limit,
    intervalMs,
    resetInMs,
    resetAt,
    label,
    permit,
    key,
  });
}

function orders(step) {
  const ms = (us) => (us === undefined ? undefined : us / 1000);
  return {
    label: step.label,
    forMs: ms(step.for_us),
    defaultPauseMs: ms(step.default_pause_us),
    until: ms(step.until_us),
    intervalMs: ms(step.interval_us),
    expiresInMs: ms(step.expires_in_us),
    expiresAt: ms(step.expires_at_us),
    resetInMs: ms(step.reset_in_us),
    resetAt: ms(step.reset_at_us),
  };
}

const shown = (decision) =>
  JSON.stringify({ allowed: decision.allowed, ...numbers(decision), ...more(decision) });

const entered = (decision) =>
  JSON.stringify({
    status: decision.status === "no_ticket" ? "gone" : decision.status,
    ...numbers(decision),
    lease_us: micros(decision.leaseMs),
    fence: decision.fencingToken,
    number: decision.ticket,
    position: decision.position,
    ready_after_us: decision.readyAfterUs,
    ...more(decision),
  });

/** What only some decisions have. */
const more = (decision) => ({
  ...(decision.isLowered && { is_lowered: true }),
  ...(decision.wouldRefuse !== null && { would_refuse: decision.wouldRefuse }),
  ...limiterOf(decision),
});

/** The name of the limiter in a decision of several, as the case has it. */
const limiterOf = ({ limiter }) =>
  limiter === null ? {} : { limiter: limiter.slice(limiter.lastIndexOf(".") + 1) };

/** A history in the form of the vectors: the entries with counts. */
function recorded({ minutes, hours }) {
  assert.deepEqual([minutes.length, hours.length], [60, 48]);
  const entries = (list) =>
    list
      .filter(({ start: _, ...counts }) => Object.values(counts).some((count) => count > 0))
      .map(({ start, ...counts }) => ({ start_us: start * 1e6, ...counts }));
  return JSON.stringify({ minutes: entries(minutes), hours: entries(hours) });
}

/** An inspection in the form of the vectors. */
function inspected({ atUs, limits, pausedForMs, blockedForMs, mode, leases, tickets, ...counts }) {
  return JSON.stringify({
    at_us: atUs,
    limits: limits.map(({ intervalMs, nextAfterMs, resetAfterMs, label, kind, ...limit }) => ({
      label,
      kind,
      limit: limit.limit,
      interval_us: micros(intervalMs),
      source: limit.source,
      taken: limit.taken,
      remaining: limit.remaining,
      next_after_us: micros(nextAfterMs),
      reset_after_us: micros(resetAfterMs),
    })),
    paused_for_us: micros(pausedForMs),
    blocked_for_us: micros(blockedForMs),
    mode,
    leases: leases.map(({ id, heldForMs, endsInMs, fencingToken }) => ({
      id,
      held_for_us: micros(heldForMs),
      ends_in_us: micros(endsInMs),
      fence: fencingToken,
    })),
    lease_count: counts.leaseCount,
    tickets: tickets.map(ticketOf),
    ticket_count: counts.ticketCount,
  });
}

const ticketOf = ({ id, priority, share, waitedMs, ready }) => ({
  id,
  priority,
  share,
  waited_us: micros(waitedMs),
  ready,
});

function counted({ immediate, waitTimeMs, heldTimeMs, ...counts }) {
  assert.equal(immediate, counts.granted - counts.waited);
  const { granted, refused, waited, units, corrections, shadowRefused, ...more } = counts;
  const { refusedBy, waits, degraded, errors, nearLimit, estimatedUnits, holds, ...others } = more;
  assert.deepEqual([degraded, errors], [0, 0]);
  const times = (counts) => counts.slice(0, counts.findLastIndex((count) => count > 0) + 1);
  return JSON.stringify({
    granted,
    refused,
    waited,
    wait_time_us: micros(waitTimeMs),
    units,
    corrections,
    held_time_us: micros(heldTimeMs),
    ...others,
    ...(shadowRefused > 0 && { shadow_refused: shadowRefused }),
    ...(Object.keys(refusedBy).length > 0 && { refused_by: refusedBy }),
    ...(counts.waited > 0 && { waits: times(waits) }),
    ...(nearLimit > 0 && { near_limit: nearLimit }),
    ...(estimatedUnits !== units && { estimated_units: estimatedUnits }),
    ...(times(holds).length > 0 && { holds: times(holds) }),
  });
}

function numbers(decision) {
  return {
    limit: decision.limit,
    remaining: decision.remaining,
    retry_after_us: decision.retryAfterUs,
    reset_after_us: decision.resetAfterUs,
    reason: decision.reason,
    label: decision.label,
    at_us: decision.atUs,
  };
}

const micros = (ms) => (ms === null ? null : Math.round(ms * 1000));

/** A policy as an object if a limit has its own label, otherwise as a list. */
const policy = (limits) =>
  limits.some(({ label }) => label !== undefined)
    ? Object.fromEntries(limits.map((one) => [one.label ?? one.kind, limit(one)]))
    : limits.map(limit);

function limit({ kind, amount, interval_us, interval, offset_us, refund, ...calendar }) {
  const span = interval === undefined ? seconds(interval_us) : value(interval);
  switch (kind) {
    case "throttle":
      return amount === undefined ? [kind, span] : [kind, value(amount), span];
    case "unlimited":
    case "paused":
      return [kind];
    case "quota":
      return [kind, value(amount), calendar.per, calendar.timezone, calendar.starts];
    case "leaky":
    case "points":
      return refund ? [kind, value(amount), span, refund] : [kind, value(amount), span];
    default:
      return offset_us
        ? [kind, value(amount), span, seconds(offset_us)]
        : [kind, value(amount), span];
  }
}

const seconds = (us) => us / 1e6;

const WORDS = {
  $nan: Number.NaN,
  $inf: Number.POSITIVE_INFINITY,
  "$-inf": Number.NEGATIVE_INFINITY,
  "$2^53": 2 ** 53,
};
function value(json) {
  if (typeof json === "string" && json in WORDS) return WORDS[json];
  // A cost by label.
  if (typeof json !== "object" || json === null || Array.isArray(json)) return json;
  return Object.fromEntries(Object.entries(json).map(([label, units]) => [label, value(units)]));
}
