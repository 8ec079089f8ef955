# mypy: allow-untyped-calls
"""The verbs, the forms of `within_limit`, and waiting."""

import asyncio
import contextlib
import inspect
import threading
import time

import pytest
from paddlegate import AsyncPermit, InvalidError, Limiter, OverLimit, Permit


def test_verbs(store, name):
    limiter = store.window(name, 2, 60)
    assert limiter.name == name
    assert limiter.wait_timeout == 5
    assert limiter.peek().remaining == 2
    assert limiter.allow() is True
    assert limiter.try_acquire().remaining == 0
    refusal = limiter.try_acquire()
    assert not refusal
    assert refusal.reason == "window"
    assert refusal.retry_after == pytest.approx(60, abs=1)
    assert limiter.allow() is False
    assert limiter.reset() is None
    assert limiter.allow(2) is True


def test_asynchronous_verbs(store, name, run):
    async def main():
        limiter = store.window(name, 2, 60)
        assert (await limiter.apeek()).remaining == 2
        assert await limiter.aallow() is True
        assert (await limiter.atry_acquire()).remaining == 0
        assert not await limiter.atry_acquire()
        assert await limiter.aallow() is False
        assert await limiter.areset() is None
        assert await limiter.aallow(2) is True

    run(main())


def test_kinds(clocked, clock, name):
    clock.now_us = 1
    bucket = clocked.bucket(name, 1, "day", "PT2H")
    assert bucket.try_acquire().reset_after == pytest.approx(22 * 3600)
    assert clocked.leaky(name, 3, 60).try_acquire().reset_after == 20
    assert clocked.points(name, 1000, 20).try_acquire(estimate=250).reset_after == 5
    throttle = clocked.throttle(name, 0.1)
    assert throttle.allow()
    clock.now_us = 100_000
    assert not throttle.allow()
    clock.now_us = 100_001
    assert throttle.allow()
    assert clocked.unlimited().try_acquire().limit is None
    paused = clocked.paused(name).try_acquire()
    assert (bool(paused), paused.reason, paused.retry_after) == (False, "paused", None)


def test_a_throttle_of_several_starts(clocked, clock, name):
    limiters = [
        clocked.throttle(f"{name}1", 1, limit=3),
        clocked.limiter(f"{name}2", throttle=(3, "second")),
        clocked.limiter(f"{name}3", [("throttle", 3, 1)]),
    ]
    for limiter in limiters:
        clock.now_us = began = 3_600_000_000
        starts = [0, 333_334, 666_667, 1_000_000, 1_333_334, 1_666_667, 2_000_000]
        for start in starts:
            if start:
                clock.now_us = began + start - 1
                refusal = limiter.try_acquire()
                assert (refusal.reason, refusal.retry_after) == ("throttle", 1e-6)
            clock.now_us = began + start
            assert limiter.try_acquire(7).limit == 1
        assert limiter.stats().granted == len(starts)


def test_policies_are_decided_as_one(clocked, clock, name):
    both = clocked.limiter(name, window=(2, 60), throttle=0.1)
    listed = clocked.limiter(name, [("window", 2, 60), ("throttle", 0.1)])
    assert both.allow()
    clock.advance(1e-6)
    refusal = listed.try_acquire()
    assert (refusal.reason, refusal.label) == ("throttle", "throttle")
    clock.advance(0.099999)
    assert both.peek().remaining == 1
    assert listed.allow()
    clock.advance(0.1)
    assert both.try_acquire().reason == "window"
    assert both.peek().label == "window"


def test_a_policy_may_be_paused_by_keyword(store, name):
    assert store.limiter(name, window=(2, 60), paused=()).try_acquire().reason == "paused"


def test_limiters_can_be_subclassed(store, name):
    class Mine(Limiter):
        def allow_two(self):
            return self.allow(2)

    mine = Mine(store, name, [("window", 2, 60)], wait_timeout=0)
    assert mine.allow_two()
    assert not mine.allow_two()
    assert repr(mine) == f"<Mine {name!r}>"


def test_with(store, name):
    limiter = store.window(name, 1, 60, wait_timeout=0)
    with limiter.within_limit() as permit:
        assert isinstance(permit, Permit)
        assert permit.decision.remaining == 0
        assert permit.id is None
    with pytest.raises(OverLimit) as caught, limiter.within_limit():
        pytest.fail("the body ran")
    assert caught.value.limiter == name
    assert caught.value.decision.reason == "window"
    assert caught.value.retry_after == pytest.approx(60, abs=1)


def test_async_with(store, name, run):
    async def main():
        limiter = store.window(name, 1, 60, wait_timeout=0)
        async with limiter.within_limit() as permit:
            assert isinstance(permit, AsyncPermit)
            assert permit.id is None
        with pytest.raises(OverLimit):
            async with limiter.within_limit():
                pytest.fail("the body ran")

    run(main())


def test_decorators(store, name):
    limiter = store.window(name, 4, 60)

    @limiter.within_limit(2, wait_timeout=0)
    def double(x, *, plus=0):
        """Double it."""
        return 2 * x + plus

    assert (double.__name__, double.__doc__) == ("double", "Double it.")
    assert double(3, plus=1) == 7
    assert double(4) == 8
    with pytest.raises(OverLimit):
        double(5)


def test_decorators_of_coroutine_functions(store, name, run):
    limiter = store.window(name, 2, 60, wait_timeout=0)

    @limiter.within_limit()
    async def double(x):
        await asyncio.sleep(0)
        return 2 * x

    async def main():
        # They overlap, and each has its own permit.
        assert list(await asyncio.gather(double(1), double(2))) == [2, 4]
        with pytest.raises(OverLimit):
            await double(3)

    assert inspect.iscoroutinefunction(double)
    run(main())


