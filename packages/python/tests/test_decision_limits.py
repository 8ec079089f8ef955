# mypy: allow-untyped-calls
"""The numbers of each limit in a decision that asks for them."""

import asyncio
import copy
import pickle

import pytest
from paddlegate import Concurrency, InvalidError, OverLimit, Points, Window

POLICY = {"rpm": Window(3, 60), "tpm": Points(100, 100), "workers": Concurrency(2)}
COST = {"tpm": 40}


def numbers(decision):
    assert all(limit.limiter is None for limit in decision.limits)
    return [
        (limit.label, limit.limit, limit.remaining, limit.retry_after, limit.reset_after)
        for limit in decision.limits
    ]


@pytest.fixture
def limiter(clocked, name):
    limiter = clocked.limiter(name, **POLICY)
    yield limiter
    limiter.reset()


AFTER_ONE = [("rpm", 3, 2, 0, 60), ("tpm", 100, 60, 0, 40), ("workers", 2, 1, 0, 30)]
REFUSED = [("rpm", 3, 2, 0, 60), ("tpm", 100, 60, 10, 40), ("workers", 2, 1, 0, 30)]


def test_a_decision_has_each_limit_if_its_call_asks(limiter):
    assert numbers(limiter.try_acquire(COST, limits=True)) == AFTER_ONE
    refused = limiter.try_acquire({"tpm": 70}, limits=True)
    assert refused.label == "tpm"
    assert numbers(refused) == REFUSED
    assert numbers(limiter.peek({"tpm": 70}, limits=True)) == REFUSED
    for silent in (None, False):
        assert limiter.peek({"tpm": 70}, limits=silent).limits == ()
    assert limiter.try_acquire({"tpm": 70}).limits == ()


def test_the_same_from_asyncio(limiter):
    async def calls():
        granted = await limiter.atry_acquire(COST, limits=True)
        refused = await limiter.atry_acquire({"tpm": 70}, limits=True)
        return granted, refused, await limiter.apeek({"tpm": 70}, limits=True)

    granted, refused, peeked = asyncio.run(calls())
    assert (numbers(granted), numbers(refused)) == (AFTER_ONE, REFUSED)
    assert numbers(peeked) == REFUSED


def test_a_permit_and_its_error_have_each_limit_if_the_call_asks(limiter):
    with limiter.within_limit(COST, limits=True) as permit:
        assert numbers(permit.decision) == AFTER_ONE
    limiter.reset()
    granted = limiter.acquire(COST, limits=True)
    assert numbers(granted.decision) == AFTER_ONE
    assert [limit.interval for limit in granted.decision.limits] == [60, 100, 30]
    for wait_timeout in (0, 1):
        with pytest.raises(OverLimit) as raised:
            limiter.acquire({"tpm": 70}, limits=True, wait_timeout=wait_timeout)
        assert numbers(raised.value.decision) == REFUSED

    async def waits():
        with pytest.raises(OverLimit) as raised:
            async with limiter.within_limit({"tpm": 70}, limits=True, wait_timeout=1):
                raise AssertionError
        return raised.value.decision

    assert numbers(asyncio.run(waits())) == REFUSED


def test_a_key_and_several_limiters(clocked, name):
    per_user = clocked.window(f"{name}-user", 5, 60, keyed=True)
    decision = per_user.try_acquire(key="ada", limits=True)
    assert numbers(decision) == [("window", 5, 4, 0, 60)]
    org = clocked.bucket(f"{name}-org", 9, 3600)
    both = clocked.together(org, per_user.with_key("bob"))
    limits = both.try_acquire(2, limits=True).limits
    assert [(limit.limiter, limit.label, limit.remaining) for limit in limits] == [
        (org.name, "bucket", 7),
        (per_user.name, "window", 3),
    ]
    org.reset()
    for key in ("ada", "bob"):
        per_user.reset(key=key)


def test_limits_are_values(limiter):
    decision = limiter.try_acquire(COST, limits=True)
    for same in (pickle.loads(pickle.dumps(decision)), copy.deepcopy(decision)):
        assert same == decision
        assert same.limits == decision.limits
    assert decision != limiter.peek(COST, limits=True)
    tokens = decision.limits[1]
    text = (
        "DecisionLimit(label='tpm', kind='points', limit=100, interval=100.0, remaining=60, "
        "retry_after=0.0, reset_after=40.0)"
    )
    assert repr(tokens) == text
    assert text in repr(decision)
    with pytest.raises(AttributeError):
        tokens.remaining = 5


@pytest.mark.parametrize("given", [1, "yes", ()])
def test_limits_is_true_or_false(limiter, given):
    for call in (limiter.try_acquire, limiter.peek, limiter.acquire):
        with pytest.raises(InvalidError) as raised:
            call(COST, limits=given)
        assert raised.value.argument == "limits"

    async def calls():
        for call in (limiter.atry_acquire, limiter.apeek, limiter.aacquire):
            with pytest.raises(InvalidError) as raised:
                await call(COST, limits=given)
            assert raised.value.argument == "limits"

    asyncio.run(calls())
    assert limiter.peek(0, limits=True).limits[0].remaining == 3
