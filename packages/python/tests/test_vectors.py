# mypy: allow-untyped-calls
"""The cases that all languages share; see tests/vectors/README.md."""

import asyncio
import dataclasses
import functools
import json
import math
import uuid
from pathlib import Path
from typing import Any

import pytest
from paddlegate import (
    Bucket,
    Concurrency,
    InvalidError,
    Leaky,
    Paddlegate,
    PaddlegateError,
    Points,
    Quota,
    StreamUsage,
    TestClock,
    Throttle,
    Window,
    caller_key,
    plain_key,
)
from paddlegate._asyncio import run_operation
from paddlegate._order import order

DIRECTORY = Path(__file__).parents[3] / "tests" / "vectors"
# `waiting.json` has no limiters: see test_waiter.py.
FILES = {
    path.stem: json.loads(path.read_text())
    for path in sorted(DIRECTORY.glob("*.json"))
    if path.stem != "waiting"
}
SPECIAL = {"$nan": math.nan, "$inf": math.inf, "$-inf": -math.inf, "$2^53": 2**53}
# A status that the vectors write in another way.
STATUSES = {"no_ticket": "gone"}
# What answers with what is in force, which a case need not say.
ORDERS = {
    "pause",
    "block",
    "resume",
    "mode",
    "override",
    "overrides",
    "restore",
    "controls",
}
PREFIXES = {file: uuid.uuid4().hex for file in FILES}
loop = asyncio.new_event_loop()


def cases(*, errors):
    return [
        pytest.param(file, number, case, id=f"{file}-{number}-{case['title']}")
        for file, content in FILES.items()
        if (file == "errors") == errors
        for number, case in enumerate(content["cases"])
        if "python" not in case.get("not_in", []) and not is_of_core(case)
    ]


def is_of_core(case):
    """Return whether a step says how long a lapsed ticket stays, which only the core can."""
    return any("keep_us" in step for step in case.get("steps", []))


def value(raw):
    if isinstance(raw, dict):
        return {label: value(units) for label, units in raw.items()}
    return SPECIAL.get(raw, raw) if isinstance(raw, str) else raw


def limit(spec):
    """Write a limit as the list form of `limiter` has it."""
    parts = [spec["kind"]]
    if "amount" in spec:
        parts.append(value(spec["amount"]))
    if spec["kind"] == "quota":
        return (*parts, spec.get("per"), spec.get("timezone"), spec.get("starts"))
    if "interval" in spec:
        parts.append(value(spec["interval"]))
    elif "interval_us" in spec:
        parts.append(spec["interval_us"] / 1e6)
    if "offset_us" in spec:
        parts.append(spec["offset_us"] / 1e6)
    if "refund" in spec:
        parts.append(spec["refund"])
    return tuple(parts)


def policy(specs):
    """Write limits as a list, or those with labels of their own as mappings from them."""
    if not any("label" in spec for spec in specs):
        return [limit(spec) for spec in specs]
    # Each in its own mapping, because one mapping cannot have a label twice.
    return [{spec.get("label", spec["kind"]): labelled(*limit(spec))} for spec in specs]


def labelled(kind, *numbers):
    match kind, numbers:
        case "bucket", (amount, interval, *offset):
            return Bucket(amount, interval, *offset)
        case "throttle", (*starts, interval):
            return Throttle(interval, limit=starts[0]) if starts else Throttle(interval)
        case "concurrency", (amount, *lock_timeout):
            return Concurrency(amount, lock_timeout=lock_timeout[0] if lock_timeout else None)
        case "quota", (amount, per, timezone, starts):
            return Quota(amount, per, timezone=timezone, starts=starts)
        case "window", _:
            return Window(*numbers)
        case (("leaky" | "points"), (amount, interval, *refund)):
            kinds: Any = {"leaky": Leaky, "points": Points}
            return kinds[kind](amount, interval, **dict(zip(["refund"], refund, strict=False)))
        case (("unlimited" | "paused"), ()):
            return ()
        case _:
            raise AssertionError(f"unknown limit: {kind} {numbers}")


def micros(seconds):
    return None if seconds is None else round(seconds * 1e6)


