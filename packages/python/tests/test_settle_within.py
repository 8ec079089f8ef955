# mypy: allow-untyped-calls
"""`settle_within`: how long after its grant an estimate can be settled."""

import asyncio
import inspect
import math
from datetime import timedelta
from typing import Any

import pytest
from paddlegate import InvalidError, Limiter

LATER = 360
"""Seconds after which a permit without the option is late."""


def refused(argument, function, *arguments, **named):
    def ask():
        outcome = function(*arguments, **named)
        if inspect.iscoroutine(outcome):
            asyncio.run(outcome)

    with pytest.raises(InvalidError) as caught:
        ask()
    assert caught.value.argument == argument


def with_statement(limiter, **named):
    with limiter.within_limit(**named) as permit:
        return permit.id


async def async_with_statement(limiter, **named):
    async with limiter.within_limit(**named) as permit:
        return permit.id


def decorated(limiter, **named):
    @limiter.within_limit(**named)
    def body(*, permit):
        return permit.id

    return body()


async def decorated_coroutine(limiter, **named):
    @limiter.within_limit(**named)
    async def body(*, permit):
        return permit.id

    return await body()


def run_function(limiter, **named):
    def body(*, permit):
        return permit.id

    return limiter.within_limit(**named).run(body)


def generator(limiter, **named):
    @limiter.within_limit(**named)
    def body(*, permit):
        yield permit.id

    (permit,) = body()
    return permit


VERBS: dict[str, Any] = {
    "try_acquire": lambda it, **named: it.try_acquire(**named).permit,
    "acquire": lambda it, **named: it.acquire(**named).id,
    "enqueue": lambda it, **named: it.enqueue("job", **named).permit,
    "admit": lambda it, **named: it.admit("job", **named).permit,
    "with": with_statement,
    "decorated": decorated,
    "run": run_function,
    "generator": generator,
}


async def atry_acquire(limiter, **named):
    return (await limiter.atry_acquire(**named)).permit


async def aacquire(limiter, **named):
    return (await limiter.aacquire(**named)).id


async def aenqueue(limiter, **named):
    return (await limiter.aenqueue("job", **named)).permit


async def aadmit(limiter, **named):
    return (await limiter.aadmit("job", **named)).permit


FORMS: dict[str, Any] = {
    "atry_acquire": atry_acquire,
    "aacquire": aacquire,
    "aenqueue": aenqueue,
    "aadmit": aadmit,
    "async with": async_with_statement,
    "decorated coroutine": decorated_coroutine,
}


@pytest.mark.parametrize("keyed", [False, True], ids=["plain", "keyed"])
@pytest.mark.parametrize("verb", [*VERBS, *FORMS])
def test_every_verb_takes_it(clocked, clock, name, verb, keyed):
    key = {"key": "alice"} if keyed else {}

    def settled(suffix, **named):
        limiter = clocked.points(f"{name}{suffix}", 1000, "day", keyed=keyed)
        if verb in FORMS:
            permit = asyncio.run(FORMS[verb](limiter, estimate=200, **key, **named))
        else:
            permit = VERBS[verb](limiter, estimate=200, **key, **named)
        clock.advance(LATER)
        return limiter.correct(permit, 50, **key)

    assert settled("with", settle_within=7200) == "settled"
    assert settled("without") == "late"
    assert settled("none", settle_within=None) == "late"


def test_a_job_that_claims(clocked, clock, name, run):
    limiter = clocked.points(name, 100, "minute")

    async def claimed(job):
        return await limiter.aclaim(job, estimate=50, settle_within="hour")

    for job in "sync", "async":
        limiter.reset()
        assert limiter.allow(100)
        queued = limiter.enqueue(job, estimate=50, settle_within="hour")
        assert queued.status == "queued"
        clock.advance(30)
        if job == "sync":
            granted = limiter.claim(job, estimate=50, settle_within="hour")
        else:
            granted = run(claimed(job))
        clock.advance(LATER)
        assert limiter.correct(granted, 10) == "settled"


def test_a_call_that_waits(store, name):
    limiter = store.points(name, 100, 1)
    assert limiter.allow(100)
    permit = limiter.acquire(estimate=50, settle_within="PT2H")
    assert permit.points_used(10) == "settled"
    assert limiter.stats().waited == 1


def test_several_limiters(clocked, clock, name):
    made = [clocked.points(f"{name}{i}", 1000, "day", group=name) for i in range(2)]
    together = clocked.together(*made)
    permit = together.acquire(estimate=200, settle_within=timedelta(hours=2))
    clock.advance(LATER)
    assert permit.correct(50) == "settled"
    assert [it.peek().remaining for it in made] == [954, 954]


@pytest.mark.parametrize(
    "good", [300, 300.0, "PT5M", timedelta(minutes=5), 7 * 86400, "P7D", timedelta(days=7), "hour"]
)
def test_times(clocked, name, good):
    limiter = clocked.points(name, 1000, "day")
    permit = limiter.try_acquire(estimate=200, settle_within=good)
    assert limiter.correct(permit, 50) == "settled"
    assert limiter.allow(estimate=200, settle_within=good)
    assert limiter.peek(estimate=200, settle_within=good).allowed
    assert asyncio.run(limiter.aallow(estimate=200, settle_within=good))
    assert asyncio.run(limiter.apeek(estimate=200, settle_within=good)).allowed


BAD = [
    *(0, -1, 299.999999, 604800.000001, 1e300, math.nan, math.inf, True, "minute", "", "soon"),
    *("P8D", "\ud800", b"hour", [300], object(), timedelta(minutes=-5), timedelta(minutes=4)),
]


def asking(limiter):
    """Return every call that takes an estimate."""
    return [
        *((getattr(limiter, verb), ()) for verb in ("allow", "peek", "try_acquire", "acquire")),
        *((getattr(limiter, verb), ()) for verb in ("aallow", "apeek", "atry_acquire", "aacquire")),
        *((getattr(limiter, verb), ("job",)) for verb in ("enqueue", "claim", "admit")),
        *((getattr(limiter, verb), ("job",)) for verb in ("aenqueue", "aclaim", "aadmit")),
        *((verb, (limiter,)) for verb in (with_statement, decorated, decorated_coroutine)),
    ]


@pytest.mark.parametrize("bad", BAD)
def test_wrong_times(store, name, bad):
    limiter = store.points(name, 1000, "day")
    for verb, arguments in asking(limiter):
        refused("settle_within", verb, *arguments, estimate=200, settle_within=bad)
    assert limiter.peek().remaining == 1000


def test_it_belongs_to_an_estimate(store, name):
    limiter = store.points(name, 1000, "day")
    for verb, arguments in asking(limiter):
        refused("settle_within", verb, *arguments, cost=200, settle_within=3600)
    window = store.window(f"{name}-window", 5, "hour")
    refused("settle_within", window.try_acquire, settle_within=3600)
    assert (limiter.peek().remaining, window.peek().remaining) == (1000, 5)


def test_every_verb_with_an_estimate_has_it():
    verbs = [verb for verb, _ in inspect.getmembers(Limiter) if not verb.startswith("_")]
    having = []
    for verb in verbs:
        function = getattr(Limiter, verb)
        if not callable(function):
            continue
        parameters = inspect.signature(function).parameters
        if "estimate" in parameters:
            kind = parameters["settle_within"].kind
            having.append(verb)
            assert kind is inspect.Parameter.KEYWORD_ONLY, verb
    assert len(having) == 15
