// Replays tests/vectors through the public API, for packages/node and packages/wasm. Runs in Node and in a browser alike, so it
// has no `assert`.

/** Opens a store with a clock of its own. `paddlegate` has the exports of the package, `language` is its name in the vectors. */
export function openStore(paddlegate, language, url, options) {
  const clock = new paddlegate.TestClock();
  const pg = new paddlegate.Paddlegate(url, { ...options, clock });
  return { paddlegate, language, clock, pg };
}

/** Throws what a case of a file expected and what it got. `prefix` keeps the names of a store apart. */
export async function replay(store, file, index, prefix = file.name) {
  const testCase = file.cases[index];
  if (file.name === "errors") await misuse(store, testCase, prefix + index);
  else await steps(store, testCase, prefix + (testCase.name ?? index));
}

async function steps({ paddlegate, pg, clock }, testCase, name) {
  const permits = new Map();
  const several = testCase.limiters && new Several(pg, testCase.limiters, name);
  let limiter = several ? undefined : pg.limiter(name, asLimits(testCase.limits));
  let key;
  let last;
  for (const [number, written] of testCase.steps.entries()) {
    const title = `${testCase.title}, step ${number}: ${JSON.stringify(written)}`;
    const step = several?.renamed(written) ?? written;
    if (step.at_us !== undefined) clock.nowUs = step.at_us;
    if (several && step.do !== "together") [limiter, key] = several.of(step);
    const permit = permits.get(step.permit) ?? step.permit;
    const calls = {
      together: () => several.of(step),
      acquire: () => limiter.tryAcquire(described(step, key)),
      peek: () => limiter.peek(described(step, key)),
      headers: () => last.headers(step.fields),
      caller_key: () => callerKey(paddlegate, step),
      plain_key: () => paddlegate.plainKey(step.text ?? hexBytes(step.hex)),
      debit: () => limiter.debit(step.cost, { key }),
      refund: () => limiter.refund(step.units, { key }),
      correct: () => limiter.correct(permit, step.actual, { key }),
      extend: () => limiter.extend(permit, step.units, { key }),
      enter: () => enter(limiter, step, key),
      release: () => limiter.release(permit, { key }),
      renew: () => limiter.renew(permit, { key }),
      cancel: () => limiter.cancel(step.id, { key }, step.gave_up),
      // They cover all keys, so a key is an error.
      statistics: () => limiter.stats({ key: step.error && key }),
      history: () => limiter.history({ key: step.error && key }),
      ready: () => limiter.ready(step.count, { key }),
      inspect: () => limiter.inspect({ offset: step.offset, count: step.count, key }),
      queue: () => limiter.queue({ offset: step.offset, count: step.count, key }),
      sync: () => reportBudget(limiter, step, key, permit),
      learn: () => learnFromResponse(paddlegate, limiter, step, key, permit),
      reset: () => limiter.reset({ key }),
      limits: () => pg.limiter(name, asLimits(step.limits)),
    };
    const call = calls[step.do] ?? (() => control(limiter, step, key));
    if (step.error) {
      const error = await thrown(call);
      equal(error instanceof paddlegate.InvalidError, true, `${title}: ${error?.stack}`);
      equal(error.argument, IN_COMMAND[step.error] ?? step.error, title);
      continue;
    }
    let answer = await call();
    for (let times = step.times ?? 1; times > 1; times -= 1) answer = await call();
    if (step.do === "limits") limiter = answer;
    if (step.do === "acquire" || step.do === "peek") last = answer;
    const granted = step.do === "acquire" || step.do === "enter" ? step.permit : step.as;
    if (granted !== undefined) permits.set(granted, answer.permit);
    if (step.do in SHOWN || "expect" in step) {
      const shown = SHOWN[step.do] ?? asControls;
      equal(JSON.stringify(shown(answer)), JSON.stringify(step.expect), title);
    }
  }
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

async function misuse({ paddlegate, language, pg }, testCase, name) {
  if (testCase.not_in?.includes(language) || isAmbiguous(testCase.limits)) return;
  const make = () =>
    pg.limiter("name" in testCase ? testCase.name : name, asLimits(testCase.limits));
  const limiter = testCase.do === "limiter" ? undefined : make();
  const call = {
    limiter: make,
    acquire: () => limiter.tryAcquire(request(testCase)),
    peek: () => limiter.peek(request(testCase)),
    correct: () => limiter.correct(testCase.permit, value(testCase.actual)),
    debit: () => limiter.debit(value(testCase.cost)),
    clock: () => new paddlegate.TestClock(testCase.now_us),
  }[testCase.do];
  const { kind, argument } = testCase.expect;
  const error = await thrown(call);
  equal(error instanceof paddlegate.InvalidError, true, `${testCase.title}: ${error?.stack}`);
  equal(error.code, kind.toUpperCase(), testCase.title);
  equal(error.argument, NAMES[argument] ?? argument, testCase.title);
  equal(error.message === "", false, testCase.title);
  if (limiter) {
    const { limit, remaining } = await limiter.peek({ cost: 0 });
    equal(remaining, limit, `${testCase.title}: what is left`);
  }
}

// The arguments that have another name in the vectors; in errors of admin commands one more.
const NAMES = {
  expires_at: "expiresAt",
  expires_in: "expiresInMs",
  for: "forMs",
  lock_timeout: "lockTimeout",
  now: "nowUs",
  settle_within: "settleWithinMs",
};
const IN_COMMAND = {
  ...NAMES,
  interval: "intervalMs",
  ipv6_prefix: "ipv6Prefix",
  trusted_proxies: "trustedProxies",
};

async function thrown(call) {
  try {
    await call();
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

const described = (step, key) => ({ ...request(step, key), limits: step.describe });

const callerKey = (paddlegate, step) =>
  paddlegate.callerKey(step.address, {
    forwardedFor: step.forwarded_for,
    trustedProxies: step.trusted_proxies,
    ipv6Prefix: step.ipv6_prefix,
  });

const hexBytes = (hex) => Uint8Array.from(hex.match(/../g), (byte) => Number.parseInt(byte, 16));

const WORDS = {
  $nan: Number.NaN,
  $inf: Number.POSITIVE_INFINITY,
  "$-inf": Number.NEGATIVE_INFINITY,
  "$2^53": 2 ** 53,
};

/** Returns a value of the vectors, which have words for what JSON lacks; also a cost by label. */
function value(json) {
  if (typeof json === "string" && json in WORDS) return WORDS[json];
  if (typeof json !== "object" || json === null || Array.isArray(json)) return json;
  return Object.fromEntries(Object.entries(json).map(([label, units]) => [label, value(units)]));
}

/** Takes a permit, or a ticket for a call that may wait. */
function enter(limiter, step, key) {
  const { id, patience_us, grace_us = 2_000_000, place, priority, share, weight } = step;
  const asked = { ...request(step, key), priority, share, weight };
  if (patience_us === undefined) return limiter.tryAcquire({ ...asked, id });
  const queued = { ...asked, waitTimeoutMs: ms(patience_us), claimTimeoutMs: ms(grace_us) };
  // Waiters take the place of their earlier ticket, which is behind the options.
  return place === "kept" ? limiter.claim(id, queued) : limiter.enqueue(id, queued, place);
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

function reportBudget(limiter, step, key, permit) {
  const { label, remaining, amount: limit } = step;
  const [intervalMs, resetInMs] = [ms(step.interval_us), ms(step.reset_in_us)];
  const budget = { label, remaining, limit, intervalMs, resetInMs, resetAt: ms(step.reset_at_us) };
  return limiter.reportBudget({ ...budget, permit, key });
}

function learnFromResponse({ StreamUsage }, limiter, step, key, permit) {
  const { status, headers, provider, max_learned: maxLearned } = step;
  const body = step.chunk_bytes === undefined ? step.body : streamed(StreamUsage, step);
  const defaultPauseMs = ms(step.default_pause_us);
  const options = { provider, defaultPauseMs, maxLearned, permit, key };
  return limiter.learnFromResponse({ status, headers, body }, options);
}

/** Returns the usage of a body that is fed in chunks. */
function streamed(StreamUsage, step) {
  const [usage, bytes] = [new StreamUsage(), new TextEncoder().encode(step.body)];
  for (let at = 0; at < bytes.length; at += step.chunk_bytes) {
    usage.feed(bytes.subarray(at, at + step.chunk_bytes));
  }
  equal(JSON.stringify(usage.ignored), JSON.stringify(step.unread), step.body);
  return usage;
}

const asLearned = ({ settlement, learned, ignored }) => ({ settlement, learned, ignored });

const ms = (us) => (us === undefined ? undefined : us / 1000);

function asControls({ version, pausedForMs, overrides, expiresInMs, learned, ...more }) {
  const limits = (byLabel) =>
    Object.entries(byLabel).map(([label, { kind, limit, intervalMs }]) => ({
      label,
      kind,
      amount: limit,
      interval_us: micros(intervalMs),
    }));
  return {
    version,
    paused_for_us: micros(pausedForMs),
    overrides: limits(overrides),
    expires_in_us: micros(expiresInMs),
    learned: limits(learned),
    ...(more.blockedForMs !== null && { blocked_for_us: micros(more.blockedForMs) }),
    ...(more.mode !== null && { mode: more.mode }),
  };
}

const asDecision = (decision) => ({
  allowed: decision.allowed,
  ...numbers(decision),
  ...more(decision),
});

const asEntered = (decision) => ({
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
  return {
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
  };
}

const ticketOf = ({ id, priority, share, waitedMs, ready }) => ({
  id,
  priority,
  share,
  waited_us: micros(waitedMs),
  ready,
});

function asCounts({ immediate, waitTimeMs, heldTimeMs, ...counts }) {
  const { granted, refused, waited, units, corrections, shadowRefused, ...more } = counts;
  const { refusedBy, waits, degraded, errors, nearLimit, estimatedUnits, holds, ...others } = more;
  const times = (counts) => counts.slice(0, counts.findLastIndex((count) => count > 0) + 1);
  equal(immediate, granted - waited, "immediate");
  equal(degraded + errors, 0, "degraded and errors");
  return {
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
  };
}

function asHistory({ minutes, hours }) {
  equal(minutes.length, 60, "minutes");
  equal(hours.length, 48, "hours");
  const entries = (list) =>
    list
      .filter(({ start: _, ...counts }) => Object.values(counts).some((count) => count > 0))
      .map(({ start, ...counts }) => ({ start_us: start * 1e6, ...counts }));
  return { minutes: entries(minutes), hours: entries(hours) };
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

const asItIs = (answer) => answer;

/** What the vectors say of an answer, by step; other steps return the runtime state. */
const SHOWN = {
  acquire: asDecision,
  peek: asDecision,
  headers: asItIs,
  caller_key: asItIs,
  plain_key: asItIs,
  debit: asDecision,
  refund: asDecision,
  extend: (answer) => (typeof answer === "string" ? answer : asDecision(answer)),
  enter: asEntered,
  correct: asItIs,
  release: asItIs,
  renew: micros,
  cancel: asItIs,
  statistics: asCounts,
  history: asHistory,
  ready: asItIs,
  inspect: asInspection,
  queue: (tickets) => tickets.map(ticketOf),
  sync: asLearned,
  learn: asLearned,
};

function equal(actual, expected, title) {
  if (actual !== expected) {
    throw new Error(`${title}\n  expected ${expected}\n  received ${actual}`);
  }
}
