# mypy: allow-untyped-calls
"""Costs by label, and costs that are charged in any case."""

import collections
import enum
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any

import pytest
from paddlegate import (
    SKIPPED,
    Concurrency,
    InvalidError,
    OverLimit,
    Paddlegate,
    Points,
    Throttle,
    Window,
)

pg = Paddlegate("memory://")


def of_model(store, name, **more):
    return store.limiter(name, rpm=Window(5, "hour"), tpm=Points(1000, "hour"), **more)


@pytest.fixture
def llm(store, name):
    return of_model(store, name)


@pytest.fixture
def left(store, name):
    """Return the remaining units of each limit; limits of one name and label share their state."""
    rpm = store.limiter(name, rpm=Window(5, "hour"))
    tpm = store.limiter(name, tpm=Points(1000, "hour"))
    return lambda: (rpm.peek(0).remaining, tpm.peek(0).remaining)


def refused(argument, function, *arguments, **named):
    with pytest.raises(InvalidError) as caught:
        function(*arguments, **named)
    assert caught.value.argument == argument


def test_a_cost_that_is_changed_while_the_call_waits_is_charged_as_it_was(store, name, until):
    limiter = store.window(name, 10, 3600)
    limiter.pause(60)
    cost = {"window": 9}
    with ThreadPoolExecutor() as pool:
        call = pool.submit(limiter.acquire, cost, wait_timeout=120)
        until(lambda: len(limiter.queue()) == 1)
        cost["window"] = 1
        limiter.resume()
        assert call.result().decision.remaining == 1


def decorated(limiter, **named):
    @limiter.within_limit(**named)
    def body(*, permit):
        return permit.decision

    return body()


def guarded(limiter, **named):
    with limiter.within_limit(**named) as permit:
        return permit.decision


async def aguarded(limiter, **named):
    async with limiter.within_limit(**named) as permit:
        return permit.decision


async def adecorated(limiter, **named):
    @limiter.within_limit(**named)
    async def body(*, permit):
        return permit.decision

    return await body()


async def generated(limiter, **named):
    @limiter.within_limit(**named)
    async def body(*, permit):
        yield permit.decision

    [decision] = [decision async for decision in body()]
    return decision


async def agather(limiter, **named):
    return (await limiter.aacquire(**named)).decision


VERBS: dict[str, Any] = {
    "try_acquire": lambda limiter, **named: limiter.try_acquire(**named),
    "allow": lambda limiter, **named: limiter.allow(**named),
    "acquire": lambda limiter, **named: limiter.acquire(**named).decision,
    "with": guarded,
    "decorator": decorated,
    "enqueue": lambda limiter, **named: limiter.enqueue("job", **named),
    "admit": lambda limiter, **named: limiter.admit("job", **named).decision,
}
ASYNCHRONOUS: dict[str, Any] = {
    "atry_acquire": lambda limiter, **named: limiter.atry_acquire(**named),
    "aallow": lambda limiter, **named: limiter.aallow(**named),
    "aacquire": agather,
    "async with": aguarded,
    "decorator": adecorated,
    "generator": generated,
    "aenqueue": lambda limiter, **named: limiter.aenqueue("job", **named),
}


@pytest.mark.parametrize("argument", ["cost", "estimate"])
@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_each_verb_takes_a_cost_by_label(llm, left, verb, argument):
    assert verb(llm, **{argument: {"tpm": 600}})
    assert left() == (4, 400), "a limit that is not named counts the call"
    assert verb(llm, **{argument: {"tpm": 0, "rpm": 3}})
    assert left() == (1, 400)


@pytest.mark.parametrize("argument", ["cost", "estimate"])
@pytest.mark.parametrize("verb", ASYNCHRONOUS.values(), ids=ASYNCHRONOUS)
def test_each_asynchronous_verb_takes_a_cost_by_label(llm, left, verb, argument, run):
    async def main():
        assert await verb(llm, **{argument: {"tpm": 600}})
        assert await verb(llm, **{argument: {"tpm": 0, "rpm": 3}})

    run(main())
    assert left() == (1, 400)


