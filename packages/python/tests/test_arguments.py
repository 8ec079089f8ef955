# mypy: allow-untyped-calls
"""What callers may hand in, and what is refused by name."""

import asyncio
import math
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from paddlegate import InvalidError, Paddlegate, TestClock
from paddlegate.celery import limited

pg = Paddlegate("memory://")

NOT_WHOLE: list[object] = [-1, 1.5, 1.0, math.nan, math.inf, -math.inf, 2**53, 2**64, 10**400]
NOT_WHOLE += ["1", "", b"1", True, False, [1], {}, object()]
NOT_SPANS = [-1, -0.5, math.nan, math.inf, -math.inf, 10**400, 1e300, timedelta(seconds=-1)]
NOT_SPANS += ["", "1", "60 s", "seconds", "P1M", "\ud800", b"second", True, [1], object()]
TOO_SHORT = [0, 0.0, "PT0S", timedelta(0), 4e-7]


def refused(argument, function, *arguments, **named):
    with pytest.raises(InvalidError) as caught:
        function(*arguments, **named)
    assert caught.value.argument == argument


@pytest.mark.parametrize("bad", [*NOT_WHOLE, None, 0])
def test_limits_are_whole(name, bad):
    refused("limit", pg.bucket, name, bad, 1)
    refused("limit", pg.window, name, bad, 1)
    refused("capacity", pg.leaky, name, bad, 1)
    refused("capacity", pg.points, name, bad, 1)
    refused("limit", pg.limiter, name, window=(bad, 1))
    refused("limit", pg.limiter, name, [("window", bad, 1)])
    refused("limit", pg.throttle, name, 1, limit=bad)
    refused("limit", pg.limiter, name, throttle=(bad, 1))
    refused("limit", pg.limiter, name, [("throttle", bad, 1)])


@pytest.mark.parametrize("bad", [*NOT_SPANS, *TOO_SHORT, None])
def test_intervals_are_spans(name, bad):
    refused("interval", pg.bucket, name, 1, bad)
    refused("interval", pg.window, name, 1, bad)
    refused("drain", pg.leaky, name, 1, bad)
    refused("refill", pg.points, name, 1, bad)
    refused("interval", pg.throttle, name, bad)
    refused("interval", pg.limiter, name, [("throttle", bad)])
    refused("interval", pg.limiter, name, throttle=(bad,))
    refused("interval", pg.limiter, name, throttle=(3, bad))


def test_starts_are_at_most_one_per_microsecond(name):
    assert pg.throttle(name, 3e-6, limit=3).allow()
    refused("limit", pg.throttle, name, 3e-6, limit=4)
    refused("limit", pg.limiter, name, throttle=(4, 3e-6))
    refused("limit", pg.throttle, name, 1, limit=10**12)
    assert pg.throttle(f"{name}2", "day", limit=10**9).allow()


@pytest.mark.parametrize("bad", NOT_SPANS)
def test_other_spans(name, bad):
    refused("offset", pg.bucket, name, 1, 60, bad)
    refused("wait_timeout", pg.window, name, 1, 1, wait_timeout=bad)
    refused("wait_timeout", pg.window(name, 1, 1).acquire, wait_timeout=bad)
    refused("wait_timeout", pg.window(name, 1, 1).within_limit(wait_timeout=bad).__enter__)
    refused("timeout", Paddlegate, "redis://localhost", timeout=bad)


@pytest.mark.parametrize("bad", [*NOT_WHOLE, None, 100_001])
def test_so_many_at_once_is_whole(name, bad):
    refused("limit", pg.concurrent, name, bad)
    refused("limit", pg.limiter, name, concurrency=(bad,))
    refused("limit", pg.limiter, name, [("concurrency", bad, 30)])


@pytest.mark.parametrize("bad", [*NOT_SPANS, *TOO_SHORT])
def test_lock_timeouts(name, bad):
    refused("lock_timeout", pg.concurrent, name, 1, lock_timeout=bad)
    refused("lock_timeout", pg.limiter, name, concurrency=1, lock_timeout=bad)
    refused("lock_timeout", pg.limiter, name, concurrency=(1, bad))