def shown(decision):
    return {
        "allowed": decision.allowed,
        "limit": decision.limit,
        "remaining": decision.remaining,
        "retry_after_us": micros(decision.retry_after),
        "reset_after_us": micros(decision.reset_after),
        "reason": decision.reason,
        "label": decision.label,
        "at_us": decision.at_us,
        **described(decision),
    }


def described(decision):
    """Say what was lowered, what shadow let pass, and the limiter of several without its prefix."""
    shadow: dict[str, Any] = {"is_lowered": True} if decision.is_lowered else {}
    if decision.would_refuse is not None:
        shadow["would_refuse"] = decision.would_refuse
    if decision.limiter is None:
        return shadow
    return {**shadow, "limiter": decision.limiter.rpartition(".")[2]}


def entered(decision):
    answer = {"status": STATUSES.get(decision.status, decision.status), **shown(decision)}
    del answer["allowed"]
    answer.pop("limiter", None)
    answer.pop("would_refuse", None)
    answer.pop("is_lowered", None)
    return {
        **answer,
        "lease_us": micros(decision.lease),
        "fence": decision.fencing_token,
        "number": decision.ticket,
        "position": decision.position,
        "ready_after_us": micros(decision.ready_after),
        **described(decision),
    }


def enter(how, limiter, step):
    patience, grace = step.get("patience_us"), step.get("grace_us", 2_000_000)
    place = step.get("place", 0)
    return how.call(
        limiter,
        "_enter",
        step.get("cost"),
        step.get("estimate"),
        step["id"],
        None if patience is None else -1 if place == "kept" else place,
        None if patience is None else patience / 1e6,
        grace / 1e6,
        step.get("key"),
        seconds(step, "settle_within_us"),
        order(step.get("priority"), step.get("share"), step.get("weight")),
    )


def seconds(step, field):
    """A span or a time of a step in seconds; a time is exact enough as a float."""
    return step[field] / 1e6 if field in step else None


def controlled(runtime_state):
    def numbers(limits):
        return [
            {
                "label": label,
                "kind": limit.kind,
                "amount": limit.amount,
                "interval_us": micros(limit.interval),
            }
            for label, limit in limits.items()
        ]

    return {
        "version": runtime_state.version,
        "paused_for_us": micros(runtime_state.paused_for),
        "overrides": numbers(runtime_state.overrides),
        "expires_in_us": micros(runtime_state.expires_in),
        "learned": numbers(runtime_state.learned),
        **in_force("blocked_for_us", micros(runtime_state.blocked_for)),
        **in_force("mode", runtime_state.mode),
    }


def in_force(field, value):
    return {} if value is None else {field: value}


def ordered(how, limiter, step):
    match step["do"]:
        case "pause" | "block":
            span, until = seconds(step, "for_us"), seconds(step, "until_us")
            return how.call(limiter, step["do"], span, until=until)
        case "mode" if step["mode"] is None:
            return how.call(limiter, "restore", mode=True)
        case "mode":
            return how.call(
                limiter,
                "override",
                mode=step["mode"],
                expires_in=seconds(step, "expires_in_us"),
                expires_at=seconds(step, "expires_at_us"),
            )
        case "override":
            return how.call(
                limiter,
                "override",
                step.get("amount"),
                seconds(step, "interval_us"),
                label=step.get("label"),
                expires_in=seconds(step, "expires_in_us"),
                expires_at=seconds(step, "expires_at_us"),
            )
        case "overrides":
            limits, expires_in = policy(step["limits"]), seconds(step, "expires_in_us")
            return how.call(limiter, "override", limits=limits, expires_in=expires_in)
        case "restore":
            return how.call(limiter, "restore", step["label"])
        case verb:
            return how.call(limiter, verb)


def synced(how, limiter, step, permit):
    return how.call(
        limiter,
        "sync",
        step.get("remaining"),
        step.get("amount"),
        seconds(step, "interval_us"),
        reset_in=seconds(step, "reset_in_us"),
        reset_at=seconds(step, "reset_at_us"),
        label=step.get("label"),
        permit=permit,
    )


def answer(step):
    if "chunk_bytes" not in step:
        return step.get("body", "")
    usage, body, length = StreamUsage(), step["body"].encode(), step["chunk_bytes"]
    for start in range(0, len(body), length):
        usage.feed(body[start : start + length])
    assert list(usage.ignored) == step["unread"]
    return usage


