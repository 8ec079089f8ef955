# mypy: allow-untyped-calls
"""Limits that change while they run, for all processes."""

import asyncio
import copy
import os
import pickle
import threading
import time
from datetime import datetime, timedelta, timezone

import pytest
from conftest import SOAK  # type: ignore[import-not-found]
from paddlegate import InvalidError, LimitSettings, OverLimit, Paddlegate, RuntimeState

PATIENT = 20

# Who is not called looks by itself, after five seconds; only a soak judges time.
SOON = 3 if SOAK else PATIENT


@pytest.fixture
def other(url):
    """A second connection, as another process has it."""
    return Paddlegate(url, timeout=PATIENT)


@pytest.fixture(params=["memory", "redis"])
def two(request, url):
    """Two connections to one store; in memory there is only one."""
    if request.param == "redis":
        return Paddlegate(url, timeout=PATIENT), Paddlegate(url, timeout=PATIENT)
    return (Paddlegate("memory://"),) * 2


async def queued(limiter, tickets):
    """Wait until so many stand in the queue."""
    for _ in range(100 * PATIENT):
        if (await limiter.astats()).tickets == tickets:
            return
        await asyncio.sleep(0.01)
    raise TimeoutError("it did not come")


class Waiter(threading.Thread):
    """A thread that waits for a permit, and tells when it had it."""

    def __init__(self, limiter, *arguments, **named):
        super().__init__(daemon=True)
        self.acquire = lambda: limiter.acquire(*arguments, wait_timeout=30, **named)
        self.entered = None
        self.start()

    def run(self):
        self.acquire()
        self.entered = time.monotonic()

    def entered_after(self, changed):
        self.join(PATIENT)
        assert self.entered
        return self.entered - changed


def test_a_pause_holds_everywhere_and_a_shorter_one_does_not_shorten_it(redis, other, name):
    here, there = redis.window(name, 10, 60), other.window(name, 10, 60)
    spared = other.window(f"{name}2", 10, 60)
    runtime_state = here.pause(30)
    assert runtime_state.paused_for == 30
    assert runtime_state.version > 0
    refused = there.try_acquire()
    assert (refused.reason, refused.allowed) == ("paused", False)
    assert 25 < (refused.retry_after or 0) <= 30
    assert spared.allow()
    shorter = there.pause(10)
    assert 25 < (shorter.paused_for or 0) <= 30
    assert shorter.version > runtime_state.version
    with pytest.raises(OverLimit) as caught:
        there.acquire()
    assert caught.value.decision.reason == "paused"
    assert (caught.value.retry_after or 0) > 20
    assert there.resume() == RuntimeState(0, True, None, {}, None, {})
    assert here.allow()


def test_a_pause_until_a_time(store, name):
    limiter = store.window(name, 10, 60)
    zone = timezone(timedelta(hours=5, minutes=45))
    for until in (
        datetime.now(zone) + timedelta(minutes=1),
        time.time() + 60,
        int(time.time()) + 60,
    ):
        assert 50 < (limiter.pause(until=until).paused_for or 0) <= 60
        limiter.resume()
    with pytest.raises(InvalidError) as raised:
        limiter.pause(until=datetime(1990, 1, 1, tzinfo=zone))
    assert raised.value.argument == "until"
    assert limiter.allow()
    assert limiter.pause(timedelta(seconds=30)).paused_for == 30
    assert limiter.pause("minute").paused_for == 60


def test_a_time_is_exact(clocked, clock, name):
    limiter = clocked.window(name, 10, 60)
    clock.now_us = 1_700_000_000_000_000
    assert limiter.pause(until=1_700_000_000.000001).paused_for == 1e-6
    then = datetime.fromtimestamp(1_700_000_000, timezone.utc) + timedelta(microseconds=7)
    assert limiter.pause(until=then).paused_for == 7e-6