def test_lock_timeouts_are_for_leases(name):
    refused("lock_timeout", pg.limiter, name, window=(100, 60), lock_timeout=3)
    refused("lock_timeout", pg.limiter, name, [("throttle", 1)], lock_timeout=3)
    refused("lock_timeout", pg.limiter, name, unlimited=(), lock_timeout=3)
    assert pg.limiter(name, concurrency=1, window=(100, 60), lock_timeout=3).acquire().expires_in
    assert pg.limiter(name, [("concurrency", 1, 2)], lock_timeout=3)


@pytest.mark.parametrize("bad", [*NOT_SPANS, *TOO_SHORT, 0.9])
def test_times_to_live(name, bad):
    refused("ttl", pg.concurrent, name, 1, ttl=bad)
    refused("ttl", pg.window, name, 1, 1, ttl=bad)
    refused("ttl", pg.unlimited, name, ttl=bad)


@pytest.mark.parametrize("bad", ["", "Raise", "wait", 1, True, b"raise", "\ud800", []])
def test_policies(name, bad):
    refused("on_limit", pg.concurrent, name, 1, on_limit=bad)
    refused("on_limit", pg.paused, name, on_limit=bad)


@pytest.mark.parametrize("bad", ["", "x" * 65, "\ud800", 5, b"x", ["x"], True])
def test_ids(name, bad):
    limiter = pg.concurrent(name, 1)
    refused("id", limiter.acquire, id=bad)
    refused("id", limiter.try_acquire, id=bad)
    refused("id", limiter.within_limit(id=bad).__enter__)
    refused("id", limiter.enqueue, bad)
    refused("id", limiter.claim, bad)
    refused("id", limiter.cancel, bad)
    refused("id", lambda: asyncio.run(limiter.aacquire(id=bad)))
    assert limiter.stats().granted == 0


@pytest.mark.parametrize("bad", NOT_SPANS)
def test_spans_of_jobs(name, bad):
    limiter = pg.concurrent(name, 1)
    for verb in limiter.enqueue, limiter.claim:
        refused("claim_timeout", verb, "a", claim_timeout=bad)
        refused("wait_timeout", verb, "a", wait_timeout=bad)
    refused("claim_timeout", limiter.enqueue, "a", claim_timeout=0)
    assert limiter.stats().granted == 0


@pytest.mark.parametrize("bad", NOT_WHOLE)
def test_costs_are_whole(name, bad):
    limiter = pg.points(name, 10, 1)
    permit = limiter.acquire(estimate=5)
    for verb in limiter.try_acquire, limiter.allow, limiter.peek:
        refused("cost", verb, bad)
        refused("estimate", verb, estimate=bad)
    refused("cost", limiter.acquire, bad)
    refused("estimate", limiter.acquire, estimate=bad)
    refused("cost", limiter.within_limit(bad).__enter__)
    refused("actual", permit.points_used, bad)
    refused("actual", limiter.correct, permit.id, bad)
    assert limiter.stats().units == 5


@pytest.mark.parametrize("bad", ["", "x" * 513, "\ud800", "a\udfffb", None, 5, b"x", ["x"]])
def test_names(bad):
    refused("name", pg.window, bad, 1, 1)
    refused("name", pg.unlimited, bad)
    refused("name", pg.limiter, bad, throttle=1)


@pytest.mark.parametrize("good", ["0", "a\0b", "{x}", "\n", "\U0001f600", "x" * 512])
def test_names_that_work(good):
    assert pg.window(good, 1, 1).name == good


@pytest.mark.parametrize("bad", ["", "x" * 581, "\ud800", None, 5, b"x"])
def test_permit_ids(name, bad):
    refused("permit", pg.points(name, 10, 1).correct, bad, 1)
    refused("permit", pg.concurrent(name, 1).release, bad)
    refused("permit", pg.concurrent(name, 1).renew, bad)


