# mypy: allow-untyped-calls
"""Stores that are closed: no connection stays, and who waits is told."""

import asyncio
import contextlib
import os
import threading
import time

import pytest
import redis as client
from paddlegate import InvalidError, Paddlegate, TestClock
from paddlegate._waiting import TaskWaiter, ThreadWaiter


@pytest.fixture
def connected(server):
    """Count the connections that others have to a server of our own."""
    with client.Redis(port=server.port) as asking:
        yield lambda: len(asking.client_list()) - 1


def refused(error):
    return isinstance(error, InvalidError) and error.argument == "store"


async def use(store, name):
    """Have all kinds of connections: of a thread, of the loop, and for those who wait in both."""
    limiter = store.concurrent(name, 1, wait_timeout=50)
    holder = limiter.acquire()
    errors = []

    def wait():
        try:
            limiter.acquire()
        except InvalidError as error:
            errors.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    task = asyncio.create_task(limiter.aacquire())
    while (await limiter.astats()).tickets < 2:  # noqa: ASYNC110 - a thread changes it
        await asyncio.sleep(0.01)
    return holder, thread, task, errors


@pytest.mark.parametrize("how", ["close", "aclose", "elsewhere", "async with"])
def test_a_closed_store_has_no_connection_and_ends_its_waits(
    server, connected, name, run, until, how
):
    async def main():
        store = Paddlegate(server.url, timeout=20)
        async with store if how == "async with" else contextlib.nullcontext():
            _, thread, task, errors = await use(store, name)
            assert connected() >= 3
            if how == "close":
                store.close()
            elif how == "elsewhere":
                # Nothing else wakes the loop.
                closing = threading.Thread(target=store.close)
                closing.start()
                with pytest.raises(InvalidError):
                    await asyncio.wait_for(asyncio.shield(task), 10)
                await asyncio.to_thread(closing.join)
            elif how == "aclose":
                await store.aclose()
        with pytest.raises(InvalidError) as caught:
            await task
        thread.join()
        assert [*map(refused, [*errors, caught.value])] == [True, True]
        # What is under way when its own loop closes a store has its answer a little later.
        for _ in range(1000):
            if not connected():
                break
            await asyncio.sleep(0.02)
        assert connected() == 0
        store.close()
        await store.aclose()
        limiter = store.window(name, 9, 60)
        keyed = store.window(name, 9, 60, keyed=True)
        listing = store.limiters, store.limiter_page, limiter.stats, keyed.stats
        for verb in limiter.allow, limiter.acquire, limiter.peek, limiter.reset, *listing:
            with pytest.raises(InvalidError) as caught:
                verb()
            assert refused(caught.value)
        listing_forms = store.alimiters, store.alimiter_page, limiter.astats, keyed.astats
        for form in limiter.aallow, limiter.aacquire, limiter.apeek, *listing_forms:
            with pytest.raises(InvalidError) as caught:
                await form()
            assert refused(caught.value)

    run(main())
    # Nothing of those who waited stays in the queue.
    left = Paddlegate(server.url, timeout=20).concurrent(name, 1)
    until(lambda: left.stats().tickets == 0)
    assert left.stats().leases == 1


@pytest.mark.parametrize("waiter", [ThreadWaiter, TaskWaiter])
def test_a_call_that_just_got_a_ticket_gives_it_back(redis, url, name, run, monkeypatch, waiter):
    store = Paddlegate(url, timeout=20)
    limiter = store.concurrent(name, 1, wait_timeout=50)
    limiter.acquire()
    closing = threading.Thread(target=store.close)
    sleep = waiter._sleep

    def close_and_sleep(self):
        closing.start()
        while not store._hubs.closed:
            time.sleep(0.001)
        return sleep(self)

    monkeypatch.setattr(waiter, "_sleep", close_and_sleep)
    with pytest.raises(InvalidError) as caught:
        limiter.acquire() if waiter is ThreadWaiter else run(limiter.aacquire())
    assert refused(caught.value)
    closing.join()
    assert Paddlegate(url, timeout=20).concurrent(name, 1).stats().tickets == 0


@pytest.mark.parametrize("clock", [None, TestClock()])
def test_a_closed_store_in_memory_ends_its_waits_and_refuses_later_calls(run, clock):
    async def main():
        store = Paddlegate("memory://", clock=clock)
        _, thread, task, errors = await use(store, "slots")
        await store.aclose()
        with pytest.raises(InvalidError) as caught:
            await task
        thread.join()
        assert [*map(refused, [*errors, caught.value])] == [True, True]
        limiter = store.window("again", 9, 60)
        for verb in limiter.allow, limiter.acquire, limiter.peek, limiter.stats, store.limiters:
            with pytest.raises(InvalidError) as caught:
                verb()
            assert refused(caught.value)
        for form in limiter.aallow, limiter.aacquire, store.alimiters:
            with pytest.raises(InvalidError) as caught:
                await form()
            assert refused(caught.value)
        assert store.unlimited().try_acquire(), "it needs no state"

    run(main())


def test_a_plain_call_after_a_close_is_refused():
    store = Paddlegate("memory://")
    limiter, keyed = store.leaky("plain", 9, 60), store.leaky("plain", 9, 60, keyed=True)
    calls = (
        limiter.allow,
        limiter.try_acquire,
        limiter.peek,
        lambda: keyed.allow(key="ada"),
        lambda: keyed.try_acquire(key="ada"),
    )
    for _ in range(2):
        for call in calls:
            assert call()
    store.close()
    for call in calls:
        with pytest.raises(InvalidError) as caught:
            call()
        assert refused(caught.value)


def test_two_hundred_closed_stores_leave_no_connection(server, connected, name, run, until):
    def close(number):
        with Paddlegate(server.url, timeout=20) as store:
            limiter = store.window(f"{name}-{number}", 9, 60)
            assert limiter.allow()
        return store

    async def aclose(number):
        async with Paddlegate(server.url, timeout=20) as store:
            assert await store.window(f"{name}-{number}", 9, 60).aallow()
        return store

    async def main():
        return [await aclose(number) for number in range(100)]

    stores = [*map(close, range(100)), *run(main())]
    assert len(stores) == 200
    # The server may need a moment to see the end of a connection.
    until(lambda: connected() == 0)


def test_a_loop_that_stands_still_keeps_no_connection(server, connected, name, until):
    store = Paddlegate(server.url, timeout=20)
    loop = asyncio.new_event_loop()
    assert loop.run_until_complete(store.window(name, 9, 60).aallow())
    store.close()
    until(lambda: connected() == 0)
    loop.close()
    assert loop.is_closed()
    store.close()


def test_calls_under_way_get_their_answers(redis, name, run):
    async def main():
        limiter = redis.window(name, 100, 60)
        calls = [asyncio.ensure_future(limiter.aallow()) for _ in range(20)]
        await asyncio.sleep(0)
        redis.close()
        assert await asyncio.gather(*calls) == [True] * 20

    run(main())


def test_a_fork_closes_what_is_its_own(redis, url, name):
    limiter = redis.window(name, 9, 60)
    assert limiter.allow()
    child = os.fork()
    if child == 0:
        try:
            redis.close()
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert limiter.allow()


def test_a_silent_server_keeps_nobody_from_closing(silent, run):
    """It takes no longer than a call: this would hang."""

    async def main():
        store = Paddlegate(silent, timeout=0.2)
        call = asyncio.ensure_future(store.window("x", 9, 60).aallow())
        await asyncio.sleep(0.05)
        await store.aclose()
        with pytest.raises((ConnectionError, InvalidError)):
            await call

    run(main())
