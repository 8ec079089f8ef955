# mypy: allow-untyped-calls
"""Labels: how limits are named, what they change, and the one state of a name."""

import asyncio
import copy
import pickle
from dataclasses import FrozenInstanceError
from datetime import timedelta
from typing import Any

import pytest
from paddlegate import (
    Bucket,
    Concurrency,
    InvalidError,
    Leaky,
    LimitInfo,
    LimitSettings,
    Paddlegate,
    Points,
    Throttle,
    Window,
)

pg = Paddlegate("memory://")

OF_EACH_KIND: dict[str, Any] = {
    "a": Window(100, "minute"),
    "b": Bucket(7, "day", "PT2H"),
    "c": Leaky(3, 60),
    "d": Points(1000, timedelta(seconds=20)),
    "e": Throttle("second", limit=3),
    "f-1_x": Concurrency(5, lock_timeout=9),
}
INFOS = (
    LimitInfo("a", "window", 100, 60, 0),
    LimitInfo("b", "bucket", 7, 86400, 7200),
    LimitInfo("c", "leaky", 3, 60, 0),
    LimitInfo("d", "points", 1000, 20, 0),
    LimitInfo("e", "throttle", 3, 1, 0),
    LimitInfo("f-1_x", "concurrency", 5, 9, 0),
)


def infos(limiter):
    limiter.try_acquire(1)
    [listed] = [it for it in pg.limiters() if it.name == limiter.name]
    return listed.limits


def refused(argument, function, *arguments, **named):
    def call():
        answer = function(*arguments, **named)
        if asyncio.iscoroutine(answer):
            asyncio.run(answer)

    with pytest.raises(InvalidError) as caught:
        call()
    assert caught.value.argument == argument


def test_a_limit_of_each_kind_has_any_label(name):
    assert infos(pg.limiter(name, OF_EACH_KIND)) == INFOS
    assert infos(pg.limiter(f"{name}2", **OF_EACH_KIND)) == INFOS
    some = {label: OF_EACH_KIND[label] for label in "abc"}
    others = {label: limit for label, limit in OF_EACH_KIND.items() if label not in some}
    assert infos(pg.limiter(f"{name}3", some, **others)) == INFOS


def test_without_a_label_it_is_the_kind(name):
    assert [it.label for it in infos(pg.limiter(name, OF_EACH_KIND.values()))] == [
        "window",
        "bucket",
        "leaky",
        "points",
        "throttle",
        "concurrency",
    ]
    mixed = pg.limiter(f"{name}2", [Window(2, 60), ("leaky", 3, 60)], throttle=1, rpm=Window(4, 60))
    assert [it.label for it in infos(mixed)] == ["window", "leaky", "throttle", "rpm"]
    numbers = pg.limiter(f"{name}3", {"window": (2, 60), "throttle": 1})
    assert [it.kind for it in infos(numbers)] == ["window", "throttle"]
    other = pg.limiter(f"{name}4", window=Leaky(2, 60))
    assert [(it.label, it.kind) for it in infos(other)] == [("window", "leaky")]


def test_the_lock_timeout_of_the_limiter_is_a_default(name):
    def lease(limit):
        return pg.limiter(name, jobs=limit, lock_timeout=9).try_acquire().lease

    assert lease(Concurrency(5)) == 9
    assert lease(Concurrency(5, lock_timeout=3)) == 3


@pytest.mark.parametrize("limit", OF_EACH_KIND.values(), ids=lambda it: type(it).__name__)
def test_limits_are_values(limit):
    assert pickle.loads(pickle.dumps(limit)) == copy.deepcopy(limit) == limit
    assert hash(copy.copy(limit)) == hash(limit)
    assert sum(limit == other for other in OF_EACH_KIND.values()) == 1
    assert eval(repr(limit).replace("datetime.", "")) == limit
    with pytest.raises(FrozenInstanceError):
        setattr(limit, next(iter(limit.__match_args__)), 1)


def test_limits_of_other_kinds_are_not_equal():
    others: list[object] = [Leaky(10, 60), Points(10, 60), Bucket(10, 60), (10, 60)]
    assert Window(10, 60) not in others
    assert Bucket(10, 60) == Bucket(10, 60, 0)
    assert Throttle(60) == Throttle(60, limit=1)


@pytest.mark.parametrize("bad", ["", "RPM", "1st", "_a", "a b", "a.b", "\u00e4", "x" * 33, 5, None])
def test_labels_are_checked(name, bad):
    refused("label", pg.limiter, name, {bad: Window(1, 1)})
    limiter = pg.limiter(name, rpm=Window(10, 60))
    refused("label", limiter.override, limits={bad: Window(1, 1)})
    if bad is not None:
        for name in "override", "aoverride", "report_budget", "areport_budget":
            refused("label", getattr(limiter, name), 5, label=bad)
        for name in "restore", "arestore":
            refused("label", getattr(limiter, name), bad)
    assert limiter.runtime_state().version == 0


def test_labels_are_unique(name):
    refused("limits", pg.limiter, name, [Window(1, 1), Window(2, 60)])
    refused("limits", pg.limiter, name, [("window", 1, 1)], window=(2, 60))
    refused("limits", pg.limiter, name, {"rpm": Window(1, 1)}, rpm=Window(2, 60))
    refused("limits", pg.limiter, name, rpm=Window(1, 1), one=Concurrency(1), two=Concurrency(2))


