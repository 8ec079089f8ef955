// Replays tests/vectors through the public API. Runs in Node and in a browser alike.

/** Throws what the case expected and what it got. `prefix` keeps the names of one file apart from all others. */
export function replay(paddlegate, file, index, prefix = file.name) {
  const testCase = file.cases[index];
  if (file.name === "errors") misuse(paddlegate, testCase, prefix + index);
  else steps(clocked(paddlegate), testCase, prefix + (testCase.name ?? index));
}

/** Replays the cases of one file in one store, where names could collide. */
export function replayTogether(paddlegate, file) {
  const store = clocked(paddlegate);
  file.cases.forEach((testCase, index) => {
    steps(store, testCase, file.name + (testCase.name ?? index));
  });
}

function clocked({ Paddlegate, StreamUsage, TestClock }) {
  const clock = new TestClock();
  return { pg: new Paddlegate("memory://", { clock }), clock, StreamUsage };
}

function steps({ pg, clock, StreamUsage }, testCase, name) {
  const permits = new Map();
  const several = testCase.limiters && new Several(pg, testCase.limiters, name);
  let limiter = several ? undefined : pg.limiter(name, asLimits(testCase.limits));
  let key;
  testCase.steps.forEach((written, number) => {
    let answer;
    const step = several?.renamed(written) ?? written;
    if (step.at_us !== undefined) clock.nowUs = step.at_us;
    if (several && step.do !== "together") [limiter, key] = several.of(step);
    if (step.error) {
      const error = thrown(() =>
        step.do === "together" ? several.of(step) : attempt(limiter, step, key, permits),
      );
      equal(
        error?.argument,
        IN_ORDER[step.error] ?? step.error,
        `${testCase.title}, step ${number}: ${error}`,
      );
      return;
    }
    switch (step.do) {
      case "acquire":
        for (let i = 0; i < (step.times ?? 1); i++) answer = limiter.tryAcquire(request(step, key));
        if (step.permit) permits.set(step.permit, answer.permit);
        answer = asText(answer);
        break;
      case "peek":
        answer = asText(limiter.peek(request(step, key)));
        break;
      case "correct": {
        const permit = permits.get(step.permit) ?? step.permit;
        answer = JSON.stringify(limiter.correct(permit, step.actual, { key }));
        break;
      }
      case "debit":
        answer = asText(limiter.debit(step.cost, { key }));
        break;
      case "extend": {
        const permit = permits.get(step.permit) ?? step.permit;
        answer = limiter.extend(permit, step.units, { key });
        if (step.as) permits.set(step.as, answer.permit);
        answer = typeof answer === "string" ? JSON.stringify(answer) : asText(answer);
        break;
      }
      case "enter":
        answer = enter(limiter, step, key);
        if (step.permit) permits.set(step.permit, answer.permit);
        answer = asAnswer(answer);
        break;
      case "release":
      case "renew": {
        const permit = permits.get(step.permit) ?? step.permit;
        answer = limiter[step.do](permit, { key });
        answer = JSON.stringify(step.do === "renew" ? micros(answer) : answer);
        break;
      }
      case "cancel":
        answer = JSON.stringify(limiter.cancel(step.id, { key }, step.gave_up));
        break;
      case "inspect":
        answer = asInspection(limiter.inspect({ offset: step.offset, count: step.count, key }));
        break;
      case "queue": {
        const tickets = limiter.queue({ offset: step.offset, count: step.count, key });
        answer = JSON.stringify(tickets.map(ticketOf));
        break;
      }
      case "ready":
        answer = JSON.stringify(limiter.ready(step.count, { key }));
        break;
      case "statistics":
        answer = asCounts(limiter.stats());
        break;
      case "history":
        answer = asHistory(limiter.history());
        break;
      case "pause":
      case "block":
      case "mode":
      case "resume":
      case "override":
      case "overrides":
      case "restore":
      case "controls":
        answer = asControls(control(limiter, step, key));
        if (!step.expect) return;
        break;
      case "sync":
        answer = asLearned(sync(limiter, step, key, permits.get(step.permit) ?? step.permit));
        break;
      case "learn":
        answer = asLearned(
          learn(limiter, step, key, permits.get(step.permit) ?? step.permit, StreamUsage),
        );
        break;
      case "reset":
        limiter.reset({ key });
        return;
      case "limits":
        limiter = pg.limiter(name, asLimits(step.limits));
        return;
      default:
        throw new Error(`no such step: ${step.do}`);
    }
    equal(answer, JSON.stringify(step.expect), `${testCase.title}, step ${number}`);
  });
}

