# mypy: allow-untyped-calls
"""Decisions and errors as values: frozen, comparable, picklable."""

import asyncio
import copy
import multiprocessing
import pickle

import pytest
from paddlegate import (
    DataError,
    Decision,
    InternalError,
    InvalidError,
    OverLimit,
    Paddlegate,
    PaddlegateError,
    TestClock,
    UnavailableError,
)

FIELDS = ["status", "allowed", "limit", "remaining", "retry_after", "reset_after", "reason"]
FIELDS += [
    "label",
    "limiter",
    "at_us",
    "permit",
    "lease",
    "fencing_token",
    "ticket",
    "position",
    "ready_after",
]


@pytest.fixture
def decisions(name):
    clock = TestClock(1_000_000)
    pg = Paddlegate("memory://", clock=clock)
    points = pg.points(name, 10, 20)
    both = pg.limiter(f"{name}2", concurrency=1, lock_timeout=9, leaky=(2, 4))
    granted = points.try_acquire(estimate=7)
    leased, queued, gone = both.try_acquire(id="a"), both.enqueue("b"), both.claim("c")
    clock.advance(1e-6)
    refused = points.try_acquire(estimate=7)
    unlimited, paused = pg.unlimited().try_acquire(estimate=3), pg.paused(name).try_acquire()
    of_two = pg.together(points, both).try_acquire(2)
    points.override(5)
    too_large = points.try_acquire(7)
    return [granted, refused, unlimited, paused, leased, queued, gone, too_large, of_two]


def test_decisions(decisions, name):
    granted, refused, unlimited, paused, leased, queued, gone, too_large, of_two = decisions
    allowed = [True, False, True, False, True, False, False, False, False]
    assert [bool(decision) for decision in decisions] == allowed
    assert [decision.allowed for decision in decisions] == allowed
    status = ["granted", "refused"] * 2 + ["granted", "queued", "no_ticket"] + ["refused"] * 2
    assert [decision.status for decision in decisions] == status
    assert (granted.limit, granted.remaining, granted.retry_after) == (10, 3, 0.0)
    assert (granted.reset_after, granted.reason, granted.label) == (14.0, None, "points")
    assert (granted.at_us, granted.permit.count(":")) == (1_000_000, 2)
    assert (refused.retry_after, refused.reset_after) == (7.999999, 13.999999)
    assert (refused.reason, refused.permit) == ("points", None)
    assert (unlimited.limit, unlimited.remaining, unlimited.permit) == (None, None, "unlimited")
    assert (paused.reason, paused.retry_after, paused.reset_after) == ("paused", None, None)
    assert (leased.lease, leased.fencing_token, leased.permit) == (9.0, 1_000_000, "a:1000000:1")
    assert (granted.lease, granted.fencing_token, granted.ticket, granted.position) == (None,) * 4
    assert (queued.ticket, queued.position, queued.retry_after) == (1, 0, 0.0625)
    assert (queued.lease, queued.permit, queued.ready_after, gone.ticket) == (None,) * 4
    assert (too_large.reason, too_large.limit, too_large.retry_after) == ("too_large", 5, None)
    assert (of_two.reason, of_two.limit, of_two.retry_after) == ("concurrency", 1, 9.0)
    assert [decision.limiter for decision in decisions] == [None] * 8 + [f"{name}2"]


def test_decisions_are_frozen(decisions):
    for field in [*FIELDS, "more"]:
        with pytest.raises(AttributeError):
            setattr(decisions[0], field, 1)
    with pytest.raises(TypeError):
        Decision()


def test_decisions_are_shown(decisions):
    assert repr(decisions[1]) == (
        "Decision(status='refused', limit=10, remaining=3, retry_after=7.999999, "
        "reset_after=13.999999, reason='points', label='points', at_us=1000001, permit=None)"
    )


def test_decisions_show_leases_tickets_and_limiters(decisions, name):
    assert repr(decisions[4]).endswith("permit='a:1000000:1', lease=9.0, fencing_token=1000000)")
    assert repr(decisions[5]).endswith("permit=None, ticket=1, position=0, ready_after=None)")
    assert "retry_after=None, reset_after=None, reason='too_large'" in repr(decisions[7])
    assert repr(decisions[8]).endswith(f"permit=None, limiter='{name}2')")


def test_decisions_are_copied_and_compared(decisions):
    for decision in decisions:
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            again = pickle.loads(pickle.dumps(decision, protocol))
            assert again == decision
            assert repr(again) == repr(decision)
        assert copy.deepcopy(decision) == decision
        assert sum(decision == other for other in decisions) == 1
        assert decision != repr(decision)


def errors(refusal):
    return [
        PaddlegateError("message"),
        OverLimit("shop", refusal),
        InvalidError("message", "cost"),
        UnavailableError("message", True),
        UnavailableError("message"),
        DataError("message"),
        InternalError("message"),
    ]


def seen(error):
    return type(error), str(error), error.args, vars(error)


def test_errors_have_bases(decisions):
    for error in errors(decisions[1]):
        assert isinstance(error, PaddlegateError)
    assert issubclass(InvalidError, ValueError)
    assert issubclass(UnavailableError, ConnectionError)
    assert [type(error).code for error in errors(decisions[1])] == [0, 1, 2, 3, 3, 4, 5]


def test_errors_are_copied(decisions):
    for error in errors(decisions[1]):
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            assert seen(pickle.loads(pickle.dumps(error, protocol))) == seen(error)


def fail(which):
    pg = Paddlegate("redis://127.0.0.1:1", timeout=0.5)
    [
        lambda: Paddlegate("memory://").paused("shop").acquire(),
        lambda: pg.window("shop", 1, 1).allow(-1),
        lambda: pg.window("shop", 1, 1).allow(),
    ][which]()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_errors_cross_processes(method):
    with multiprocessing.get_context(method).Pool(1) as pool:
        with pytest.raises(OverLimit) as over:
            pool.apply(fail, (0,))
        assert (over.value.limiter, over.value.decision.reason) == ("shop", "paused")
        with pytest.raises(InvalidError) as invalid:
            pool.apply(fail, (1,))
        assert invalid.value.argument == "cost"
        with pytest.raises(UnavailableError) as unavailable:
            pool.apply(fail, (2,))
        assert unavailable.value.may_have_counted is False


def test_over_limit_says_when(decisions):
    assert str(OverLimit("shop", decisions[1])) == (
        "over the limit: limiter='shop' reason=points retry_after=8"
    )
    assert str(OverLimit("shop", decisions[3])) == "over the limit: limiter='shop' reason=paused"
    assert str(OverLimit("shop + user", decisions[8])).startswith(
        f"over the limit: limiter={decisions[8].limiter!r} reason=concurrency"
    )


def test_a_refusal_has_the_key_of_its_limiter(store, name):
    limiter = store.window(name, 1, 60, keyed=True, wait_timeout=0)
    limiter.acquire(key="acme")

    async def asynchronous():
        await limiter.aacquire(key="acme")

    for call in (
        lambda: limiter.acquire(key="acme"),
        lambda: limiter.within_limit(key="acme").run(str),
        lambda: asyncio.run(asynchronous()),
    ):
        with pytest.raises(OverLimit) as caught:
            call()
        copied = pickle.loads(pickle.dumps(caught.value))
        assert (copied.limiter, copied.key) == (name, "acme")
        assert f"limiter={name!r} key='acme' reason=window" in str(copied)
    alone = store.window(f"{name}-alone", 1, 60, wait_timeout=0)
    alone.acquire()
    with pytest.raises(OverLimit) as caught:
        alone.acquire()
    assert caught.value.key is None
