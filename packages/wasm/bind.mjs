// The public API around the generated module of one platform.
import { invalid, nativeLimits, withNames } from "./arguments.mjs";
import * as answers from "./dist/shared/answers.mjs";
import { blockAfterNumbers, flag, only } from "./dist/shared/arguments.mjs";
import {
  DataError,
  IN_LIMIT,
  InternalError,
  InvalidError,
  NAMES,
  OverLimitError,
  PaddlegateError,
  UnavailableError,
} from "./dist/shared/errors.mjs";
import { constructors, limitList, withFactories, withLockTimeout } from "./dist/shared/limits.mjs";
import { SKIPPED, skips } from "./dist/shared/within-limit.mjs";
import limiters from "./limiter.mjs";
import { WaiterHub } from "./waiting.mjs";

const { milliseconds, wholeMs } = answers;

// `more` creates the additional exports of the full module and adds methods to the classes.
export default function bind(module, more) {
  const { Store, TestClock: NativeClock, kinds } = module;

  // Access of `more` to private members.
  const inside = {};

  class Decision {
    constructor(values) {
      Object.assign(this, values);
      Object.freeze(this);
    }

    headers(fields) {
      const names = kinds().split(",");
      const row = ({ limit, remaining, retryAfterUs, resetAfterUs }, second, kind) =>
        [limit, second, remaining, retryAfterUs, resetAfterUs, kind].map((it) => it ?? -1);
      const numbers = [
        row(this, this.atUs, -1),
        ...this.limits.map((limit) => {
          return row(limit, Math.round(limit.intervalMs * 1000), names.indexOf(limit.kind));
        }),
      ].flat();
      const texts = [this, ...this.limits].flatMap(({ label, limiter }) => [
        label ?? "",
        limiter ?? "",
      ]);
      const given = [this.allowed, new Float64Array(numbers), texts, fields];
      const words = withNames(NAMES, () => module.decisionHeaders(host, ...given));
      return Object.fromEntries(
        words.flatMap((name, i) => (i % 2 === 0 ? [[name, words[i + 1]]] : [])),
      );
    }
  }

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
      return new Decision({
        status: answers.STATUSES[status],
        allowed: status === GRANTED,
        limit: limit ?? null,
        remaining: remaining ?? null,
        retryAfterMs: wholeMs(milliseconds(retryAfterUs)),
        resetAfterMs: wholeMs(milliseconds(resetAfterUs)),
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
        readyAfterMs: wholeMs(milliseconds(readyAfterUs)),
        retryAfterUs: retryAfterUs ?? null,
        resetAfterUs: resetAfterUs ?? null,
        readyAfterUs: readyAfterUs ?? null,
        limits: limits ?? answers.NO_LIMITS,
        degraded: false,
        isLowered,
      });
    },
    limits: (view, texts) => {
      // A copy: a WebAssembly call may move its memory and invalidate the view.
      const numbers = [...view];
      const names = kinds().split(",");
      const known = (us) => (us < 0 ? undefined : us);
      const limit = (i) => {
        const [limit, intervalUs, remaining, ...times] = numbers.slice(6 * i, 6 * i + 6);
        const kind = names[times.pop()];
        const [retryAfterUs, resetAfterUs] = times.map(known);
        return answers.decisionLimit({
          limiter: texts[2 * i + 1] || null,
          label: texts[2 * i],
          kind,
          limit,
          intervalUs,
          remaining,
          retryAfterUs,
          resetAfterUs,
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
      return answers.listedLimiter({
        name,
        group,
        keyed,
        mode,
        limits,
        ttl: numbers.at(-1) / 1e6,
      });
    },
    runtimeState: (version, inUse, pausedForUs, blockedForUs, mode, expiresInUs, ...more) => {
      const [overrides, labels, view] = more;
      const limits = unflattened(labels, [...view]).map(([label, kind, limit, interval]) => ({
        label,
        kind,
        limit,
        intervalMs: interval / 1000,
      }));
      return answers.runtimeState({
        version,
        inUse,
        pausedForMs: milliseconds(pausedForUs),
        blockedForMs: milliseconds(blockedForUs),
        mode,
        overrides: limits.slice(0, overrides),
        expiresInMs: milliseconds(expiresInUs),
        learned: limits.slice(overrides),
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
      return answers.statistics({
        granted,
        refused,
        waited,
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
        refusedBy: Object.fromEntries(labels.map((label, i) => [label, counts[i]])),
        waits,
        // They count the calls while the store was away, which that in memory never is.
        degraded: 0,
        errors: 0,
        nearLimit,
        estimatedUnits,
        holds,
      });
    },
    history: answers.history,
    inspection: (view, texts) => {
      // A copy: a WebAssembly call may move its memory and invalidate the view.
      const [number, text] = [[...view], texts].map((list) => {
        const values = list.values();
        return () => values.next().value;
      });
      const unlessNegative = (value) => (value < 0 ? null : value);
      const span = () => milliseconds(unlessNegative(number()));
      const list = (entry) => Array.from({ length: number() }, entry);
      const names = kinds().split(",");
      return answers.inspection({
        atUs: number(),
        pausedForMs: span(),
        blockedForMs: span(),
        leaseCount: number(),
        ticketCount: number(),
        mode: text(),
        limits: list(() => ({
          label: text(),
          kind: names[number()],
          limit: number(),
          intervalMs: span(),
          source: text(),
          taken: number(),
          remaining: number(),
          nextAfterMs: span(),
          resetAfterMs: span(),
        })),
        leases: list(() => ({
          id: text(),
          heldForMs: span(),
          endsInMs: span(),
          fencingToken: unlessNegative(number()),
        })),
        tickets: list(() => ({
          id: text(),
          share: text() || null,
          priority: number(),
          waitedMs: span(),
          ready: number() === 1,
        })),
      });
    },
    learned: (settlement, learned, ignored, cost, pauseUs, scope, bucket) =>
      answers.learnedReport({
        settlement,
        learned: [...learned],
        ignored: [...ignored],
        cost,
        pauseMs: milliseconds(pauseUs),
        scope,
        bucket,
      }),
    // A refusal is a decision here.
    overLimit: (message) => new InternalError(message),
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

  const { Limiter, Permit, idOf } = limiters(module, host, inside);

  // The clock of stores in tests, which moves only when a test moves it.
  class TestClock {
    #native;
    #hubs = [];

    static {
      // Returns the clock once more, for a store to take over; undefined without one.
      inside.clock = (clock) => {
        if (clock === undefined || clock === null) return undefined;
        if (typeof clock !== "object" || !(#native in clock)) {
          throw new InvalidError("clock", "must be a TestClock");
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

  class Paddlegate extends withFactories(OPTIONS) {
    #store;
    #hub = new WaiterHub();

    static {
      inside.store = (pg) => pg.#store;
      inside.limiter = (pg, ...made) => pg.#made(...made);
    }

    constructor(url, options) {
      super();
      const { clock } = only(["clock"], options);
      this.#store = new Store(host, url, inside.clock(clock));
      inside.follow(clock, this.#hub);
    }

    limiter(name, limits, options) {
      const { lockTimeoutMs, ttl, group, keyed, statistics, ...more } = only(
        ["lockTimeoutMs", ...OPTIONS],
        options,
      );
      const { mode, onLimit, waitTimeoutMs } = more;
      const switches = [flag("keyed", keyed, false), flag("statistics", statistics, true)];
      const rule = blockAfterNumbers(more.blockAfter);
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
    ...constructors,
    PaddlegateError,
    OverLimitError,
    InvalidError,
    UnavailableError,
    DataError,
    InternalError,
    ...more?.(module, host, { Paddlegate, Limiter, Permit, inside, idOf }),
  };
}

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
