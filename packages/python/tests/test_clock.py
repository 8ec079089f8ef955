# mypy: allow-untyped-calls
"""The clock of a test, which only the test moves."""

import os
import threading

import pytest
from paddlegate import InvalidError, Paddlegate, Permit, TestClock

PATIENT = 20


@pytest.mark.parametrize("allowed", [None, "", "0", "true"])
def test_a_server_takes_no_clock(url, name, clock, monkeypatch, allowed):
    """In Redis the clock of one process could end the leases of all."""
    pg = Paddlegate(url, timeout=PATIENT, clock=clock)
    monkeypatch.delenv("PADDLEGATE_TEST_CLOCK")
    if allowed is not None:
        monkeypatch.setenv("PADDLEGATE_TEST_CLOCK", allowed)
    for address in url, os.environ["PADDLEGATE_TEST_CLUSTER_URL"]:
        with pytest.raises(InvalidError, match="PADDLEGATE_TEST_CLOCK=1") as caught:
            Paddlegate(address, clock=clock)
        assert caught.value.argument == "clock"
    monkeypatch.setenv("PADDLEGATE_URL", url)
    with pytest.raises(InvalidError):
        Paddlegate(clock=clock)
    assert Paddlegate("memory://", clock=clock).window(name, 1, 60).allow()
    assert pg.window(name, 1, 60).try_acquire().at_us == clock.now_us, "it was opened before"


def test_only_the_test_moves_it(clocked, clock, name, run):
    limiter = clocked.window(name, 3, 60)
    assert limiter.try_acquire().at_us == clock.now_us == 3_600_000_000
    assert run(limiter.atry_acquire()).at_us == 3_600_000_000
    clock.advance("PT0.5S")
    assert limiter.try_acquire().at_us == clock.now_us == 3_600_500_000
    clock.advance(59.499999)
    assert run(limiter.apeek()).retry_after == 1e-6
    clock.now_us += 1
    assert limiter.peek().remaining == 2


def test_it_may_run_backwards(clocked, clock, name):
    limiter = clocked.window(name, 1, 60)
    assert limiter.allow()
    clock.now_us = 0
    assert limiter.try_acquire().retry_after == 60, "the limiter's own time stands still"


def test_stores_share_a_clock(url, clock, name):
    urls = "memory://", "memory://", url
    stores = [Paddlegate(each, timeout=PATIENT, clock=clock) for each in urls]
    limiters = [store.throttle(name, 60) for store in stores]
    assert [limiter.allow() for limiter in limiters] == [True] * 3
    assert [limiter.allow() for limiter in limiters] == [False] * 3
    clock.advance("minute")
    assert [limiter.allow() for limiter in limiters] == [True] * 3


def test_it_starts_in_1970():
    assert TestClock().now_us == 0
    assert TestClock(now_us=7).now_us == 7


@pytest.mark.parametrize("form", ["acquire", "aacquire"])
def test_who_waits_sees_it_at_each_attempt(clocked, clock, name, run, form):
    limiter = clocked.throttle(name, 0.2)
    limiter.acquire()
    timer = threading.Timer(0.05, clock.advance, [0.2])
    timer.start()

    async def main():
        return await limiter.aacquire()

    permit = limiter.acquire() if form == "acquire" else run(main())
    assert permit.decision.at_us == 3_600_200_000
    timer.join()


@pytest.mark.parametrize("form", ["acquire", "aacquire"])
def test_who_waits_in_memory_is_woken_when_it_moves(clock, run, until, form):
    """By real time it would wait for an hour."""
    pg = Paddlegate("memory://", clock=clock)
    keyed = pg.throttle("hourly", 3600, wait_timeout=7200, keyed=True).with_key("ada")
    for limiter in pg.throttle("hourly", 3600, wait_timeout=7200), keyed:
        assert limiter.try_acquire()
        granted: list[Permit] = []

        async def main(limiter=limiter):
            return await limiter.aacquire()

        def wait(limiter=limiter, granted=granted, main=main):
            granted.append(limiter.acquire() if form == "acquire" else run(main()))

        thread = threading.Thread(target=wait)
        thread.start()
        until(lambda limiter=limiter: limiter.inspect().ticket_count == 1)
        clock.advance("hour")
        thread.join()
        assert granted[0].decision.at_us == clock.now_us