def test_numbers_need_the_label_of_their_kind(name):
    refused("kind", pg.limiter, name, rpm=(500, 60))
    refused("kind", pg.limiter, name, {"rpm": 0.1})
    refused("kind", pg.limiter, name, [("rpm", Window(5, 60))])
    refused("limits", pg.limiter, name, ["rpm"])
    refused("limit", pg.limiter, name, rpm=Window("x", 60))  # type: ignore[arg-type]
    refused("interval", pg.limiter, name, rpm=Window(5, 0))
    refused("offset", pg.limiter, name, rpm=Bucket(5, 1, -1))
    refused("limit", pg.limiter, name, starts=Throttle(1, limit=0))
    refused("lock_timeout", pg.limiter, name, jobs=Concurrency(5, lock_timeout=0))


def test_a_decision_names_the_limit(clocked, clock, name):
    limiter = clocked.limiter(name, per_second=Window(2, "second"), per_minute=Window(3, "minute"))
    granted = limiter.try_acquire(2)
    assert (granted.allowed, granted.label) == (True, "per_second")
    assert limiter.try_acquire().label == "per_second"
    clock.advance(1)
    assert limiter.try_acquire().label == "per_minute"
    refusal = limiter.try_acquire()
    assert (refusal.reason, refusal.label) == ("window", "per_minute")
    assert "label='per_minute'" in repr(refusal)
    assert pickle.loads(pickle.dumps(refusal)) == refusal
    assert clocked.unlimited().try_acquire().label is None
    limiter.pause(120)
    assert limiter.try_acquire().label is None


def test_an_override_names_the_limit(store, name):
    limiter = store.limiter(name, rpm=Window(10, 60), tpm=Points(1000, 60))
    refused("label", limiter.override, 5)
    refused("label", limiter.override, 5, label="window")
    refused("label", limiter.report_budget, 5)
    changed = limiter.override(5, label="rpm")
    assert changed.overrides == {"rpm": LimitSettings("rpm", "window", 5, 60)}
    assert limiter.report_budget(300, label="tpm").learned == ("remaining[tpm]",)
    assert limiter.peek(1).limit == 5
    changed = limiter.override(2000, label="tpm")
    assert list(changed.overrides) == ["rpm", "tpm"]
    assert list(limiter.restore("rpm").overrides) == ["tpm"]
    assert limiter.restore("nothing").overrides == limiter.runtime_state().overrides
    assert limiter.restore().overrides == {}


def test_an_override_has_whole_limits(clocked, clock, name):
    limiter = clocked.limiter(name, rpm=Window(10, 60), leaky=(100, 60))
    limits = {"rpm": Window(5, 30), "leaky": (50, 60)}
    overrides = {
        "leaky": LimitSettings("leaky", "leaky", 50, 60),
        "rpm": LimitSettings("rpm", "window", 5, 30),
    }
    changed = limiter.override(limits=limits, expires_in=60)
    assert (changed.overrides, changed.expires_in) == (overrides, 60)
    assert limiter.peek().limit == 5
    assert asyncio.run(limiter.aoverride(limits=[Leaky(50, 60)])).overrides == overrides
    clock.advance(60)
    assert limiter.runtime_state().expires_in is None
    limiter.restore()
    limiter.override(limits=limits, expires_in=60)
    clock.advance(60)
    assert limiter.runtime_state().overrides == {}


def test_an_override_of_a_label_that_the_policy_does_not_have(store, name):
    limiter = store.limiter(name, rpm=Window(10, 60))
    changed = limiter.override(limits={"rph": Window(50, 3600)})
    assert changed.overrides == {"rph": LimitSettings("rph", "window", 50, 3600)}
    assert limiter.peek().limit == 10
    hourly = store.limiter(name, rph=Window(500, 3600))
    assert hourly.peek().limit == 50
    assert limiter.restore("rph").overrides == {}
    assert hourly.peek().limit == 500


def test_an_override_is_given_in_one_form(store, name):
    limiter = store.limiter(name, rpm=Window(10, 60))
    limits = {"rpm": Window(5, 60)}
    for verb in limiter.override, limiter.aoverride:
        refused("limits", verb, 5, limits=limits)
        refused("limits", verb, interval=5, limits=limits)
        refused("limits", verb, label="rpm", limits=limits)
    refused("limits", limiter.override, limits={})
    refused("limits", limiter.override, limits=5)
    refused("limits", limiter.override, limits=[Window(1, 1), Window(2, 60)])
    refused("limits", limiter.override, limits={"rpm": Leaky(5, 60)})
    refused("limits", limiter.override, limits={"unlimited": ()})
    refused("limit", limiter.override, limits={"rpm": Window(0, 60)})
    refused("limit", limiter.override)
    refused("expires_in", limiter.override, limits=limits, expires_in=0)
    assert limiter.runtime_state().version == 0


def test_a_name_has_one_state(store, name):
    both = store.limiter(name, rpm=Window(10, 60), tpm=Leaky(100, "day"))
    alone = store.limiter(name, tpm=Leaky(100, "day"))
    other = store.limiter(name, rph=Window(10, 3600))
    assert both.allow(4)
    assert alone.peek().remaining == 96
    assert alone.allow(93)
    assert both.try_acquire(6).label == "tpm"
    assert store.limiter(name, rpm=Window(10, 60)).peek().remaining == 6
    assert other.peek().remaining == 10, "another label is another count"
    assert store.limiter(name, rpm=Bucket(10, 3600)).peek().remaining == 10, "another kind too"
    other.pause(60)
    assert both.try_acquire().reason == "paused"
    both.reset()
    assert alone.peek().remaining == 100


def test_leases_are_of_the_name(store, name):
    five = store.limiter(name, jobs=Concurrency(2), rpm=Window(10, 60))
    alone = store.limiter(name, jobs=Concurrency(2))
    with five.within_limit(), alone.within_limit():
        assert not alone.try_acquire()
        assert five.stats().leases == alone.stats().leases == 2
