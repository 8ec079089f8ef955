# mypy: allow-untyped-calls
"""Quotas of the calendar, and the refund of corrections."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from paddlegate import InvalidError, Leaky, Points, Quota, Window

BAD: Any = "half"


def at(clock, zone, time):
    local = datetime.fromisoformat(time).replace(tzinfo=ZoneInfo(zone))
    clock.now_us = round(local.timestamp() * 1e6)


def test_a_quota_is_whole_again_when_its_period_ends(clocked, clock, name):
    at(clock, "Europe/Berlin", "2025-03-14T23:59:59")
    usd = clocked.quota(name, 50, "month", timezone="Europe/Berlin", starts="15")
    assert usd.allow(50)
    refusal = usd.try_acquire()
    assert (refusal.reason, refusal.label, refusal.retry_after) == ("quota", "quota", 1.0)
    clock.advance(1)
    decision = usd.try_acquire()
    # A month with the hour that the clocks skip.
    assert (decision.remaining, decision.reset_after) == (49, 31 * 86_400 - 3_600)


def test_each_form_of_a_quota_is_the_same(clocked, clock, name):
    at(clock, "UTC", "2025-06-30T12:00:00")
    forms = [
        clocked.quota(name, 3, "quarter", timezone="+02:00"),
        clocked.limiter(name, quota=(3, "quarter", "+02:00")),
        clocked.limiter(name, quota=Quota(3, "quarter", timezone="+02:00")),
        clocked.limiter(name, [("quota", 3, "quarter", "+02:00", None)]),
        clocked.limiter(name, [Quota(3, "quarter", timezone="+02:00")]),
    ]
    left = [limiter.try_acquire() for limiter in forms]
    assert [decision.remaining for decision in left] == [2, 1, 0, 0, 0]
    assert {decision.reset_after for decision in left} == {10 * 3600}
    labelled = clocked.limiter(f"{name}-2", usd=Quota(5, "day"), rpm=Window(1, 60))
    assert labelled.try_acquire().label == "rpm"


@pytest.mark.parametrize(
    ("arguments", "options", "argument"),
    [
        ((0, "day"), {}, "limit"),
        ((10**12 + 1, "day"), {}, "limit"),
        ((5, "hour"), {}, "per"),
        ((5, 60), {}, "per"),
        ((5, None), {}, "per"),
        ((5, "day"), {"timezone": "Mars/Phobos"}, "timezone"),
        ((5, "day"), {"timezone": 1}, "timezone"),
        ((5, "month"), {"starts": "32"}, "starts"),
        ((5, "month"), {"starts": 15}, "starts"),
    ],
)
def test_a_bad_quota_names_its_argument(store, name, arguments, options, argument):
    for make in (
        lambda: store.quota(name, *arguments, **options),
        lambda: store.limiter(name, usd=Quota(*arguments, **options)),
    ):
        with pytest.raises(InvalidError) as caught:
            make()
        assert caught.value.argument == argument


def test_a_tuple_has_the_parts_of_a_quota(store, name):
    for parts in [(5,), (5, "day", "UTC", "06:00", 1)]:
        with pytest.raises(InvalidError) as caught:
            store.limiter(name, quota=parts)
        assert caught.value.argument in {"per", "limits"}


def test_an_override_changes_the_number_of_a_quota(store, name):
    limiter = store.quota(name, 5, "year")
    assert limiter.override(2).overrides["quota"] == ("quota", "quota", 2, 0.0)
    assert limiter.peek().limit == 2
    with pytest.raises(InvalidError) as caught:
        limiter.override(interval=60)
    assert caught.value.argument == "interval"


@pytest.mark.parametrize("listed", ["list", "page", "tasks", "pages of tasks"])
def test_the_list_of_limiters_shows_the_calendar(store, name, run, listed):
    limits = {
        "usd": Quota(50, "month", timezone="Europe/Berlin", starts="15"),
        "rpm": Window(5, 60),
    }
    store.limiter(name, limits).allow()
    match listed:
        case "list":
            found = store.limiters(name)
        case "page":
            found = store.limiter_page(name).limiters
        case "tasks":
            found = run(store.alimiters(name))
        case _:
            found = run(store.alimiter_page(name)).limiters
    (info,) = found
    usd, rpm = info.limits
    assert (usd.label, usd.kind, usd.amount, usd.interval) == ("usd", "quota", 50, 31 * 86_400)
    assert (usd.per, usd.timezone, usd.starts) == ("month", "Europe/Berlin", "15")
    assert (rpm.per, rpm.timezone, rpm.starts) == (None, None, None)


def test_a_quota_is_loaded_from_a_document(store, name):
    quota = {"limit": 5, "per": "month", "timezone": "Europe/Berlin"}
    limiters = store.limiters_from_document({"limiters": {name: {"quota": quota}}})
    assert limiters[name].try_acquire().label == "quota"


@pytest.mark.parametrize("form", ["factory", "class", "tuple", "leaky"])
def test_a_refund_gives_back_no_drained_units(clocked, clock, name, form):
    def granted(refund):
        made = f"{name}-{refund}"
        match form:
            case "factory":
                limiter = clocked.points(made, 1000, 20, refund=refund)
            case "class":
                limiter = clocked.limiter(made, points=Points(1000, 20, refund=refund))
            case "tuple":
                limiter = clocked.limiter(made, [("points", 1000, 20, refund)])
            case _:
                limiter = clocked.leaky(made, 1000, 20, refund=refund)
        first = limiter.acquire(estimate=1000)
        clock.advance(20)
        limiter.acquire(estimate=1000)
        assert first.correct(0) == "settled"
        return limiter.peek(0).remaining

    assert (granted("full"), granted("undrained")) == (1000, 0)


def test_a_bad_refund_names_its_argument(store, name):
    for make in (
        lambda: store.points(name, 1000, 20, refund="half"),
        lambda: store.leaky(name, 1000, 20, refund=1),
        lambda: store.limiter(name, leaky=Leaky(1000, 20, refund=BAD)),
    ):
        with pytest.raises(InvalidError) as caught:
            make()
        assert caught.value.argument == "refund"
    with pytest.raises(InvalidError) as caught:
        store.limiter(name, [("window", 10, 20, "undrained")])
    assert caught.value.argument == "limits"