def test_a_peek_takes_a_cost_by_label(llm, left, run):
    assert llm.try_acquire({"tpm": 600}).label == "rpm"
    assert llm.peek({"tpm": 400}).allowed
    refusal = llm.peek(estimate={"tpm": 401})
    assert (refusal.allowed, refusal.reason, refusal.label) == (False, "points", "tpm")

    async def main():
        assert (await llm.apeek({"tpm": 400, "rpm": 4})).allowed
        assert (await llm.apeek({"tpm": 0, "rpm": 5})).label == "rpm"

    run(main())
    assert left() == (4, 400)


def test_all_or_nothing_is_charged(llm, left):
    assert llm.allow({"tpm": 900})
    assert not llm.allow({"tpm": 101})
    assert not llm.allow({"tpm": 1, "rpm": 5})
    assert left() == (4, 100)


def test_a_job_is_claimed_with_its_cost(clocked, clock, name):
    limiter = of_model(clocked, name)
    assert limiter.enqueue("first", {"tpm": 1000}).status == "granted"
    assert limiter.enqueue("second", {"tpm": 500}).status == "queued"
    clock.advance("PT30M")
    assert limiter.claim("second", {"tpm": 500}).status == "granted"
    assert limiter.admit("third", "drop", cost={"tpm": 1}).action == "drop"


def test_concurrency_and_throttle_count_calls(store, name, left):
    limiter = of_model(store, name, jobs=Concurrency(1), starts=Throttle(0.001))
    with limiter.within_limit({"tpm": 600}):
        assert limiter.try_acquire({"tpm": 100}).reason == "concurrency"
        for label in "jobs", "starts":
            refused("cost", limiter.try_acquire, {"tpm": 1, label: 1})
    assert left() == (4, 400)


def test_corrections_by_label(llm, left, run):
    with llm.within_limit(estimate={"tpm": 600, "rpm": 2}) as permit:
        assert permit.points_used({"tpm": 150}) == "settled"
        assert permit.points_used({"tpm": 50}) == "already"
    assert left() == (4, 850), "it named the window before, so it counts one now"
    permit = llm.acquire(estimate={"tpm": 100})
    assert llm.correct(permit, {"tpm": 350, "rpm": 3}) == "settled"
    assert left() == (1, 500)

    async def main():
        async with llm.within_limit(estimate={"tpm": 100}) as permit:
            permit.points_used({"tpm": 200})

    run(main())
    assert left() == (0, 300)


def test_an_asynchronous_correction_by_id(llm, left, run):
    async def main():
        permit = await llm.aacquire(estimate={"tpm": 600})
        assert await llm.acorrect(permit.id, {"tpm": 100}) == "settled"
        permit = await llm.aacquire(estimate={"tpm": 600})
        assert await permit.apoints_used({"tpm": 200, "rpm": 0}) == "settled"

    run(main())
    assert left() == (4, 700)


def test_a_response_settles_an_estimate_by_label(llm, left):
    body = '{"usage": {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150}}'
    with llm.within_limit(estimate={"tpm": 600}) as permit:
        learned = permit.learn_from_response({}, body, status=200, provider="openai")
    assert (learned.settlement, learned.cost) == ("settled", 150)
    assert left() == (4, 850)


def test_a_number_is_for_every_limit_that_counts_units(llm, left):
    assert llm.allow(3)
    assert left() == (2, 997)
    permit = llm.acquire(estimate=2)
    assert permit.points_used(1) == "settled"
    assert left() == (1, 996)


class Label(str, enum.Enum):
    TPM = "tpm"


class Other(Mapping[str, int]):
    def __getitem__(self, label):
        return {"tpm": 200}[label]

    def __iter__(self):
        return iter(["tpm"])

    def __len__(self):
        return 1


class Index:
    def __index__(self):
        return 200


@pytest.mark.parametrize(
    "cost",
    [
        MappingProxyType({"tpm": 200}),
        collections.ChainMap({"tpm": 200}, {"tpm": 5}),
        collections.Counter(["tpm"] * 200),
        Other(),
        {Label.TPM: 200},
        {"tpm": Index()},
    ],
    ids=lambda cost: type(cost).__name__,
)
def test_any_mapping_is_a_cost(name, cost):
    limiter = of_model(pg, name)
    assert limiter.try_acquire(cost).remaining == 4
    assert limiter.correct(limiter.acquire(estimate=cost), cost) == "settled"
    limiter.debit(cost)
    assert limiter.stats().units == 600


