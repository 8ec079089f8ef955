# mypy: allow-untyped-calls
"""Loops over the turns of queued jobs, on threads and on event loops."""

import asyncio
import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from paddlegate import InvalidError, Paddlegate

JOBS = [f"job {number}" for number in range(30)]


def fill(limiter, count):
    """Take all `count` leases, queue the jobs behind them, and return the permits."""
    permits = [limiter.enqueue(f"first {number}").permit for number in range(count)]
    assert all(permits)
    assert [limiter.admit(job).action for job in JOBS] == ["wait"] * len(JOBS)
    return permits


def test_jobs_start_in_their_order(store, name):
    limiter = store.concurrent(name, 3, lock_timeout=600)
    permits = fill(limiter, 3)
    started = []

    def run(job):
        limiter.release(limiter.admit(job).permit)

    with ThreadPoolExecutor(3) as pool:
        turns = limiter.turns(wait_timeout=60)
        for permit in permits:
            limiter.release(permit)
        for job in turns:
            started.append(job)
            pool.submit(run, job)
            if len(started) == len(JOBS):
                break
    assert started == JOBS
    assert limiter.stats().refused == 0


def test_jobs_start_in_tasks(store, name, run):
    async def main():
        limiter = store.concurrent(name, 3, lock_timeout=600)
        permits = fill(limiter, 3)
        started = []

        async def start(job):
            admission = await limiter.aadmit(job)
            await limiter.arelease(admission.permit)

        tasks = [asyncio.create_task(limiter.arelease(permit)) for permit in permits]
        async for job in limiter.aturns(wait_timeout=60):
            started.append(job)
            tasks.append(asyncio.create_task(start(job)))
            if len(started) == len(JOBS):
                break
        await asyncio.gather(*tasks)
        return started

    assert run(main()) == JOBS


def test_a_loop_that_sleeps_is_told_of_a_turn(store, name, until):
    limiter = store.concurrent(name, 1, lock_timeout=600)
    (permit,) = [limiter.enqueue("first").permit]
    turns = limiter.turns(1, wait_timeout=60)
    with ThreadPoolExecutor(1) as pool:
        turn = pool.submit(next, turns)
        assert limiter.admit("job").action == "wait"
        limiter.release(permit)
        assert turn.result() == "job"
        limiter.release(limiter.admit("job").permit)
        # Others that wait are woken and not listed, once their tickets name the channel.
        until(lambda: turns._hub and turns._hub.channel)
        permit = limiter.enqueue("second").permit
        waiting = threading.Thread(target=lambda: limiter.acquire(wait_timeout=60).release())
        waiting.start()
        until(lambda: limiter.stats().tickets == 1)
        assert limiter.admit("last").action == "wait"
        turn = pool.submit(next, turns)
        limiter.release(permit)
        assert turn.result() == "last"
        waiting.join()


def test_loops_of_a_key(store, name):
    limiter = store.concurrent(name, 1, lock_timeout=600, keyed=True)
    permit = limiter.enqueue("first", key="a").permit
    assert limiter.admit("job", key="a").action == "wait"
    limiter.release(permit, key="a")
    assert next(limiter.turns(key="a")) == "job"
    with pytest.raises(InvalidError) as caught:
        next(limiter.turns())
    assert caught.value.argument == "key"


def test_a_loop_ends_with_its_time_and_when_it_is_closed(store, name, run, until):
    limiter = store.concurrent(name, 1)
    assert list(limiter.turns(wait_timeout=0)) == []
    assert list(limiter.turns(wait_timeout=0.01)) == []
    turns = limiter.turns()
    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(list, turns)
        until(lambda: turns._hub)
        turns.close()
        assert ended.result() == []
    turns.close()
    assert list(turns) == []

    async def main():
        assert [job async for job in limiter.aturns(wait_timeout=0.01)] == []
        turns = limiter.aturns()
        ended = asyncio.create_task(anext(turns, "ended"))
        await asyncio.sleep(0.01)
        turns.close()
        assert await ended == "ended"
        stopped = asyncio.create_task(anext(limiter.aturns()))
        await asyncio.sleep(0.01)
        stopped.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stopped

    run(main())


def test_a_loop_that_is_dropped_leaves_the_hub(store, name):
    limiter = store.concurrent(name, 1)
    turns = limiter.turns(wait_timeout=0.01)
    assert list(turns) == []
    hub = turns._hub
    assert hub._waiters
    del turns
    gc.collect()
    assert not hub._waiters


def test_bad_arguments_name_themselves(store, name):
    limiter = store.concurrent(name, 1)
    for count, wait_timeout, argument in [
        (0, None, "count"),
        (101, None, "count"),
        ("1", None, "count"),
        (1, -1, "wait_timeout"),
        (1, "soon", "wait_timeout"),
    ]:
        for make in (limiter.turns, limiter.aturns):
            with pytest.raises(InvalidError) as caught:
                make(count, wait_timeout=wait_timeout)
            assert caught.value.argument == argument


def test_a_closed_store_ends_a_loop_with_an_error(url, name, until):
    pg = Paddlegate(url)
    turns = pg.concurrent(name, 1).turns()
    with ThreadPoolExecutor(1) as pool:
        turn = pool.submit(next, turns)
        until(lambda: turns._hub)
        pg.close()
        with pytest.raises(InvalidError) as caught:
            turn.result()
    assert caught.value.argument == "store"
