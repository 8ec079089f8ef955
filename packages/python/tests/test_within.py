# mypy: allow-untyped-calls
"""One object of `within_limit` for bodies that run at once: each end releases its own lease."""

import asyncio
from contextlib import (
    AsyncExitStack,
    ExitStack,
    aclosing,
    asynccontextmanager,
    closing,
    contextmanager,
)
from threading import Thread

import pytest
from paddlegate import InvalidError


def in_thread(function):
    """Call it in a thread of its own, and return its result."""
    results: list[object] = []
    thread = Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


class Body:
    """A body that one thread begins and another one ends."""

    def __init__(self, way, guard):
        self.guard = guard
        self.context = getattr(self, way)()

    @contextmanager
    def generator(self):
        with self.guard as permit:
            yield permit

    @contextmanager
    def stack(self):
        stack = ExitStack()
        yield stack.enter_context(self.guard)
        stack.close()

    @contextmanager
    def nested(self):
        with self.guard as permit, self.guard:
            yield permit


@pytest.fixture
def limiter(store, name):
    return store.concurrent(name, 9)


@pytest.mark.parametrize("hops", [False, True], ids=["one thread", "several threads"])
@pytest.mark.parametrize("way", ["generator", "stack", "nested"])
def test_each_body_releases_its_own_lease(limiter, way, hops):
    guard = limiter.within_limit()
    call = in_thread if hops else lambda function: function()
    bodies = [Body(way, guard).context for _ in range(3)]
    permits = [call(body.__enter__) for body in bodies]
    # The first to begin is the first to end.
    for number, body in enumerate(bodies):
        call(lambda body=body: body.__exit__(None, None, None))
        assert [limiter.renew(permit) is not None for permit in permits] == [
            later > number for later in range(3)
        ]
    assert limiter.stats().leases == 0


async def generator(guard):
    async with guard as permit:
        yield permit


async def stacked(guard):
    async with AsyncExitStack() as stack:
        yield await stack.enter_async_context(guard)


@pytest.mark.parametrize("way", [generator, stacked])
@pytest.mark.parametrize("is_one_task", [True, False])
def test_each_asynchronous_body_releases_its_own_lease(limiter, run, way, is_one_task):
    guard = limiter.within_limit()

    async def main():
        bodies = [asynccontextmanager(way)(guard) for _ in range(3)]

        async def call(coroutine):
            return await (coroutine if is_one_task else asyncio.create_task(coroutine))

        permits = [await call(body.__aenter__()) for body in bodies]
        for number, body in enumerate(bodies):
            await call(body.__aexit__(None, None, None))
            held = [await permit.renew() is not None for permit in permits[number + 1 :]]
            assert held == [True] * (2 - number)
            assert (await limiter.astats()).leases == 2 - number

    run(main())


def test_a_body_that_is_thrown_away_releases_its_lease(limiter):
    guard = limiter.within_limit()

    def items():
        with guard:
            yield 1
            yield 2

    with closing(items()) as kept:
        next(kept)
        next(items())
        assert limiter.stats().leases == 1
    assert limiter.stats().leases == 0

    async def aitems():
        async with guard:
            yield 1

    async def main():
        async with aclosing(aitems()) as kept:
            await anext(kept)
            assert (await limiter.astats()).leases == 1

    asyncio.run(main())
    assert limiter.stats().leases == 0


def test_calls_by_hand_of_several_threads_need_an_object_each(limiter):
    guard = limiter.within_limit()
    for _ in range(2):
        in_thread(guard.__enter__)
    with pytest.raises(InvalidError, match="use an object of within_limit"):
        guard.__exit__(None, None, None)
    assert limiter.stats().leases == 2