def told(learned):
    return {
        "settlement": learned.settlement,
        "learned": list(learned.learned),
        "ignored": list(learned.ignored),
    }


def recorded(history):
    assert (len(history.minutes), len(history.hours)) == (60, 48)

    def entries(entries):
        fields = map(dataclasses.asdict, entries)
        return [
            {"start_us": micros(start), **counts}
            for start, counts in ((entry.pop("start"), entry) for entry in fields)
            if any(counts.values())
        ]

    return {"minutes": entries(history.minutes), "hours": entries(history.hours)}


def counted(statistics):
    fields = dataclasses.asdict(statistics)
    for field in ("waits", "holds"):
        counts = fields[field] = list(fields[field])
        while counts and counts[-1] == 0:
            counts.pop()
    if fields["estimated_units"] == fields["units"]:
        del fields["estimated_units"]
    optional = "shadow_refused", "refused_by", "waits", "degraded", "errors", "near_limit", "holds"
    for field in optional:
        if not fields[field]:
            del fields[field]
    return {
        f"{field}_us" if field.endswith("_time") else field: micros(value)
        if field.endswith("_time")
        else value
        for field, value in fields.items()
    }


def page(step):
    return {key: step[key] for key in ("offset", "count") if key in step}


def inspected(inspection):
    return {
        "at_us": inspection.at_us,
        "limits": [
            {
                "label": limit.label,
                "kind": limit.kind,
                "limit": limit.limit,
                "interval_us": micros(limit.interval),
                "source": limit.source,
                "taken": limit.taken,
                "remaining": limit.remaining,
                "next_after_us": micros(limit.next_after),
                "reset_after_us": micros(limit.reset_after),
            }
            for limit in inspection.limits
        ],
        "paused_for_us": micros(inspection.paused_for),
        "blocked_for_us": micros(inspection.blocked_for),
        "mode": inspection.mode,
        "leases": [
            {
                "id": lease.id,
                "held_for_us": micros(lease.held_for),
                "ends_in_us": micros(lease.ends_in),
                "fence": lease.fencing_token,
            }
            for lease in inspection.leases
        ],
        "lease_count": inspection.lease_count,
        "tickets": list(map(ticket, inspection.tickets)),
        "ticket_count": inspection.ticket_count,
    }


def ticket(it):
    return {
        "id": it.id,
        "priority": it.priority,
        "share": it.share,
        "waited_us": micros(it.waited),
        "ready": it.ready,
    }


# What the vectors call otherwise than the limiter.
METHODS = {"controls": "runtime_state", "sync": "report_budget"}


async def asked(*arguments):
    return await run_operation(*arguments)


class Keyed:
    """A keyed limiter whose verbs take the key of a step as their option."""

    def __init__(self, limiter, key):
        self.limiter = limiter
        self.key = {"key": key}

    def __getattr__(self, verb):
        # The counters are of all keys, so these verbs have no key.
        if verb in {"stats", "astats", "history", "ahistory"}:
            return getattr(self.limiter.with_key(**self.key), verb)
        if verb == "_links":
            return self.limiter._links
        if verb == "_aenter":
            return lambda *arguments: self.limiter._aenter(*keyed(arguments, self.key["key"]))
        if verb == "_enter":
            return lambda *arguments: self.limiter._enter(*keyed(arguments, self.key["key"]))
        return functools.partial(getattr(self.limiter, verb), **self.key)


def keyed(arguments, key):
    """Write the key in the place of none, before the last two arguments."""
    *most, _, settle_within, place = arguments
    return (*most, key, settle_within, place)


class Synchronous:
    @staticmethod
    def call(limiter, verb, *arguments, **named):
        begin = (False,) if verb in {"_enter", "_cancel"} else ()
        return getattr(limiter, METHODS.get(verb, verb))(*begin, *arguments, **named)


class Asynchronous:
    @staticmethod
    def call(limiter, verb, *arguments, **named):
        if verb == "_cancel":
            return loop.run_until_complete(asked(limiter._links, limiter._cancel, *arguments))
        verb = "_aenter" if verb == "_enter" else f"a{METHODS.get(verb, verb)}"
        return loop.run_until_complete(getattr(limiter, verb)(*arguments, **named))


