# mypy: allow-untyped-calls
"""Functions that run within a limit and take their permit."""

import inspect

import pytest
from paddlegate import InvalidError, OverLimit, Paddlegate, TestClock


@pytest.fixture
def shop(store, name):
    return store.points(name, 1000, 3600)


def left(limiter):
    """Tell what is left, in hundreds: it fills up meanwhile."""
    return limiter.peek().remaining // 100


def test_a_function_settles_its_estimate(shop, run):
    @shop.within_limit(estimate=200)
    def function(text, *, permit):
        assert permit.points_used(0) == "settled"
        return text

    @shop.within_limit(estimate=200)
    def generator(*, permit):
        permit.points_used(0)
        yield 1

    @shop.within_limit(estimate=200)
    async def coroutine(text, *, permit):
        permit.points_used(0)
        return text

    @shop.within_limit(estimate=200)
    async def asynchronous_generator(*, permit):
        permit.points_used(0)
        yield 1

    async def main():
        assert await coroutine("b") == "b"
        assert [item async for item in asynchronous_generator()] == [1]

    assert function("a") == "a"
    assert list(generator()) == [1]
    run(main())
    assert shop.within_limit(estimate=200).run(function.__wrapped__, "c") == "c"
    assert left(shop) == 10
    assert str(inspect.signature(function)) == "(text)"
    # Whoever calls it may give another.
    permit = shop.acquire(estimate=300)
    assert function("d", permit=permit) == "d"
    assert left(shop) == 8


@pytest.mark.parametrize("function", [lambda: 1, lambda permit: 1, print, str, lambda **permit: 1])
def test_an_estimate_that_nobody_could_settle_is_refused(shop, function):
    with pytest.raises(InvalidError, match="keyword-only argument permit") as caught:
        shop.within_limit(estimate=200)(function)
    assert caught.value.argument == "estimate"
    assert left(shop) == 10
    shop.within_limit(200)(lambda permit: permit)(1)
    assert left(shop) == 8


def test_every_sort_of_limiter_hands_its_permit_over(store, name):
    limiter = store.concurrent(name, 1, wait_timeout=0)

    @limiter.within_limit()
    @store.window(f"{name}2", 9, 60).within_limit()
    def body(number, *, permit):
        return number, permit.fencing_token

    # The inner one is nearer to the function.
    assert body(5) == (5, None)

    class Client:
        @limiter.within_limit
        def get(self, *, permit):
            return permit.fencing_token

    assert Client().get() is not None
    assert limiter.stats().leases == 0


def test_parentheses_may_be_left_out(store, name, run):
    limiter = store.window(name, 3, 60, wait_timeout=0)

    @limiter.within_limit
    def function(x):
        """Say so."""
        return x

    @limiter.within_limit
    async def coroutine(x):
        return x

    assert function.__doc__ == "Say so."
    assert (function(1), run(coroutine(2)), function(x=3)) == (1, 2, 3)
    with pytest.raises(OverLimit):
        function(4)
    points = store.points(name, 10, 60)
    with pytest.raises(InvalidError):
        points.within_limit(lambda: 1)()


def test_a_look_at_points_needs_no_estimate(store, name, run):
    points = store.points(name, 1000, 3600)
    both = store.limiter(name, window=(3, 60), points=(10, 3600))
    assert (points.peek().remaining, run(points.apeek()).remaining) == (1000, 1000)
    assert both.peek().allowed
    points.try_acquire(estimate=999)
    assert points.peek().allowed
    assert not points.peek(500).allowed
    with pytest.raises(InvalidError):
        points.try_acquire()


def test_a_permit_stands_for_its_id(store, name, run):
    limiter = store.limiter(name, concurrency=3, points=(1000, 3600))
    permit = limiter.acquire(estimate=100)
    decision = limiter.try_acquire(estimate=100)
    assert limiter.renew(permit) == limiter.renew(decision) == 30
    assert limiter.correct(permit, 10) == limiter.correct(decision, 10) == "settled"
    assert limiter.release(permit) == limiter.release(decision) == "released"

    async def main():
        permit = await limiter.aacquire(estimate=100)
        decision = await limiter.atry_acquire(estimate=100)
        assert await limiter.arenew(permit) == await limiter.arenew(decision) == 30
        assert (await limiter.alearn_from_response({}, permit=permit)).settlement is None
        assert await limiter.acorrect(decision, 10) == "settled"
        assert await limiter.arelease(permit) == await limiter.arelease(decision) == "released"

    run(main())
    window = store.window(name, 1, 60)
    for nothing in window.acquire(), window.try_acquire():
        with pytest.raises(InvalidError, match="has no id") as caught:
            limiter.release(nothing)
        assert caught.value.argument == "permit"


def test_errors_speak_as_python_does():
    def text(call, *arguments, **named):
        with pytest.raises(InvalidError) as caught:
            call(*arguments, **named)
        return str(caught.value)

    pg = Paddlegate("memory://")
    assert text(Paddlegate, "redis://localhost", timeout=0.0005).endswith("timeout=0.0005")
    assert text(pg.window, "x", 5, 0).endswith("interval=0")
    assert text(pg.window, "x", 5, 60, ttl=0.5).endswith("ttl=0.5")
    assert text(TestClock, 2**53 - 1).endswith("now_us=9007199254740991")