def test_who_waits_through_a_pause_is_called_by_its_end(two, name, until):
    here, there = (pg.concurrent(name, 1) for pg in two)
    there.pause(25)
    waiter = Waiter(here)
    until(lambda: there.stats().tickets == 1)
    changed = time.monotonic()
    there.resume()
    assert waiter.entered_after(changed) < SOON


def test_a_task_that_waits_through_a_pause_is_called_by_its_end(two, name, run):
    async def main():
        here, there = (pg.window(name, 10, 60) for pg in two)
        await there.apause(60)
        waiting = asyncio.create_task(here.aacquire(wait_timeout=90))
        await queued(there, 1)
        changed = time.monotonic()
        assert await there.aresume() == await here.aruntime_state()
        await waiting
        assert time.monotonic() - changed < SOON

    run(main())


def test_a_raised_limit_lets_in_who_waits_and_a_lowered_one_evicts_nobody(two, name, until):
    here, there = (pg.concurrent(name, 3) for pg in two)
    held = [here.acquire() for _ in range(3)]
    waiters = [Waiter(here), Waiter(here)]
    until(lambda: there.stats().tickets == 2)
    changed = time.monotonic()
    assert there.override(5).overrides == {
        "concurrency": LimitSettings("concurrency", "concurrency", 5, 30)
    }
    assert all(waiter.entered_after(changed) < SOON for waiter in waiters)
    there.override(2)
    assert here.stats().leases == 5
    assert all(permit.renew() for permit in held)
    assert not here.try_acquire()
    assert here.override(6).overrides == {
        "concurrency": LimitSettings("concurrency", "concurrency", 6, 30)
    }
    assert there.try_acquire()


def test_another_process_lets_in_who_waits(redis, name, url, until, script):
    limiter = redis.concurrent(name, 1)
    limiter.acquire()
    waiter = Waiter(limiter)
    until(lambda: limiter.stats().tickets == 1)
    script(
        "import sys, paddlegate\n"
        "limiter = paddlegate.Paddlegate(sys.argv[1], timeout=20).concurrent(sys.argv[2], 1)\n"
        "limiter.override(2)",
        url,
        name,
    )
    assert waiter.entered_after(time.monotonic()) < SOON


def test_on_every_node_of_a_cluster_who_waits_is_called(name, until):
    store = Paddlegate(os.environ["PADDLEGATE_TEST_CLUSTER_URL"], timeout=PATIENT)
    limiters = [store.window(f"{name}{i}", 10, 60) for i in range(8)]
    for limiter in limiters:
        limiter.pause(25)
    waiters = [Waiter(limiter) for limiter in limiters]
    until(lambda: all(limiter.stats().tickets == 1 for limiter in limiters))
    changed = time.monotonic()
    for limiter in limiters:
        limiter.resume()
    assert all(waiter.entered_after(changed) < SOON for waiter in waiters)
    assert limiters[0].report_budget(3).settlement is None
    assert limiters[0].peek().remaining == 3