FORMS = {"synchronous": Synchronous, "asynchronous": Asynchronous}


def step_answer(how, limiter, step, permits):
    asked = {key: step[key] for key in ("cost", "estimate") if key in step}
    if "settle_within_us" in step:
        asked["settle_within"] = seconds(step, "settle_within_us")
    if "describe" in step:
        asked["limits"] = True
    permit = permits.get(step.get("permit"), step.get("permit"))
    match step["do"]:
        case "acquire":
            for _ in range(step.get("times", 1)):
                decision = how.call(limiter, "try_acquire", **asked)
            if "permit" in step:
                permits[step["permit"]] = decision.permit
            permits["last"] = decision
            return shown(decision)
        case "peek":
            permits["last"] = how.call(limiter, "peek", **asked)
            return shown(permits["last"])
        case "headers":
            return permits["last"].headers(step["fields"])
        case "caller_key":
            return caller_key(
                **given(step, "address", "forwarded_for", "trusted_proxies", "ipv6_prefix")
            )
        case "plain_key":
            return plain_key(bytes.fromhex(step["hex"]) if "hex" in step else step["text"])
        case "debit":
            return shown(how.call(limiter, "debit", step["cost"]))
        case "refund":
            return shown(how.call(limiter, "refund", step["units"]))
        case "correct":
            return how.call(limiter, "correct", permit, step["actual"])
        case "extend":
            extension = how.call(limiter, "extend", permit, step["units"])
            if extension:
                permits[step.get("as", step["permit"])] = extension.decision.permit
            return extension.settlement or shown(extension.decision)
        case "enter":
            decision = enter(how, limiter, step)
            if "permit" in step:
                permits[step["permit"]] = decision.permit
            return entered(decision)
        case "release":
            return how.call(limiter, "release", permit)
        case "renew":
            return micros(how.call(limiter, "renew", permit))
        case "cancel":
            gave_up = step.get("gave_up", False)
            return how.call(limiter, "_cancel", step["id"], gave_up)
        case "inspect":
            return inspected(how.call(limiter, "inspect", **page(step)))
        case "queue":
            return list(map(ticket, how.call(limiter, "queue", **page(step))))
        case "ready":
            return how.call(limiter, "ready", step.get("count", 100))
        case "statistics":
            return counted(how.call(limiter, "stats"))
        case "history":
            return recorded(how.call(limiter, "history"))
        case "reset":
            return how.call(limiter, "reset")
        case command if command in ORDERS:
            return controlled(ordered(how, limiter, step))
        case "sync":
            return told(synced(how, limiter, step, permit))
        case "learn":
            learned = how.call(
                limiter,
                "learn_from_response",
                step.get("headers", []),
                answer(step),
                status=step.get("status"),
                provider=step.get("provider", "auto"),
                default_pause=seconds(step, "default_pause_us"),
                max_learned=step.get("max_learned"),
                permit=permit,
            )
            return told(learned)
        case unknown:
            raise AssertionError(f"unknown step: {unknown}")


def given(step, *names):
    return {name: step[name] for name in names if name in step}


class OneLimiter:
    """The limiter of a case."""

    def __init__(self, store, prefix, number, case):
        self.store = store
        self.name = f"{prefix}{case.get('name', number)}"
        self.limiter = store.limiter(self.name, policy(case["limits"]))

    def of(self, step):
        return self.limiter

    def step(self, step):
        return step

    def set_limits(self, limits):
        self.limiter = self.store.limiter(self.name, policy(limits))