BAD: list[Any] = [{"tpm": bad} for bad in (-1, 1.5, 1.0, True, None, "1", 2**53, 2**64, 10**12 + 1)]
BAD += [{bad: 1} for bad in ("tokens", "", "\ud800", "x" * 1000, b"tpm", 5, None, "jobs")]
BAD += [{"tpm": 1, "tokens": 1}, {"tpm": 1, 5: 1}, {"rpm": 1}, {}, [("tpm", 1)], (("tpm", 1),)]
BAD += [{"tpm"}, "tpm", {"tpm": {"tpm": 1}}, Points(1, 60)]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: repr(bad)[:30])
def test_costs_by_label_are_checked(name, bad, run):
    limiter = of_model(pg, name, jobs=Concurrency(9))
    permit = limiter.acquire(estimate={"tpm": 5})
    jobs = [
        lambda **named: limiter.enqueue("job", **named),
        lambda **named: limiter.claim("job", **named),
        lambda **named: limiter.admit("job", **named),
    ]
    waiting = [
        lambda **named: guarded(limiter, **named),
        lambda **named: decorated(limiter, **named),
        lambda **named: run(agather(limiter, **named)),
        lambda **named: run(limiter.atry_acquire(**named)),
        lambda **named: run(aguarded(limiter, **named)),
    ]
    for verb in limiter.try_acquire, limiter.peek, limiter.acquire, *jobs, *waiting:
        refused("cost", verb, cost=bad)
        refused("estimate", verb, estimate=bad)
    refused("cost", limiter.debit, bad)
    refused("cost", lambda: run(limiter.adebit(bad)))
    refused("actual", permit.points_used, bad)
    refused("actual", limiter.correct, permit, bad)
    refused("actual", lambda: run(limiter.acorrect(permit, bad)))
    assert limiter.stats().units == 5
    assert permit.points_used({"tpm": 4}) == "settled"


def test_the_message_names_the_label_and_the_value(name):
    limiter = of_model(pg, name)
    five: Any = {5: 1}
    with pytest.raises(InvalidError, match="label=tpm cost=-1"):
        limiter.allow({"tpm": -1})
    with pytest.raises(InvalidError, match="labels that are text: estimate=5"):
        limiter.allow(estimate=five)
    with pytest.raises(InvalidError, match='rpm, tpm: label="tokens"'):
        limiter.allow({"tokens": 1})


def test_a_mapping_that_fails_raises_its_own_error(name):
    class Broken(Other):
        def __getitem__(self, label):
            raise ZeroDivisionError

    limiter = of_model(pg, name)
    for verb in limiter.try_acquire, limiter.debit, limiter.acquire:
        with pytest.raises(ZeroDivisionError):
            verb(Broken())
    assert limiter.stats().units == 0


def test_without_limits_there_are_no_labels():
    refused("cost", pg.unlimited().allow, {"tpm": 1})
    refused("cost", pg.unlimited().debit, {"tpm": 1})
    assert pg.unlimited().debit(5).remaining is None


def test_a_waiting_call_has_its_cost_by_label(store, name, run):
    limiter = store.limiter(name, rpm=Window(500, "hour"), tpm=Points(1000, 1))
    began = time.monotonic()
    assert limiter.allow({"tpm": 1000})
    with limiter.within_limit({"tpm": 200}):
        assert time.monotonic() - began > 0.15
    run(agather(limiter, cost={"tpm": 200}))
    assert time.monotonic() - began > 0.35
    assert limiter.peek({"tpm": 0, "rpm": 497}).allowed
    assert not limiter.peek({"tpm": 0, "rpm": 498}).allowed


def test_a_refused_body_with_a_cost_by_label_is_skipped(name):
    limiter = of_model(pg, name, on_limit="ignore")
    limiter.debit({"tpm": 1000})
    assert limiter.within_limit({"tpm": 1}, wait_timeout=0).run(print, "never") is SKIPPED


def test_a_debit_is_charged_in_any_case(store, name):
    tokens = store.points(name, 1000, "hour")
    assert tokens.debit(900).remaining == 100
    debt = tokens.debit(900)
    assert (debt.allowed, debt.status, debt.reason) == (True, "granted", None)
    assert (debt.label, debt.limit, debt.remaining, debt.permit) == ("points", 1000, 0, None)
    assert not tokens.try_acquire(1)
    assert 2800 < tokens.try_acquire(1).retry_after <= 2884
    tokens.debit(10**12)
    assert 3590 < tokens.try_acquire(1).retry_after <= 3604, "up to one whole limit of debt"


