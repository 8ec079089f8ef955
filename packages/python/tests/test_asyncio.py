# mypy: allow-untyped-calls
"""The bridge to event loops: no thread, no call that hangs, nothing left behind."""

import asyncio
import gc
import os
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from paddlegate import InvalidError, Paddlegate


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def threads():
    return len(os.listdir("/proc/self/task"))


# Those that Python does not know of, such as one of a runner of tests.
STRANGERS = threads() - threading.active_count()


def are_threads(count):
    """Wait for threads that have been joined to disappear; Python does not wait so long."""
    for _ in range(400):
        if threads() == count:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("tasks", [1, 2, 64, 1000])
def test_answers_belong_to_their_calls(redis, name, run, tasks):
    async def main():
        limiters = [redis.window(f"{name}-{i}", i + 5, 60) for i in range(tasks)]

        async def use(limiter, limit):
            decisions = [await limiter.atry_acquire() for _ in range(3)]
            assert [decision.limit for decision in decisions] == [limit] * 3
            assert [decision.remaining for decision in decisions] == [
                limit - 1,
                limit - 2,
                limit - 3,
            ]

        await asyncio.gather(*(use(limiter, i + 5) for i, limiter in enumerate(limiters)))

    run(main())


def test_many_tasks_share_one_limit(redis, name, run):
    async def main():
        limiter = redis.window(name, 100, 60)
        granted = await asyncio.gather(*(limiter.aallow() for _ in range(500)))
        assert sum(granted) == 100

    run(main())


def test_no_thread_is_started_but_one_to_connect(redis, name, run):
    before = threading.active_count() + STRANGERS
    assert are_threads(before)
    limiter = redis.window(name, 1000, 60)
    limiter.allow()
    assert threads() == before

    async def main():
        assert await limiter.aallow()
        assert are_threads(before)
        for _ in range(10):
            await asyncio.gather(*(limiter.aallow() for _ in range(20)))
        assert threads() == before

    run(main())
    # asyncio.run() shuts the executor down, on a thread of its own.
    assert are_threads(before)


def test_connecting_needs_nobodys_threads(url, name, run):
    async def main():
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        free = threading.Event()
        busy = loop.run_in_executor(None, free.wait)
        try:
            limiter = Paddlegate(url, timeout=5).concurrent(name, 1, wait_timeout=50)
            holder = await limiter.aacquire()
            waiter = asyncio.create_task(limiter.aacquire())
            for _ in range(400):
                await asyncio.sleep(0.05)
                if any(hub.channel for hub in limiter._hubs._loop_hubs.values()):
                    break
            else:
                raise TimeoutError("nobody listens")
            await holder.release()
            await (await waiter).release()
        finally:
            free.set()
            await busy

    run(main())


def test_memory_needs_nothing(name, run):
    async def main():
        limiter = Paddlegate("memory://").window(name, 2, 60)
        assert are_threads(threading.active_count() + STRANGERS)
        before = descriptors(), threads()
        assert await limiter.aallow()
        assert (await limiter.apeek()).remaining == 1
        assert (descriptors(), threads()) == before

    run(main())


def test_wrong_calls_fail_at_once(redis, name, run):
    async def main():
        with pytest.raises(InvalidError):
            await redis.window(name, 2, 60).aallow(-1)

    run(main())


def test_a_cancelled_call_disturbs_nobody(redis, name, run):
    async def main():
        limiter = redis.window(name, 100, 60)
        await limiter.aallow()
        for _ in range(20):
            calls = [asyncio.create_task(limiter.apeek()) for _ in range(4)]
            await asyncio.sleep(0)
            calls[1].cancel()
            results: list[Any] = await asyncio.gather(*calls, return_exceptions=True)
            assert isinstance(results[1], asyncio.CancelledError)
            assert [results[i].remaining for i in (0, 2, 3)] == [99] * 3

    run(main())


def test_cancelling_whoever_connects_disturbs_nobody(redis, name, run):
    async def main():
        limiter = redis.window(name, 100, 60)
        calls = [asyncio.create_task(limiter.aallow()) for _ in range(3)]
        await asyncio.sleep(0)
        calls[0].cancel()
        assert (await asyncio.gather(*calls, return_exceptions=True))[1:] == [True, True]

    run(main())


def test_more_calls_than_the_socket_takes(url, name, run):
    async def main():
        store = Paddlegate(url, timeout=30)
        long = "x" * (400 - len(name))
        limiters = [store.window(f"{name}{long}{i}", 1, 60) for i in range(10_000)]
        assert all(await asyncio.gather(*(limiter.aallow() for limiter in limiters)))
        assert not any(await asyncio.gather(*(limiter.aallow() for limiter in limiters)))

    run(main())


def test_loops_come_and_go(redis, name, run):
    limiter = redis.window(name, 1000, 60)
    assert run(limiter.aallow())
    gc.collect()
    before = descriptors()
    for _ in range(20):
        assert run(limiter.aallow())
    gc.collect()
    assert descriptors() == before


def test_a_closed_loop_leaves_nothing_behind(redis, name, silent, run):
    loops = []

    async def main():
        loops.append(weakref.ref(asyncio.get_running_loop()))
        assert await redis.window(name, 2, 60).aallow()
        pending = asyncio.create_task(hanging.aallow())
        await asyncio.sleep(0.05)
        return weakref.ref(pending)

    hanging = Paddlegate(silent, timeout=30).window("x", 1, 60)
    gc.collect()
    before = descriptors()
    pending = run(main())
    gc.collect()
    assert descriptors() == before
    assert loops[0]() is None
    assert pending() is None
    assert len(redis._links) == len(hanging._links) == 0


def test_two_loops_at_once(redis, name, run):
    limiter = redis.window(name, 1000, 60)

    async def use():
        return [await limiter.aallow() for _ in range(100)]

    results = []
    workers = [threading.Thread(target=lambda: results.extend(run(use()))) for _ in range(4)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()
    assert results == [True] * 400
    assert limiter.peek().remaining == 600


def test_loops_that_cannot_watch_sockets(redis, name):
    class Blind(asyncio.SelectorEventLoop):
        add_reader = asyncio.AbstractEventLoop.add_reader

    async def main():
        limiter = redis.points(name, 10, 60)
        async with limiter.within_limit(estimate=8) as permit:
            permit.points_used(3)
        assert (await limiter.apeek(0)).remaining == 7
        assert (await limiter.apause(60)).paused_for == 60
        assert (await limiter.alearn_from_response({}, status=200)).ignored == (
            "not a rate limit answer",
        )

    loop = Blind()
    loop.run_until_complete(main())
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


@pytest.mark.parametrize("verb", ["aacquire", "atry_acquire", "astats", "apeek"])
def test_without_asyncio_the_error_says_so(redis, name, verb):
    """A task of trio, say, runs a coroutine without an event loop of asyncio."""
    limiter = redis.concurrent(name, 1)
    coroutine = getattr(limiter, verb)()
    with pytest.raises(InvalidError, match="asyncio runs no event loop here"):
        coroutine.send(None)