class SeveralLimiters:
    """The limiters of a case, which decide together or alone, each with a key or without."""

    def __init__(self, store, prefix, number, case):
        self.store = store
        self.specs = {it["name"]: it for it in case["limiters"]}
        self.names = {name: f"{prefix}-{number}.{name}" for name in self.specs}
        self.limiters = {name: self.one(name) for name in self.specs}

    def one(self, name, group=None, mode=None):
        spec = self.specs[name]
        rule = spec.get("block_after")
        return self.store.limiter(
            self.names[name],
            policy(spec["limits"]),
            group=group,
            keyed=spec.get("keyed"),
            statistics=spec.get("statistics"),
            mode=mode or spec.get("mode"),
            block_after=rule and (rule["refusals"], rule["within_us"] / 1e6, rule["for_us"] / 1e6),
        )

    def of(self, step):
        groups, of = step.get("groups", {}), step.get("of", list(self.limiters))
        keys, modes = step.get("keys", {}), step.get("modes", {})

        def single(name):
            if name in groups or name in modes:
                return self.one(name, groups.get(name), modes.get(name))
            return self.limiters[name]

        def given(name):
            return single(name).with_key(keys[name]) if name in keys else single(name)

        if isinstance(of, str):
            return Keyed(single(of), keys[of]) if of in keys else single(of)
        return self.store.together(*map(given, of))

    def step(self, step):
        """Write the real names for those of the case."""

        def renamed(units):
            if not isinstance(units, dict):
                return units
            return {self.names.get(key, key): value for key, value in units.items()}

        costs = {
            key: renamed(step[key])
            for key in ("cost", "estimate", "actual", "units")
            if key in step
        }
        return {**step, **costs}


def replay(how, address, file, number, case, suffix):
    clock = TestClock()
    store = Paddlegate(address, timeout=60, clock=clock)
    made_by = SeveralLimiters if "limiters" in case else OneLimiter
    limiters: Any = made_by(store, f"{PREFIXES[file]}{suffix}", number, case)
    permits: dict[str, Any] = {}
    for i, step in enumerate(map(limiters.step, case["steps"])):
        clock.now_us = step.get("at_us", clock.now_us)
        if step["do"] == "limits":
            limiters.set_limits(step["limits"])
            continue
        if "error" in step:
            with pytest.raises(InvalidError) as caught:
                step_answer(how, limiters.of(step), step, permits)
            assert caught.value.argument == step["error"], f"{case['title']}: step {i}"
            continue
        answer = step_answer(how, limiters.of(step), step, permits)
        answer = json.dumps(answer, separators=(",", ":"))
        if step["do"] in ORDERS and "expect" not in step:
            continue
        expected = json.dumps(step.get("expect"), separators=(",", ":"))
        assert answer == expected, f"{case['title']}: step {i}"


def test_there_are_vectors():
    assert len(cases(errors=False)) > 50
    assert len(cases(errors=True)) > 50


def replays():
    """Give each case to each store: in one form, in the other one too with `make soak`."""
    return [
        pytest.param(
            store,
            form,
            *case.values,
            id=f"{store}-{form}-{case.id}",
            marks=[pytest.mark.soak] if (row + column + turn) % 2 else [],
        )
        for row, case in enumerate(cases(errors=False))
        for column, store in enumerate(["memory", "redis"])
        for turn, form in enumerate(FORMS)
    ]


@pytest.mark.parametrize(
    ("address", "form", "file", "number", "case"), replays(), indirect=["address"]
)
def test_answers(address, form, file, number, case):
    replay(FORMS[form], address, file, number, case, form)


@pytest.mark.parametrize(("file", "number", "case"), cases(errors=True))
def test_errors(store, name, file, number, case):
    def misuse(how):
        limiter = store.limiter(case.get("name", name), policy(case["limits"]))
        asked = {key: value(case[key]) for key in ("cost", "estimate") if key in case}
        match case["do"]:
            case "clock":
                TestClock(case["now_us"])
            case "acquire":
                how.call(limiter, "try_acquire", **asked)
            case "peek":
                how.call(limiter, "peek", **asked)
            case "debit":
                how.call(limiter, "debit", **asked)
            case "correct":
                how.call(limiter, "correct", case["permit"], value(case["actual"]))

    def fail(how):
        with pytest.raises(PaddlegateError) as caught:
            misuse(how)
        error: Any = caught.value
        kind = type(error).__name__.removesuffix("Error").lower()
        # The one argument that Python spells with its unit.
        argument = "now" if error.argument == "now_us" else error.argument
        assert {"kind": kind, "code": error.code, "argument": argument} == case["expect"]

    fail(Synchronous)
    if case["do"] != "limiter":
        fail(Asynchronous)
        limiter = store.limiter(case.get("name", name), policy(case["limits"]))
        untouched = limiter.peek(0)
        assert untouched.remaining == untouched.limit
