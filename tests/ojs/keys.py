"""The rate limits of a job server, by key. All that is decided and counted is Paddlegate's."""

from datetime import datetime, timezone

from paddlegate import Bucket, Concurrency, Paddlegate, Throttle, Window

# A strategy is the label of its limit.
STRATEGIES = ("concurrency", "rate", "throttle")
# In force for a strategy that only an override has named, when that has ended: as good as no
# limit.
NO_LIMIT = {
    "concurrency": Concurrency(100_000),
    "window": Window(100_000, 1e-6),
    "bucket": Bucket(10**12, 1e-6),
    "throttle": Throttle(1e-6),
}


def parse(document):
    """Read a policy: the name of its key, what happens to refused jobs, its limits by strategy.

    A store of its own tells the numbers and leaves no trace.
    """
    store = Paddlegate("memory://")
    [limiter] = store.limiters_from_document(document).values()
    limiter.try_acquire()
    limits = [limit for listed in store.limiters() for limit in listed.limits]
    name = limiter.name.removeprefix("ojs/key/").removeprefix("ojs/")
    return name, limiter.on_limit, {limit.label: limit for limit in limits}


def rfc3339(micros):
    time = datetime.fromtimestamp(micros / 1e6, timezone.utc)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def iso8601(seconds):
    """Write a duration: `PT1M`, `PT0.1S`, `P1DT12H`."""
    micros = round(seconds * 1e6)
    parts = [("D", 86_400_000_000), ("H", 3_600_000_000), ("M", 60_000_000)]
    written = {}
    for letter, unit in parts:
        written[letter], micros = divmod(micros, unit)
    second = f"{micros / 1e6:.6f}".rstrip("0").rstrip(".")
    days = f"{written['D']}D" if written["D"] else ""
    time = "".join(f"{written[letter]}{letter}" for letter in "HM" if written[letter])
    if micros or not (days or time):
        time += f"{second}S"
    return f"P{days}" + (f"T{time}" if time else "")


