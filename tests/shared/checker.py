"""Proves from recorded histories that no limit was exceeded and that no call was refused in vain.

It shares nothing with the core: whole numbers only, and every claim is checked for itself. The
times are the limiter's own. When a correction took effect is known only to lie between two looks
at the clock; the proofs take what is certain, so a sound history is never rejected.
"""

import json
from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise


@dataclass(frozen=True)
class Grant:
    at: int
    units: int
    permit: str | None = None


@dataclass(frozen=True)
class Refusal:
    at: int
    units: int
    retry: int
    reason: str = ""


@dataclass(frozen=True)
class Settlement:
    """What a worker was told about a correction, made not before `after`, nor after `before`."""

    permit: str
    actual: int
    answer: str
    after: int
    before: int


@dataclass
class History:
    grants: list[Grant] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    settlements: list[Settlement] = field(default_factory=list)

    @classmethod
    def joined(cls, histories):
        histories = list(histories)
        parts = ("grants", "refusals", "settlements")
        return cls(*(list(chain(*(getattr(h, part) for h in histories))) for part in parts))


def read(path):
    """Read the histories that one worker has written, by limiter."""
    histories = defaultdict(History)
    for line in path.read_text().splitlines():
        record = json.loads(line)
        history = histories[record.pop("limiter")]
        match record.pop("is"):
            case "grant":
                history.grants.append(Grant(**record))
            case "refusal":
                history.refusals.append(Refusal(**record))
            case "settlement":
                history.settlements.append(Settlement(**record))
    return histories


def violations(limits, history):
    """Say what is wrong with the history of a limiter under all of `limits`, in words."""
    yield from settled_wrongly(history)
    charges = charged(history)
    times = [charge.at for charge in charges]
    for at, following in pairwise([*times, None]):
        if at == following:
            continue
        until_now = charges[: bisect_right(times, at)]
        for limit in limits:
            if limit.wait(until_now, at, 0, False):
                yield f"exceeded: {limit} at={at}"
    for refusal in history.refusals:
        at, units = refusal.at, refusal.units
        certain = charges[: bisect_left(times, at)]
        possible = charges[: bisect_right(times, at)]
        least = max(limit.wait(certain, at, units, False) for limit in limits)
        most = max(limit.wait(possible, at, units, True) for limit in limits)
        if most == 0:
            yield f"refused in vain: {refusal}"
        elif not least <= refusal.retry <= most:
            yield f"wrong time to retry: {refusal} least={least} most={most}"


def settled_wrongly(history):
    """Find permits that were given twice, and corrections that took effect more than once."""
    permits = [grant.permit for grant in history.grants if grant.permit]
    if len(permits) != len(set(permits)):
        yield "two grants have the same permit"
    answers = defaultdict(list)
    for settlement in history.settlements:
        answers[settlement.permit].append(settlement.answer)
    for permit, given in answers.items():
        if permit not in permits:
            yield f"settled, but never granted: permit={permit}"
        if sorted(given) != ["already"] * (len(given) - 1) + ["settled"]:
            yield f"not settled exactly once: permit={permit} answers={given}"


def shares(limits, history):
    """Tell how much of each limit was used in the time of the history, as (taken, possible)."""
    charges = charged(history)
    end = max(record.at for record in (*history.grants, *history.refusals))
    return [limit.share(charges, charges[0].at, end) for limit in limits]


@dataclass(frozen=True)
class Charge:
    """A grant and its correction."""

    at: int
    units: int
    actual: int | None = None
    after: int = 0
    before: int = 0

    @property
    def final(self):
        return self.units if self.actual is None else self.actual

    def counted(self, now, most):
        """Give the least or the most that it may have counted for at `now`."""
        if self.actual is None or now < self.after:
            return self.units
        if now > self.before:
            return self.actual
        return (max if most else min)(self.units, self.actual)

    def jumps(self, now, most):
        """Give the times and sizes of its jumps of a meter that give the least or most level."""
        yield self.at, self.units
        jump = self.final - self.units
        late = jump > 0 if most else jump < 0
        if jump and (self.after <= now if late else self.before < now):
            yield self.before if late else self.after, jump


def charged(history):
    settlements = {s.permit: s for s in history.settlements if s.answer == "settled"}
    charges = []
    for grant in sorted(history.grants, key=lambda grant: grant.at):
        charge = Charge(grant.at, grant.units)
        if s := settlements.get(grant.permit):
            charge = replace(charge, actual=s.actual, after=s.after, before=s.before)
        charges.append(charge)
    return charges


@dataclass(frozen=True)
class Bucket:
    """At most `limit` in each interval that starts at a multiple of it."""

    limit: int
    interval: int

    def wait(self, charges, now, units, most):
        """Give the time until `units` more would fit after all of `charges`."""
        elapsed = now % self.interval
        first = bisect_left(charges, now - elapsed, key=lambda charge: charge.at)
        taken = sum(charge.counted(now, most) for charge in charges[first:])
        return self.interval - elapsed if taken + units > self.limit else 0

    def share(self, charges, start, end):
        first, last = -(-start // self.interval), end // self.interval
        taken = sum(c.final for c in charges if first <= c.at // self.interval < last)
        return taken, (last - first) * self.limit


@dataclass(frozen=True)
class Window:
    """At most `limit` in any interval; what is one interval old does not count any more."""

    limit: int
    interval: int

    def wait(self, charges, now, units, most):
        first = bisect_right(charges, now - self.interval, key=lambda charge: charge.at)
        live = [(charge.at, charge.counted(now, most)) for charge in charges[first:]]
        excess = sum(counted for _, counted in live) + units - self.limit
        for at, counted in live:
            if excess <= 0:
                break
            excess -= counted
            if excess <= 0:
                return at + self.interval - now
        return 0

    def share(self, charges, start, end):
        whole = (end - start) // self.interval
        taken = sum(c.final for c in charges if c.at < start + whole * self.interval)
        return taken, whole * self.limit


@dataclass(frozen=True)
class Meter:
    """In any time d at most capacity + capacity * d / interval. Levels are units * interval."""

    capacity: int
    interval: int

    def wait(self, charges, now, units, most):
        jumps = [jump for charge in charges for jump in charge.jumps(now, most)]
        # What happened at one time may have happened in any order.
        jumps.sort(key=lambda jump: (-jump[0], -jump[1] if most else jump[1]))
        level = total = 0
        for at, jump in jumps:
            total += jump * self.interval
            level = max(level, total - self.capacity * max(now - at, 0))
        excess = level + (units - self.capacity) * self.interval
        return max(-(-excess // self.capacity), 0)

    def share(self, charges, start, end):
        taken = sum(charge.final for charge in charges)
        return taken * self.interval, self.capacity * (self.interval + end - start)


@dataclass(frozen=True)
class Throttle:
    """Grants of any cost at least an interval apart."""

    interval: int

    def wait(self, charges, now, units, most):
        if len(charges) > 1 and charges[-1].at - charges[-2].at < self.interval:
            return self.interval
        since = now - charges[-1].at if charges else self.interval
        return self.interval - since if units and since < self.interval else 0

    def share(self, charges, start, end):
        return len(charges), (end - start) // self.interval + 1


KINDS = {"bucket": Bucket, "window": Window, "leaky": Meter, "points": Meter, "throttle": Throttle}


def rules(limits):
    """Make the rules of tuples as the packages take them, intervals in microseconds."""
    return [KINDS[kind](*numbers) for kind, *numbers in limits]