def test_a_task_that_is_cancelled_in_a_pause_leaves_nothing(store, name, run):
    async def main():
        limiter = store.concurrent(name, 1)
        await limiter.apause(60)
        waiting = asyncio.create_task(limiter.aacquire(wait_timeout=90))
        await queued(limiter, 1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await queued(limiter, 0)
        await limiter.aresume()
        assert (await limiter.atry_acquire()).allowed

    run(main())


def test_an_override_keeps_what_is_not_given(store, name):
    limiter = store.limiter(name, [("window", 10, 60), ("throttle", 5)])
    runtime_state = limiter.override(20, label="window")
    window = LimitSettings("window", "window", 20, 60)
    assert runtime_state.overrides == {"window": window}
    runtime_state = limiter.override(
        interval=timedelta(seconds=2), label="throttle", expires_in=100
    )
    throttle = LimitSettings("throttle", "throttle", 1, 2)
    assert runtime_state.overrides == {"window": window, "throttle": throttle}
    assert runtime_state.expires_in == 100
    assert limiter.try_acquire().limit == 20 or limiter.peek().label == "throttle"
    assert limiter.restore("window").overrides == {"throttle": throttle}
    assert limiter.restore().overrides == {}
    assert limiter.runtime_state().version == 0


def test_an_override_of_a_throttle(clocked, clock, name):
    limiter = clocked.throttle(name, 1)
    assert limiter.override(3).overrides == {
        "throttle": LimitSettings("throttle", "throttle", 3, 1)
    }
    assert limiter.allow()
    assert limiter.try_acquire().retry_after == 0.333_334
    assert limiter.override(10, 1).overrides == {
        "throttle": LimitSettings("throttle", "throttle", 10, 1)
    }
    for bad in 0, 1_000_001:
        with pytest.raises(InvalidError) as caught:
            limiter.override(bad)
        assert caught.value.argument == "limit"
    limiter.restore()
    clock.advance(1)
    assert limiter.allow()
    assert limiter.try_acquire().retry_after == 1
    ten = clocked.throttle(f"{name}2", 1, limit=10)
    assert ten.override(20).overrides == {"throttle": LimitSettings("throttle", "throttle", 20, 1)}
    assert ten.override(interval=2).overrides == {
        "throttle": LimitSettings("throttle", "throttle", 10, 2)
    }
    with pytest.raises(InvalidError) as caught:
        ten.override(interval=1e-6)
    assert caught.value.argument == "interval"


def test_an_override_ends(clocked, clock, name):
    limiter = clocked.window(name, 1, 60)
    until = datetime(1970, 1, 1, 1, 2, tzinfo=timezone.utc)
    assert limiter.override(5, expires_at=until).expires_in == 120
    clock.advance(119.999999)
    assert limiter.peek().limit == 5
    clock.advance(1e-6)
    assert limiter.peek().limit == 1


def test_every_verb_is_there_for_tasks(store, name, run):
    async def main():
        limiter = store.points(name, 100, 1000)
        assert (await limiter.apause(60)).paused_for == 60
        assert (await limiter.aresume()).paused_for is None
        assert (await limiter.aoverride(50)).overrides == {
            "points": LimitSettings("points", "points", 50, 1000)
        }
        assert (await limiter.aruntime_state()).overrides == {
            "points": LimitSettings("points", "points", 50, 1000)
        }
        assert (await limiter.arestore()).version == 0
        assert (await limiter.areport_budget(30)).settlement is None
        assert (await limiter.apeek(1)).remaining <= 31
        assert (await limiter.alearn_from_response({"Retry-After": 70}, status=429)).learned == (
            "pause",
        )
        assert 60 < ((await limiter.aruntime_state()).paused_for or 0) <= 70

    run(main())


def test_a_pause_of_a_name_that_nobody_has_used_says_so(two, name):
    here, there = two[0].window(name, 10, 60), two[1].window(name, 10, 60)
    assert not here.runtime_state().in_use
    assert here.allow()
    assert there.pause(0.001).in_use
    assert two[1].bucket(name, 10, 60).runtime_state().in_use, "whatever its limits"
    assert not two[1].bucket(f"{name}2", 10, 60).pause(0.001).in_use


def test_controls_are_values(store, name):
    limiter = store.window(name, 10, 60)
    limiter.override(20, expires_in=60)
    runtime_state = limiter.pause(30)
    assert (
        pickle.loads(pickle.dumps(runtime_state)) == copy.deepcopy(runtime_state) == runtime_state
    )
    assert hash(runtime_state)
    label, kind, amount, interval = runtime_state.overrides["window"]
    assert (label, kind, amount, interval) == ("window", "window", 20, 60)
    with pytest.raises(AttributeError):
        runtime_state.version = 1


NOT_SPANS: list[object] = [-1, float("nan"), float("inf"), "", "x", True, [1], object(), b"1"]
NOT_TIMES: list[object] = [-1, float("nan"), float("inf"), 5e9, 10**400, "", "2026-11-21", True]
NOT_TIMES += [datetime(2026, 11, 21), datetime(1969, 1, 1, tzinfo=timezone.utc), timedelta(1)]
NOT_TIMES += [datetime(9999, 1, 1, tzinfo=timezone.utc), datetime(2026, 11, 21).date(), b"1"]
NOT_WHOLE: list[object] = [-1, 1.5, 2**53, 2**64, "1", True, [1], object()]


def refused(argument, verbs, *arguments, **named):
    def call(verb):
        answer = verb(*arguments, **named)
        if asyncio.iscoroutine(answer):
            asyncio.run(answer)

    for verb in verbs:
        with pytest.raises(InvalidError) as caught:
            call(verb)
        assert caught.value.argument == argument


@pytest.fixture
def limiter(store, name):
    """A limiter in which nothing is changed by what is refused."""
    limiter = store.bucket(name, 10, 60)
    yield limiter
    assert limiter.runtime_state() == RuntimeState(0, False, None, {}, None, {})
    assert limiter.peek(0).remaining == 10


@pytest.mark.parametrize("bad", NOT_SPANS)
def test_spans_are_checked(limiter, bad):
    refused("seconds", [limiter.pause, limiter.apause], bad)
    refused("interval", [limiter.override, limiter.aoverride], interval=bad)
    refused("interval", [limiter.report_budget, limiter.areport_budget], interval=bad)
    refused("expires_in", [limiter.override, limiter.aoverride], 5, expires_in=bad)
    refused("reset_in", [limiter.report_budget, limiter.areport_budget], 5, reset_in=bad)
    learn = [limiter.learn_from_response, limiter.alearn_from_response]
    refused("max_pause", learn, {}, max_pause=bad)
    refused("default_pause", learn, {}, default_pause=bad)


@pytest.mark.parametrize("bad", NOT_TIMES)
def test_times_are_checked(limiter, bad):
    refused("until", [limiter.pause, limiter.apause], until=bad)
    refused("expires_at", [limiter.override, limiter.aoverride], 5, expires_at=bad)
    refused("reset_at", [limiter.report_budget, limiter.areport_budget], 5, reset_at=bad)


@pytest.mark.parametrize("bad", NOT_WHOLE)
def test_numbers_are_checked(limiter, bad):
    refused("limit", [limiter.override, limiter.aoverride], bad)
    refused("limit", [limiter.report_budget, limiter.areport_budget], 5, bad)
    refused("remaining", [limiter.report_budget, limiter.areport_budget], bad)
    refused("status", [limiter.learn_from_response, limiter.alearn_from_response], {}, status=bad)


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), "1", True, 1e-300])
def test_rates_are_checked(limiter, bad):
    refused(
        "restore_rate", [limiter.report_budget, limiter.areport_budget], 5, 10, restore_rate=bad
    )