// The limiters of a case, which decide together or alone.
class Several {
  #pg;
  #name;
  #each;

  constructor(pg, limiters, name) {
    this.#pg = pg;
    this.#name = name;
    this.#each = new Map(limiters.map((it) => [it.name, { ...it, limits: asLimits(it.limits) }]));
  }

  // Returns the limiter of a step, and the key for its calls; those that decide together have theirs.
  of({ of = [...this.#each.keys()], groups = {}, keys = {}, modes = {} }) {
    const one = (name) => {
      const { limits, block_after: rule, keyed, statistics, mode } = this.#each.get(name);
      const blockAfter = rule && {
        refusals: rule.refusals,
        withinMs: ms(rule.within_us),
        forMs: ms(rule.for_us),
      };
      const more = { keyed, statistics, mode: modes[name] ?? mode, blockAfter };
      return this.#pg.limiter(this.#real(name), limits, { group: groups[name], ...more });
    };
    const ofKey = (name) => (name in keys ? one(name).withKey(keys[name]) : one(name));
    return typeof of === "string" ? [one(of), keys[of]] : [this.#pg.together(of.map(ofKey))];
  }

  // Returns a step whose costs have the real names.
  renamed(step) {
    const real = (key) => (this.#each.has(key) ? this.#real(key) : key);
    const renamed = (cost) =>
      typeof cost === "object"
        ? Object.fromEntries(Object.entries(cost).map(([key, units]) => [real(key), units]))
        : cost;
    const { cost, estimate, actual } = step;
    return { ...step, cost: renamed(cost), estimate: renamed(estimate), actual: renamed(actual) };
  }

  #real(name) {
    return `${this.#name}.${name}`;
  }
}

function misuse({ Paddlegate, TestClock, InvalidError }, testCase, name) {
  if (testCase.not_in?.includes("wasm") || isAmbiguous(testCase.limits)) return;
  const pg = new Paddlegate();
  const limits = asLimits(testCase.limits);
  const call = {
    limiter: () => pg.limiter("name" in testCase ? testCase.name : name, limits),
    acquire: () => limiter.tryAcquire(request(testCase)),
    peek: () => limiter.peek(request(testCase)),
    correct: () => limiter.correct(testCase.permit, value(testCase.actual)),
    debit: () => limiter.debit(value(testCase.cost)),
    clock: () => new TestClock(testCase.now_us),
  }[testCase.do];
  const limiter = testCase.do === "limiter" ? undefined : pg.limiter(name, limits);
  const { kind, argument } = testCase.expect;
  const error = thrown(call);
  equal(String(error instanceof InvalidError), "true", `${testCase.title}: ${error}`);
  equal(error.code, kind.toUpperCase(), testCase.title);
  equal(error.argument, NAMES[argument] ?? argument, testCase.title);
  if (limiter) {
    const { limit, remaining } = limiter.peek({ cost: 0 });
    equal(remaining, limit, `${testCase.title}: what is left`);
  }
}

// What vectors call otherwise than this package.
const NAMES = {
  expires_at: "expiresAt",
  expires_in: "expiresInMs",
  for: "forMs",
  lock_timeout: "lockTimeout",
  now: "nowUs",
  settle_within: "settleWithinMs",
};
const IN_ORDER = { ...NAMES, interval: "intervalMs" };

function thrown(call) {
  try {
    call();
  } catch (error) {
    return error;
  }
  return undefined;
}

// Members of an object cannot have one name.
const isAmbiguous = (limits) =>
  limits.some(({ label }) => label !== undefined) &&
  new Set(limits.map(({ kind, label = kind }) => label)).size < limits.length;

// The object form, if a limit has a label.
function asLimits(limits) {
  const lists = limits.map(asList);
  if (limits.every(({ label }) => label === undefined)) return lists;
  return Object.fromEntries(limits.map(({ kind, label = kind }, i) => [label, lists[i]]));
}

function asList({ kind, amount, interval_us, interval, offset_us, refund, ...calendar }) {
  const span = interval === undefined ? interval_us / 1e6 : value(interval);
  if (kind === "unlimited" || kind === "paused") return [kind];
  if (kind === "quota") return [kind, amount, calendar.per, calendar.timezone, calendar.starts];
  if (refund !== undefined) return [kind, value(amount), span, refund];
  if (kind === "throttle" && amount === undefined) return [kind, span];
  const offset = offset_us === undefined ? [] : [offset_us / 1e6];
  return [kind, value(amount), span, ...offset];
}

function request({ cost, estimate, settle_within_us }, key) {
  const settleWithinMs = settle_within_us === undefined ? undefined : settle_within_us / 1000;
  return { cost: value(cost), estimate: value(estimate), settleWithinMs, key };
}

function value(written) {
  switch (written) {
    case "$nan":
      return Number.NaN;
    case "$inf":
      return Number.POSITIVE_INFINITY;
    case "$-inf":
      return Number.NEGATIVE_INFINITY;
    case "$2^53":
      return 2 ** 53;
    default:
      return written;
  }
}

// A place of the vector's choice, which waiters take by themselves, stands behind the options.
function enter(limiter, step, key) {
  const { id, patience_us, grace_us = 2_000_000, place, priority, share, weight } = step;
  const queued = { ...request(step, key), priority, share, weight };
  if (patience_us === undefined) return limiter.tryAcquire({ ...queued, id });
  const asked = {
    ...queued,
    waitTimeoutMs: patience_us / 1000,
    claimTimeoutMs: grace_us / 1000,
  };
  return place === "kept" ? limiter.claim(id, asked) : limiter.enqueue(id, asked, place);
}

/** Runs a step that is to fail. */
function attempt(limiter, step, key, permits) {
  const calls = {
    acquire: () => limiter.tryAcquire(request(step, key)),
    peek: () => limiter.peek(request(step, key)),
    debit: () => limiter.debit(step.cost, { key }),
    extend: () => limiter.extend(permits.get(step.permit) ?? step.permit, step.units, { key }),
    correct: () => limiter.correct(permits.get(step.permit) ?? step.permit, step.actual, { key }),
    enter: () => enter(limiter, step, key),
    statistics: () => limiter.stats({ key }),
    history: () => limiter.history({ key }),
    ready: () => limiter.ready(step.count, { key }),
    inspect: () => limiter.inspect({ offset: step.offset, count: step.count, key }),
    queue: () => limiter.queue({ offset: step.offset, count: step.count, key }),
  };
  return (calls[step.do] ?? (() => control(limiter, step, key)))();
}

function control(limiter, step, key) {
  const { label, amount } = step;
  const expires = { expiresInMs: ms(step.expires_in_us), expiresAt: ms(step.expires_at_us) };
  const options = {
    pause: { forMs: ms(step.for_us), until: ms(step.until_us) },
    block: { forMs: ms(step.for_us), until: ms(step.until_us) },
    mode: step.mode === null ? { mode: true } : { mode: step.mode, ...expires },
    override: {
      label,
      limit: amount,
      intervalMs: ms(step.interval_us),
      ...expires,
    },
    overrides: { limits: asLimits(step.limits ?? []), ...expires },
    restore: { label },
  };
  const mode = step.mode === null ? "restore" : "override";
  const names = { controls: "runtimeState", overrides: "override", mode };
  const name = names[step.do] ?? step.do;
  return limiter[name]({ ...options[step.do], key });
}

function sync(limiter, step, key, permit) {
  const { label, remaining, amount: limit } = step;
  const [intervalMs, resetInMs] = [ms(step.interval_us), ms(step.reset_in_us)];
  const resetAt = ms(step.reset_at_us);
  return limiter.reportBudget({
    label,
    remaining,
    limit,
    intervalMs,
    resetInMs,
    resetAt,
    permit,
    key,
  });
}

function learn(limiter, step, key, permit, StreamUsage) {
  const { status, headers, provider, max_learned: maxLearned } = step;
  const body = step.chunk_bytes === undefined ? step.body : streamed(step, StreamUsage);
  return limiter.learnFromResponse(
    { status, headers, body },
    { provider, defaultPauseMs: ms(step.default_pause_us), maxLearned, permit, key },
  );
}

// The usage of a body that is fed in chunks.
function streamed(step, StreamUsage) {
  const [usage, bytes] = [new StreamUsage(), new TextEncoder().encode(step.body)];
  for (let at = 0; at < bytes.length; at += step.chunk_bytes) {
    usage.feed(bytes.subarray(at, at + step.chunk_bytes));
  }
  equal(JSON.stringify(usage.ignored), JSON.stringify(step.unread), step.body);
  return usage;
}

function asLearned({ settlement, learned, ignored }) {
  return JSON.stringify({ settlement, learned, ignored });
}

const ms = (us) => (us === undefined ? undefined : us / 1000);

function asControls({ version, pausedForMs, overrides, expiresInMs, learned, ...more }) {
  const limits = (byLabel) =>
    Object.entries(byLabel).map(([label, { kind, limit, intervalMs }]) => ({
      label,
      kind,
      amount: limit,
      interval_us: micros(intervalMs),
    }));
  return JSON.stringify({
    version,
    paused_for_us: micros(pausedForMs),
    overrides: limits(overrides),
    expires_in_us: micros(expiresInMs),
    learned: limits(learned),
    ...(more.blockedForMs !== null && { blocked_for_us: micros(more.blockedForMs) }),
    ...(more.mode !== null && { mode: more.mode }),
  });
}

const asText = (decision) =>
  JSON.stringify({ allowed: decision.allowed, ...numbers(decision), ...more(decision) });

const asAnswer = (decision) =>
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

// What only some decisions have.
const more = (decision) => ({
  ...(decision.isLowered && { is_lowered: true }),
  ...(decision.wouldRefuse !== null && { would_refuse: decision.wouldRefuse }),
  ...limiterOf(decision),
});

// The name of the limiter in a decision of several, as the case has it.
const limiterOf = ({ limiter }) =>
  limiter === null ? {} : { limiter: limiter.slice(limiter.lastIndexOf(".") + 1) };

/** An inspection in the form of the vectors. */
function asInspection({
  atUs,
  limits,
  pausedForMs,
  blockedForMs,
  mode,
  leases,
  tickets,
  ...counts
}) {
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

function asCounts({ immediate: _, waitTimeMs, heldTimeMs, ...counts }) {
  const { granted, refused, waited, units, corrections, shadowRefused, ...more } = counts;
  const { refusedBy, waits, degraded, errors, nearLimit, estimatedUnits, holds, ...others } = more;
  const times = (counts) => counts.slice(0, counts.findLastIndex((count) => count > 0) + 1);
  // A browser has no `assert`.
  if (degraded !== 0 || errors !== 0) throw new Error(`degraded=${degraded} errors=${errors}`);
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
    ...(waited > 0 && { waits: times(waits) }),
    ...(nearLimit > 0 && { near_limit: nearLimit }),
    ...(estimatedUnits !== units && { estimated_units: estimatedUnits }),
    ...(times(holds).length > 0 && { holds: times(holds) }),
  });
}

function asHistory({ minutes, hours }) {
  if (minutes.length !== 60 || hours.length !== 48)
    throw new Error(`${minutes.length} ${hours.length}`);
  const entries = (list) =>
    list
      .filter(({ start: _, ...counts }) => Object.values(counts).some((count) => count > 0))
      .map(({ start, ...counts }) => ({ start_us: start * 1e6, ...counts }));
  return JSON.stringify({ minutes: entries(minutes), hours: entries(hours) });
}

function numbers(decision) {
  const { limit, remaining, reason, label } = decision;
  return {
    limit,
    remaining,
    retry_after_us: decision.retryAfterUs,
    reset_after_us: decision.resetAfterUs,
    reason,
    label,
    at_us: decision.atUs,
  };
}

const micros = (milliseconds) => (milliseconds === null ? null : Math.round(milliseconds * 1000));

function equal(actual, expected, title) {
  if (actual !== expected) {
    throw new Error(`${title}\n  expected ${expected}\n  received ${actual}`);
  }
}
