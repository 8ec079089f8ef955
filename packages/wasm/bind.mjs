// The public API around the generated module of one platform.
// The build converts this file to dist/bind.cjs for CommonJS: keep the one `export default` at the start of its line.
import {
  blockAfter,
  DataError,
  flag,
  IN_LIMIT,
  InternalError,
  InvalidError,
  invalid,
  limitList,
  milliseconds,
  NAMES,
  nativeLimits,
  OverLimitError,
  only,
  PaddlegateError,
  skips,
  UnavailableError,
  values,
  wholeMilliseconds,
  withLockTimeout,
  withNames,
} from "./arguments.mjs";
import limiters from "./limiter.mjs";
import { WaiterHub } from "./waiting.mjs";

// `more` creates the additional exports of the full module and adds methods to the classes.
export default function bind(module, more) {
  const { Store, TestClock: NativeClock, kinds } = module;

  // Access of `more` to private members.
  const inside = {};

  // The functions that WebAssembly calls to create public objects.
  const host = {
    decision: (
      status,
      limit,
      remaining,
      retryAfterUs,
      resetAfterUs,
      reason,
      wouldRefuse,
      label,
      limiter,
      atUs,
      ...more
    ) => {
      const [permit, leaseUs, fencingToken, ticket, position, readyAfterUs, ...last] = more;
      const [limits, isLowered] = last;
      return Object.freeze({
        status: STATUSES[status],
        allowed: status === GRANTED,
        limit: limit ?? null,
        remaining: remaining ?? null,
        retryAfterMs: wholeMilliseconds(retryAfterUs),
        resetAfterMs: wholeMilliseconds(resetAfterUs),
        reason: reason ?? null,
        wouldRefuse: wouldRefuse ?? null,
        label: label ?? null,
        limiter: limiter ?? null,
        atUs,
        permit: permit ?? null,
        leaseMs: milliseconds(leaseUs),
        fencingToken: fencingToken ?? null,
        ticket: ticket ?? null,
        position: position ?? null,
        readyAfterMs: wholeMilliseconds(readyAfterUs),
        retryAfterUs: retryAfterUs ?? null,
        resetAfterUs: resetAfterUs ?? null,
        readyAfterUs: readyAfterUs ?? null,
        limits: limits ?? NO_LIMITS,
        degraded: false,
        isLowered,
      });
    },
    limits: (view, texts) => {
      // A copy: a WebAssembly call may move its memory and invalidate the view.
      const numbers = [...view];
      const known = (us) => (us < 0 ? undefined : us);
      const limit = (i) => {
        const [limit, intervalUs, remaining, ...times] = numbers.slice(5 * i, 5 * i + 5);
        const [retryAfterUs, resetAfterUs] = times.map(known);
        return Object.freeze({
          limiter: texts[2 * i + 1] || null,
          label: texts[2 * i],
          limit,
          intervalMs: intervalUs / 1000,
          remaining,
          retryAfterMs: wholeMilliseconds(retryAfterUs),
          resetAfterMs: wholeMilliseconds(resetAfterUs),
          retryAfterUs: retryAfterUs ?? null,
          resetAfterUs: resetAfterUs ?? null,
        });
      };
      return Object.freeze(Array.from({ length: texts.length / 2 }, (_, i) => limit(i)));
    },
    listed: (name, group, keyed, mode, labels, view, calendars) => {
      // A copy: a WebAssembly call may move its memory and invalidate the view.
      const numbers = [...view];
      const texts = calendars.values();
      const next = () => texts.next().value;
      const limits = unflattened(labels, numbers).map(
        ([label, kind, amount, interval, offset]) => ({
          label,
          kind,
          amount,
          interval: interval / 1e6,
          offset: offset / 1e6,
          ...(kind === "quota" && { per: next(), timezone: next(), starts: next() }),
        }),
      );
      return {
        name,
        group: group ?? null,
        keyed,
        mode,
        limits,
        lastUsed: null,
        ttl: numbers.at(-1) / 1e6,
      };
    },
    runtimeState: (version, inUse, pausedForUs, blockedForUs, mode, expiresInUs, ...more) => {
      const [overrides, labels, view] = more;
      const limits = unflattened(labels, [...view]).map(([label, kind, limit, interval]) => [
        label,
        Object.freeze({ kind, limit, intervalMs: interval / 1000 }),
      ]);
      return Object.freeze({
        version,
        inUse,
        pausedForMs: milliseconds(pausedForUs),
        blockedForMs: milliseconds(blockedForUs),
        mode: mode ?? null,
        overrides: Object.freeze(Object.fromEntries(limits.slice(0, overrides))),
        expiresInMs: milliseconds(expiresInUs),
        learned: Object.freeze(Object.fromEntries(limits.slice(overrides))),
      });
    },
    statistics: (view, labels) => {
      const [granted, refused, waited, waitTimeUs, units, corrections, heldTimeUs, ...others] =
        view;
      const [overages, reclaimed, lapsed, leases, tickets, ...last] = others;
      const [shadowRefused, nearLimit, estimatedUnits, ...more] = last;
      const buckets = (more.length - labels.length) / 2;
      const [waits, holds] = [more.slice(0, buckets), more.slice(buckets, 2 * buckets)];
      const counts = more.slice(2 * buckets);
      return Object.freeze({
        granted,
        refused,
        waited,
        immediate: granted - waited,
        waitTimeMs: waitTimeUs / 1000,
        units,
        corrections,
        heldTimeMs: heldTimeUs / 1000,
        overages,
        reclaimed,
        lapsed,
        leases,
        tickets,
        shadowRefused,
        refusedBy: Object.freeze(Object.fromEntries(labels.map((label, i) => [label, counts[i]]))),
        waits: Object.freeze(waits),
        // Of a store that is away; that in memory never is.
        degraded: 0,
        errors: 0,
        nearLimit,
        estimatedUnits,
        holds: Object.freeze(holds),
      });
    },
    history: (...views) => {
      const [minutes, hours] = views.map((view) => {
        const entries = [];
        for (let i = 0; i < view.length; i += 5) {
          const [start, granted, refused, waited, units] = view.slice(i, i + 5);
          entries.push(Object.freeze({ start, granted, refused, waited, units }));
        }
        return Object.freeze(entries);
      });
      return Object.freeze({ minutes, hours });
    },
    inspection: (view, texts) => {
      // A copy: a WebAssembly call may move its memory and invalidate the view.
      const [number, text] = [[...view], texts].map((list) => {
        const values = list.values();
        return () => values.next().value;
      });
      const unlessNegative = (value) => (value < 0 ? null : value);
      const span = () => milliseconds(unlessNegative(number()));
      const list = (entry) => Object.freeze(Array.from({ length: number() }, entry));
      const names = kinds().split(",");
      return Object.freeze({
        atUs: number(),
        pausedForMs: span(),
        blockedForMs: span(),
        leaseCount: number(),
        ticketCount: number(),
        mode: text(),
        limits: list(() =>
          Object.freeze({
            label: text(),
            kind: names[number()],
            limit: number(),
            intervalMs: span(),
            source: text(),
            taken: number(),
            remaining: number(),
            nextAfterMs: span(),
            resetAfterMs: span(),
          }),
        ),
        leases: list(() =>
          Object.freeze({
            id: text(),
            heldForMs: span(),
            endsInMs: span(),
            fencingToken: unlessNegative(number()),
          }),
        ),
        tickets: list(() =>
          Object.freeze({
            id: text(),
            share: text() || null,
            priority: number(),
            waitedMs: span(),
            ready: number() === 1,
          }),
        ),
      });
    },
    learned: (settlement, learned, ignored, cost, pauseUs, scope, bucket) =>
      Object.freeze({
        settlement: settlement ?? null,
        learned: Object.freeze([...learned]),
        ignored: Object.freeze([...ignored]),
        cost: cost ?? null,
        pauseMs: milliseconds(pauseUs),
        scope: scope ?? null,
        bucket: bucket ?? null,
      }),
    overLimit: (message) => new OverLimitError(message),
    invalid,
    unavailable: (message, mayHaveCounted) => new UnavailableError(message, mayHaveCounted),
    data: (message) => new DataError(message),
    internal: (message) => new InternalError(message),
  };

  // Returns label, kind, amount, interval and offset of each limit.
  const unflattened = (labels, numbers) => {
    const names = kinds().split(",");
    return labels.map((label, i) => {
      const [kind, ...others] = numbers.slice(4 * i, 4 * i + 4);
      return [label, names[kind], ...others];
    });
  };

  const { Limiter, Permit, SKIPPED, idOf } = limiters(module, host, inside);

  // The clock of stores in tests, which moves only when a test moves it.
  class TestClock {
    #native;
    #hubs = [];

    static {
      // Returns the clock once more, for a store to take over; undefined without one.
      inside.clock = (clock) => {
        if (clock === undefined || clock === null) return undefined;
        if (typeof clock !== "object" || !(#native in clock)) {
          throw new InvalidError("must be a TestClock", "clock");
        }
        return clock.#native.share();
      };
      inside.follow = (clock, hub) => clock?.#hubs.push(new WeakRef(hub));
    }

    constructor(nowUs = 0) {
      this.#native = new NativeClock(host, nowUs);
    }

    get nowUs() {
      return this.#native.now();
    }

    set nowUs(nowUs) {
      this.#native.set(nowUs);
    }

    advance(span) {
      this.#native.advance(span);
      for (const hub of this.#hubs) hub.deref()?.deliver();
    }
  }

  class Paddlegate {
    #store;
    #hub = new WaiterHub();

    static {
      inside.store = (pg) => pg.#store;
      inside.limiter = (pg, ...made) => pg.#made(...made);
    }

    constructor(url, options) {
      const { clock } = only(["clock"], options);
      this.#store = new Store(host, url, inside.clock(clock));
      inside.follow(clock, this.#hub);
    }

    concurrent(name, limit, options) {
      return this.limiter(name, [["concurrency", limit]], options);
    }

    bucket(name, limit, interval, options) {
      const { offset, ...others } = only(["offset", ...OPTIONS], options);
      return this.limiter(name, [["bucket", limit, interval, offset]], others);
    }

    window(name, limit, interval, options) {
      return this.limiter(name, [["window", limit, interval]], only(OPTIONS, options));
    }

    leaky(name, capacity, drain, options) {
      const { refund, ...others } = only(["refund", ...OPTIONS], options);
      return this.limiter(name, [["leaky", capacity, drain, refund]], others);
    }

    points(name, capacity, refill, options) {
      const { refund, ...others } = only(["refund", ...OPTIONS], options);
      return this.limiter(name, [["points", capacity, refill, refund]], others);
    }

    quota(name, limit, per, options) {
      const { timezone, starts, ...others } = only(["timezone", "starts", ...OPTIONS], options);
      return this.limiter(name, [["quota", limit, per, timezone, starts]], others);
    }

    throttle(name, interval, options) {
      const { limit = 1, ...others } = only(["limit", ...OPTIONS], options);
      return this.limiter(name, [["throttle", limit, interval]], others);
    }

    unlimited(name = "unlimited", options = undefined) {
      const ofKinds = ["offset", "limit", "refund", "timezone", "starts"];
      const others = { ...only([...ofKinds, "lockTimeoutMs", ...OPTIONS], options) };
      for (const name of ofKinds) delete others[name];
      return this.limiter(name, [["unlimited"]], others);
    }

    paused(name, options) {
      return this.limiter(name, [["paused"]], only(OPTIONS, options));
    }

    limiter(name, limits, options) {
      const { lockTimeoutMs, ttl, group, keyed, statistics, ...more } = only(
        ["lockTimeoutMs", ...OPTIONS],
        options,
      );
      const { mode, onLimit, waitTimeoutMs } = more;
      const switches = [flag("keyed", keyed, false), flag("statistics", statistics, true)];
      const rule = blockAfter(more.blockAfter);
      const given = limitList(limits);
      const specs = withLockTimeout(given, lockTimeoutMs);
      const inner = withNames(specs === given ? IN_LIMIT : NAMES, () =>
        this.#store.limiter(
          name,
          nativeLimits(specs),
          ttl,
          group,
          ...switches,
          mode,
          rule,
          more.aging,
        ),
      );
      return this.#made(inner, waitTimeoutMs, onLimit);
    }

    together(limiters, options) {
      const { onLimit, waitTimeoutMs } = only(["waitTimeoutMs", "onLimit"], options);
      const inner = this.#store.together(inside.shared(limiters));
      return this.#made(inner, waitTimeoutMs, onLimit);
    }

    limiters(options) {
      const { prefix } = only(["prefix"], options);
      return this.#store.limiters(prefix);
    }

    limiterPage(options) {
      const { prefix, cursor } = only(["prefix", "cursor"], options);
      return { limiters: this.#store.limiters(prefix, cursor), cursor: null };
    }

    #made(inner, waitTimeoutMs, onLimit) {
      const timeoutMs = this.#store.waitTimeoutMs(waitTimeoutMs);
      return new Limiter(this.#store, inner, this.#hub, timeoutMs, skips(onLimit));
    }
  }

  return {
    Paddlegate,
    TestClock,
    SKIPPED,
    ...values,
    PaddlegateError,
    OverLimitError,
    InvalidError,
    UnavailableError,
    DataError,
    InternalError,
    ...more?.(module, host, { Paddlegate, Limiter, Permit, inside, idOf }),
  };
}

const NO_LIMITS = Object.freeze([]);
const STATUSES = ["refused", "granted", "queued", "no_ticket"];
const GRANTED = 1;

const OPTIONS = [
  "waitTimeoutMs",
  "onLimit",
  "ttl",
  "group",
  "keyed",
  "statistics",
  "mode",
  "blockAfter",
  "aging",
];