@pytest.mark.parametrize(
    ("argument", "limits"),
    [
        ("limits", []),
        ("limits", 5),
        ("limits", None),
        ("limits", ["window"]),
        ("limits", [()]),
        ("limits", [("window",)]),
        ("limits", [("window", 1)]),
        ("limits", [("window", 1, 1, 1)]),
        ("limits", [("bucket", 1, 1, 0, 1)]),
        ("limits", [("throttle",)]),
        ("limits", [("throttle", 1, 1, 1)]),
        ("limits", [("unlimited", 1)]),
        ("limits", [("throttle", 1)] * 9),
        ("limits", [("concurrency",)]),
        ("limits", [("concurrency", 1, 1, 1)]),
        ("limits", [("concurrency", 1)] * 2),
        ("kind", [("Window", 1, 1)]),
        ("kind", [("\ud800", 1, 1)]),
        ("kind", [(None, 1, 1)]),
    ],
)
def test_lists_of_limits(name, argument, limits):
    refused(argument, pg.limiter, name, limits)


def test_kinds_that_are_not_known(name):
    refused("kind", pg.limiter, name, concurency=5)


@pytest.mark.parametrize(
    "bad", ["", "localhost", "http://x", "redis://h/x", 5, b"redis://x", "\ud800"]
)
def test_urls(bad):
    refused("url", Paddlegate, bad)


def test_urls_are_not_repeated():
    with pytest.raises(InvalidError) as caught:
        Paddlegate("redis://user:secret@h/x")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("second", [1, 1.0, "second", "PT1S", timedelta(seconds=1), Decimal(1)])
def test_spans_that_work(name, second):
    clock = TestClock()
    limiter = Paddlegate("memory://", clock=clock).window(name, 1, second, wait_timeout=second)
    assert limiter.allow()
    assert limiter.try_acquire().retry_after == 1
    clock.advance(second)
    assert limiter.allow()
    assert limiter.wait_timeout == 1
    leased = pg.concurrent(f"{name}2", 1, lock_timeout=second, ttl=second)
    assert leased.try_acquire().lease == leased.ttl == 1


@pytest.mark.parametrize("bad", NOT_WHOLE)
def test_times_of_clocks_are_whole(bad):
    clock = TestClock(5)
    refused("now_us", TestClock, bad)
    refused("now_us", setattr, clock, "now_us", bad)
    refused("clock", Paddlegate, clock=bad)
    assert clock.now_us == 5


@pytest.mark.parametrize("bad", [*NOT_SPANS, None])
def test_clocks_advance_by_spans(bad):
    clock = TestClock(5)
    refused("by", clock.advance, bad)
    assert clock.now_us == 5


def test_times_of_clocks_end(name):
    clock = TestClock(2**52)
    assert Paddlegate("memory://", clock=clock).window(name, 1, 1).try_acquire().at_us == 2**52
    refused("now_us", clock.advance, 1e-6)
    refused("now_us", TestClock, 2**52 + 1)
    assert clock.now_us == 2**52


def test_numbers_like_int_work(name):
    class Index:
        def __index__(self):
            return 3

    three: Any = Index()
    assert pg.window(name, three, 1).try_acquire(three).remaining == 0


def test_the_message_names_the_argument_and_the_value(name):
    with pytest.raises(InvalidError, match="cost='three'"):
        pg.window(name, 1, 1).allow("three")  # type: ignore[arg-type]


def test_the_default_store_is_that_of_the_environment(monkeypatch, name, url):
    monkeypatch.delenv("PADDLEGATE_URL", raising=False)
    assert Paddlegate().window(name, 1, 60).allow()
    assert Paddlegate().window(name, 1, 60).allow()
    monkeypatch.setenv("PADDLEGATE_URL", url)
    assert Paddlegate().window(name, 1, 60).allow()
    assert not Paddlegate().window(name, 1, 60).allow()


def test_what_python_cannot_show_is_named_too():
    deep: object = []
    for _ in range(3000):
        deep = [deep]
    limiter = pg.points("deep", 9, 60)
    refused("headers", limiter.learn_from_response, deep)
    refused("headers", limiter.learn_from_response, {"retry-after": deep})
    refused("body", limiter.learn_from_response, {}, deep)
    refused("body", limiter.learn_from_response, {}, {"usage": deep})
    refused("patience", limited, limiter, patience=deep)
    refused("renew", limited, limiter, renew=deep)