class Key:
    """One key: the latest definition of its limits, on one limiter."""

    def __init__(self, name, make, clock):
        self.name = name
        self.exceeded = None
        self._make, self._clock = make, clock
        self._defined = {}
        # What kind of limit each strategy is; none goes, because an override may still rule it.
        self._kinds = {}
        # As `limiters_from_document` names it: a queue is called `queue/...` here, and no key has
        # a slash.
        self._limiter_name = f"ojs/{name}" if "/" in name else f"ojs/key/{name}"
        self.limiter = make(self._limiter_name, {})

    def define(self, limits):
        """Take over a definition, and tell whether it changed an earlier one."""
        known, self._defined = self._defined, limits
        self._add_strategies({strategy: limit.kind for strategy, limit in limits.items()})
        return bool(known) and known != limits

    def _rule(self, strategy):
        kind, limit = self._kinds[strategy], self._defined.get(strategy)
        if not limit:
            return NO_LIMIT[kind]
        of_kind = {
            "concurrency": lambda: Concurrency(limit.amount),
            "window": lambda: Window(limit.amount, limit.interval),
            "bucket": lambda: Bucket(limit.amount, limit.interval),
            "throttle": lambda: Throttle(limit.interval, limit=limit.amount),
        }
        return of_kind[kind]()

    def _limiter(self, alone=None):
        """Make the limiter; or one that reads the same counters, but limits in one way alone."""
        rules = {
            strategy: self._rule(strategy)
            for strategy in STRATEGIES
            if strategy in self._kinds and alone in (None, strategy)
        }
        return self._make(self._limiter_name, rules)

    def _add_strategies(self, kinds):
        """Add strategies. An override stays in force if its limit changes its kind."""
        changed = [it for it in kinds if self._kinds.get(it, kinds[it]) != kinds[it]]
        overrides, runtime_state = self._in_force() if changed else ({}, None)
        self._kinds = self._kinds | kinds
        self.limiter = self._limiter()
        for strategy in overrides.keys() & changed:
            amount, interval = overrides[strategy].amount, overrides[strategy].interval
            self.limiter.restore(strategy)
            self.limiter.override(
                amount, interval, label=strategy, expires_in=runtime_state.expires_in
            )

    def admit(self, job, on_limit):
        return self.limiter.admit(job, on_limit)

    def strategy(self, decision):
        """Tell which strategy refused; a pause by a worker's signal is called "dynamic"."""
        if decision.reason == "paused":
            return "dynamic"
        return decision.label

    def apply_ojs_signal(self, failure):
        """Pause as a failure says; a pause that ends later stays.

        Answers when it ends, in microseconds; None when the failure is no signal.
        """
        self._ensure_a_strategy()
        if not self.limiter.apply_ojs_signal(failure):
            return None
        return self._clock.after(self.limiter.runtime_state().paused_for or 0)

    def change(self, body):
        """Override what the body names, remove what it nulls, keep the rest."""
        values = {name: it for name, it in body.items() if it is not None and name != "expires_at"}
        named = parse({"key": "override", **values})[2] if values else {}
        self._add_strategies({it: named[it].kind for it in named.keys() - self._kinds.keys()})
        self._ensure_a_strategy()
        self.limiter.apply_ojs_override(body)

    def _ensure_a_strategy(self):
        """Add a strategy to a limiter without one, which would grant every job even in a pause."""
        if not self._kinds:
            self._add_strategies({"concurrency": "concurrency"})

    def _in_force(self):
        runtime_state = self.limiter.runtime_state()
        return runtime_state.overrides, runtime_state

    def restore(self):
        """End every override."""
        self.limiter.restore()

    def clear(self):
        """Forget what was counted and ordered. Leases go too, so there must be none."""
        self.limiter.reset()

    def headers(self):
        """The headers of an answer about this key; none when nothing limits it."""
        decision = self.limiter.peek()
        if decision.limit is None:
            return {}
        headers = {
            "X-RateLimit-Limit": str(decision.limit),
            "X-RateLimit-Remaining": str(decision.remaining),
        }
        if decision.retry_after is not None:
            # The first full second at which a job would pass.
            ready = -(-self._clock.after(decision.retry_after) // 1_000_000)
            headers["X-RateLimit-Reset"] = str(ready)
        return headers

    def show(self, waiting):
        """Show the state as the specification has it; a strategy that is not there is left out."""
        told, runtime_state = self._in_force()
        ruling = self._defined | told
        shown = {"key": self.name}
        show = {"concurrency": self._concurrency, "rate": self._rate, "throttle": self._throttle}
        for strategy in STRATEGIES:
            if strategy in ruling:
                shown[strategy] = show[strategy](ruling[strategy])
        shown["waiting_count"] = waiting
        if told:
            shown["override"] = {strategy: _numbers(strategy, told[strategy]) for strategy in told}
            if runtime_state.expires_in is not None:
                shown["override"]["expires_at"] = rfc3339(
                    self._clock.after(runtime_state.expires_in)
                )
        if runtime_state and runtime_state.paused_for:
            shown["paused_until"] = rfc3339(self._clock.after(runtime_state.paused_for))
        return shown

    def _concurrency(self, limit):
        active = self.limiter.stats().leases
        # Nobody is evicted by a lower limit.
        return {
            "limit": limit.amount,
            "active": active,
            "available": max(limit.amount - active, 0),
        }

    def _rate(self, limit):
        # A look describes the tightest limit only. All of this one is asked for, of which
        # whatever was counted leaves less; throttle and concurrency do not count what a start
        # costs. A pause or another override that lasts longer hides it.
        look = self._limiter(alone="rate").peek(limit.amount)
        count, resets = None, None
        if look.allowed:
            count, resets = 0, 0.0
        elif look.reason == self._kinds["rate"]:
            count, resets = look.limit - look.remaining, look.reset_after
        return _numbers("rate", limit) | {
            "current_count": count,
            "window_resets_at": None if resets is None else rfc3339(self._clock.after(resets)),
        }

    def _throttle(self, limit):
        look = self._limiter(alone="throttle").peek()
        known = look.allowed or look.reason == "throttle"
        return _numbers("throttle", limit) | {
            "next_allowed_at": rfc3339(self._clock.after(look.retry_after)) if known else None
        }


def _numbers(strategy, limit):
    if strategy == "concurrency":
        return limit.amount
    return {"limit": limit.amount, "period": iso8601(limit.interval)}