def test_what_excludes_each_other(limiter):
    now = time.time()
    refused("seconds", [limiter.pause, limiter.apause])
    refused("seconds", [limiter.pause, limiter.apause], 0)
    refused("until", [limiter.pause, limiter.apause], 5, until=now)
    refused("expires_at", [limiter.override], 5, expires_in=5, expires_at=now)
    refused("reset_at", [limiter.report_budget], 5, reset_in=5, reset_at=now)
    refused("restore_rate", [limiter.report_budget], 5, 5, 5, restore_rate=5)
    refused("until", [limiter.pause], until=2**52 / 1e6)
    refused("expires_in", [limiter.override], 5, expires_in=0)
    refused("limit", [limiter.override], 0)
    refused("interval", [limiter.override], 5, 0)


def test_a_limiter_without_a_state_controls_its_name(store, name):
    limiter = store.window(name, 10, 60)
    for other in store.unlimited(name), store.paused(name):
        assert other.pause(60).paused_for == 60
        assert limiter.try_acquire().reason == "paused"
        assert limiter.try_acquire().label is None
        other.resume()
        assert other.override(limits={"window": (3, 60)}).overrides["window"].amount == 3
        assert limiter.peek().limit == 3
        other.restore()
        assert limiter.runtime_state().version == 0