def test_a_debit_by_label(llm, left, run):
    assert llm.debit({"tpm": 900}).label == "rpm"
    assert left() == (4, 100)

    async def main():
        debt = await llm.adebit({"tpm": 900, "rpm": 0})
        assert (debt.allowed, debt.label, debt.remaining) == (True, "tpm", 0)

    run(main())
    assert left() == (4, 0)
    assert llm.debit(1).label == "tpm"
    assert left() == (3, 0)


def test_a_debit_needs_a_limit_that_counts_units(store, name, run):
    for limits in {"concurrency": 5}, {"throttle": 1}, {"concurrency": 5, "throttle": 1}:
        limiter = store.limiter(f"{name}{sorted(limits)}", **limits)
        refused("debit", limiter.debit, 1)
        refused("debit", lambda limiter=limiter: run(limiter.adebit(1)))
    both = store.limiter(name, concurrency=1, window=(5, "hour"))
    both.debit(3)
    with both.within_limit():
        assert both.debit(1).allowed
    assert store.window(name, 5, "hour").peek().remaining == 0


def test_a_debit_takes_no_part_in_the_queue(store, name):
    limiter = store.window(name, 1, "hour")
    assert limiter.allow()
    assert limiter.enqueue("job").status == "queued"
    assert limiter.debit(1).allowed
    assert limiter.stats().tickets == 1


@pytest.mark.parametrize("bad", [-1, 1.5, True, None, "1", 2**64, 10**12 + 1])
def test_a_debit_is_a_cost(name, bad):
    limiter = pg.points(name, 10, 1)
    refused("cost", limiter.debit, bad)
    with pytest.raises(TypeError):
        limiter.debit()  # type: ignore[call-arg]
    assert limiter.peek().remaining == 10


def test_a_cost_above_a_lowered_limit_is_refused(llm, left):
    llm.override(500, label="tpm")
    refusal = llm.try_acquire({"tpm": 600})
    assert (refusal.allowed, refusal.status, refusal.reason) == (False, "refused", "too_large")
    assert (refusal.label, refusal.limit, refusal.retry_after) == ("tpm", 500, None)
    assert "reason='too_large'" in repr(refusal)
    assert not llm.allow({"tpm": 600})
    assert llm.allow({"tpm": 500}), "what fits still passes"
    llm.restore()
    assert llm.allow({"tpm": 500})
    assert left() == (3, 0)
    refused("cost", llm.try_acquire, {"tpm": 1001})


def test_a_lowered_limit_ends(clocked, clock, name):
    limiter = of_model(clocked, name)
    limiter.override(500, label="tpm", expires_in=60)
    refusal = limiter.try_acquire({"tpm": 600})
    assert (refusal.reason, refusal.retry_after) == ("too_large", 60)
    clock.advance(60)
    assert limiter.allow({"tpm": 600})


def test_a_job_above_a_lowered_limit(clocked, name):
    limiter = of_model(clocked, name)
    limiter.override(500, label="tpm")
    assert limiter.admit("job", "drop", cost={"tpm": 600}).action == "drop"
    assert limiter.admit("job", "raise", cost={"tpm": 600}).decision.reason == "too_large"


def test_a_wait_ends_at_once_above_a_lowered_limit_without_an_end(llm, run):
    llm.override(500, label="tpm")
    with pytest.raises(OverLimit) as over:
        llm.acquire({"tpm": 600}, wait_timeout=3600)
    assert (over.value.reason, over.value.retry_after) == ("too_large", None)
    assert str(over.value).endswith("reason=too_large")
    with pytest.raises(OverLimit):
        run(agather(llm, cost={"tpm": 600}, wait_timeout=3600))
    assert llm.stats().tickets == 0


def test_a_wait_lasts_until_a_lowered_limit_ends(llm, run):
    cost = {"tpm": 501}
    for wait in (lambda: guarded(llm, cost=cost)), (lambda: run(agather(llm, cost=cost))):
        began = time.monotonic()
        llm.override(500, label="tpm", expires_in=0.2)
        wait()
        assert time.monotonic() - began > 0.15
        llm.reset()