def test_decorators_of_generators(store, name, run):
    limiter = store.window(name, 4, 60, wait_timeout=0)

    @limiter.within_limit()
    def numbers():
        got = yield 1
        return (yield got)

    @limiter.within_limit()
    async def anumbers():
        yield 1
        yield 2

    async def main():
        assert [item async for item in anumbers()] == [1, 2]
        async with contextlib.aclosing(anumbers()) as items:
            assert await anext(items) == 1
        with pytest.raises(OverLimit):
            await anext(anumbers())

    first, second = numbers(), numbers()
    assert limiter.peek().remaining == 4, "nothing runs before the first item"
    assert next(first) == next(second) == 1
    assert first.send("x") == "x"
    with pytest.raises(StopIteration) as stopped:
        first.send("end")
    assert stopped.value.value == "end"
    run(main())


def test_decorated_asynchronous_generators_get_what_is_sent(store, name, run):
    limiter = store.concurrent(name, 1, wait_timeout=0)
    ended = []

    @limiter.within_limit()
    async def echo():
        got = None
        try:
            got = yield got
            try:
                got = yield got
            except ZeroDivisionError as error:
                got = yield error
        finally:
            ended.append(got)

    async def main():
        items = echo()
        assert await anext(items) is None
        assert await items.asend("x") == "x"
        error = ZeroDivisionError()
        assert await items.athrow(error) is error
        assert (await limiter.astats()).leases == 1
        with pytest.raises(StopAsyncIteration):
            await items.asend("end")
        items = echo()
        await anext(items)
        with pytest.raises(KeyError):
            await items.athrow(KeyError())
        items = echo()
        await anext(items)
        await items.aclose()
        assert ended == ["end", None, None]
        assert (await limiter.astats()).leases == 0

    run(main())


def test_plain_functions_must_not_give_awaitables(store, name, run):
    limiter = store.concurrent(name, 1)

    async def body():
        pytest.fail("it ran without its permit")

    async def main():
        with pytest.raises(InvalidError, match="async function") as caught:
            limiter.within_limit().run(lambda: body())
        assert caught.value.argument == "function"
        with pytest.raises(InvalidError):
            limiter.within_limit()(asyncio.get_running_loop().create_future)()
        assert (await limiter.astats()).leases == 0

    run(main())


def test_methods_can_be_decorated(store, name):
    limiter = store.window(name, 1, 60, wait_timeout=0)

    class Client:
        @limiter.within_limit()
        def call(self, x):
            return self, x

    client = Client()
    assert client.call(1) == (client, 1)


def test_acquire_waits_until_the_time_has_come(store, name):
    limiter = store.window(name, 1, 0.2)
    first, second = limiter.acquire().decision, limiter.acquire().decision
    assert second.at_us - first.at_us >= 200_000


def test_aacquire_waits_until_the_time_has_come(store, name, run):
    async def main():
        limiter = store.window(name, 1, 0.2)
        first = (await limiter.aacquire()).decision
        async with limiter.within_limit() as permit:
            assert permit.decision.at_us - first.at_us >= 200_000

    run(main())


@pytest.mark.parametrize("wait_timeout", [0, 20, 40])
def test_over_limit_at_once_if_the_time_cannot_fit(store, name, run, wait_timeout):
    limiter = store.window(name, 1, 60)
    limiter.acquire()
    with pytest.raises(OverLimit, match="reason=window"):
        limiter.acquire(wait_timeout=wait_timeout)
    with pytest.raises(OverLimit):
        run(limiter.aacquire(wait_timeout=wait_timeout))
    assert limiter.stats().waited == 0, "it takes no place in the queue"
    assert limiter.stats().lapsed == 0
    assert limiter.peek(0).remaining == 0


def test_over_limit_at_once_if_the_time_is_not_known(store, name, run):
    limiter = store.paused(name)
    with pytest.raises(OverLimit) as caught:
        limiter.acquire()
    assert caught.value.retry_after is None
    with pytest.raises(OverLimit):
        run(limiter.aacquire())


def test_waiting_tasks_can_be_cancelled_and_are_not_charged(store, name, run):
    async def main():
        limiter = store.window(name, 2, 60, wait_timeout=90)
        await limiter.aacquire(2)
        waiting = asyncio.create_task(limiter.aacquire())
        while not (await limiter.astats()).tickets:  # noqa: ASYNC110 - a task changes it
            await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        while (await limiter.astats()).tickets:  # noqa: ASYNC110 - it leaves behind
            await asyncio.sleep(0.01)
        assert (await limiter.astats()).units == 2

    run(main())


def test_waiting_threads_let_others_run(store, name):
    limiter = store.concurrent(name, 1, wait_timeout=50)
    holder = limiter.acquire()
    waiting = threading.Thread(target=limiter.acquire)
    waiting.start()
    for _ in range(10):
        assert waiting.is_alive()
        time.sleep(0.01)
    holder.release()
    waiting.join()


def test_after_retry_after_a_call_is_granted(store, name):
    limiter = store.throttle(name, 0.012_345)

    def refusal():
        while decision := limiter.try_acquire():
            pass
        return decision.retry_after

    async def main():
        for _ in range(10):
            await asyncio.sleep(refusal())
            assert await limiter.aallow()

    for _ in range(10):
        time.sleep(refusal())
        assert limiter.allow()
    asyncio.run(main())
