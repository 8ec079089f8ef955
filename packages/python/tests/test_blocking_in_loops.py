# mypy: allow-untyped-calls
"""A wait that would stop an event loop says so."""

import asyncio
import threading
import warnings
from queue import SimpleQueue

import pytest
from paddlegate import BlockingWarning, OverLimit, Paddlegate


@pytest.fixture
def busy(monkeypatch):
    """Hold a limiter until somebody sleeps for it, who then gets it."""
    sleeps = threading.Event()
    threads = []

    class Wakeups(SimpleQueue[float]):
        def get(self, *args, **kwargs):
            sleeps.set()
            return super().get(*args, **kwargs)

    def busy(limiter):
        sleeps.clear()
        holder = limiter.acquire()

        def release():
            assert sleeps.wait(20)
            holder.release()

        threads.append(threading.Thread(target=release))
        threads[-1].start()

    monkeypatch.setattr("paddlegate._waiting.SimpleQueue", Wakeups)
    yield busy
    for thread in threads:
        thread.join()


def enter(limiter):
    with limiter.within_limit():
        pass


def call(limiter):
    limiter.within_limit().run(str)


def acquire(limiter):
    limiter.acquire().release()


@pytest.mark.parametrize("wait", [enter, call, acquire])
def test_a_wait_on_the_thread_of_a_loop_is_a_warning(store, name, run, wait, busy):
    limiter = store.concurrent(name, 1, wait_timeout=50)

    async def main():
        # Whoever need not wait may do so anywhere.
        wait(limiter)
        busy(limiter)
        with pytest.warns(BlockingWarning, match="aacquire") as warned:
            wait(limiter)
        assert [it.filename for it in warned] == [__file__]
        busy(limiter)
        await asyncio.to_thread(wait, limiter)

    run(main())
    busy(limiter)
    wait(limiter)


def test_each_place_warns_once(name, busy):
    limiter = Paddlegate("memory://").concurrent(name, 1, wait_timeout=50)

    async def main():
        for wait in acquire, acquire, acquire, call:
            busy(limiter)
            wait(limiter)

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("default")
        asyncio.run(main())
    assert len(warned) == 2


def test_a_warning_as_an_error_leaves_nothing_behind(store, name, run):
    limiter = store.concurrent(name, 1)
    limiter.acquire()

    async def main():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(BlockingWarning):
                limiter.acquire(wait_timeout=50)

    run(main())
    for _ in range(1000):
        if not limiter.stats().tickets:
            break
        threading.Event().wait(0.02)
    assert (limiter.stats().leases, limiter.stats().tickets) == (1, 0)


def test_a_gate_that_delays_on_the_thread_of_a_loop(run):
    slot = {"Name": "api", "ActionsPerHour": 1, "DelayMsOnOverflowHour": 10}
    gate = Paddlegate("memory://").invantive_gate(
        {
            "RateLimitControlList": [{"Url": "*", "SlotName": "api"}],
            "RateLimitControlSlotList": [slot],
        }
    )

    async def main():
        gate.admit(url="https://example.com")
        with (
            pytest.warns(BlockingWarning) as warned,
            pytest.raises(OverLimit),
            gate.within_limit(url="https://example.com"),
        ):
            pytest.fail("the body ran")
        assert [it.filename for it in warned] == [__file__]

    run(main())
