"""A store returns the limiter that it made before for the same arguments."""

import gc
import inspect
import weakref
from datetime import timedelta
from typing import Any

import pytest
from paddlegate import InvalidError, Limiter, Paddlegate
from paddlegate._options import LimiterOptions


@pytest.fixture
def pg():
    return Paddlegate("memory://")


def test_equal_arguments_give_one_limiter(pg):
    api = pg.leaky("api", 5, 60)
    assert pg.leaky("api", 5, 60) is api
    assert pg.leaky("api", 6, 60) is not api
    assert pg.window("api", 6, 60) is not api
    quick = pg.leaky("api", 5, 60, wait_timeout=1, group="g")
    assert pg.leaky("api", 5, 60, wait_timeout=1, group="g") is quick
    assert (quick.wait_timeout, quick.group) == (1, "g")
    other = pg.leaky("api", 5, 60, wait_timeout=1, group="h")
    assert (other.wait_timeout, other.group) == (1, "h")
    assert pg.leaky("api", 5, 60, wait_timeout=1).group is None
    assert Paddlegate("memory://").leaky("api", 5, 60) is not api


@pytest.mark.parametrize(
    ("make", "default"),
    [
        (lambda pg, **it: pg.concurrent("api", 5, **it), {"lock_timeout": None}),
        (lambda pg, **it: pg.bucket("api", 5, 60, **it), {"offset": 0}),
        (lambda pg, **it: pg.leaky("api", 5, 60, **it), {"refund": "full"}),
        (lambda pg, **it: pg.points("api", 5, 60, **it), {"refund": "full"}),
        (lambda pg, **it: pg.quota("api", 5, "day", **it), {"timezone": None, "starts": None}),
        (lambda pg, **it: pg.throttle("api", 60, **it), {"limit": 1}),
        (lambda pg, **it: pg.window("api", 5, 60, **it), {"ttl": None, "group": None}),
    ],
)
def test_a_default_that_is_given_is_none(pg, make, default):
    api = make(pg)
    assert make(pg, **default) is api
    assert make(pg) is api
    grouped = make(pg, group="g", **{k: v for k, v in default.items() if k != "group"})
    assert make(pg, group="g") is grouped is not api


@pytest.mark.parametrize(
    ("make", "others"),
    [
        (
            lambda pg, **it: pg.concurrent("api", 5, **{"lock_timeout": 9, **it}),
            [{"lock_timeout": 8}, {"lock_timeout": None}, {"ttl": 60}],
        ),
        (
            lambda pg, offset=3, **it: pg.bucket("api", 5, 60, offset, **it),
            [{"offset": 4}, {"keyed": True}],
        ),
        (lambda pg, per=60, **it: pg.window("api", 5, per, **it), [{"per": 61}, {"group": "g"}]),
        (
            lambda pg, **it: pg.points("api", 5, 60, **it),
            [{"refund": "undrained"}, {"mode": "shadow"}],
        ),
        (
            lambda pg, **it: pg.quota("api", 5, "month", **{"starts": "15", **it}),
            [{"starts": None}, {"timezone": "+01:00"}, {"statistics": False}],
        ),
        (
            lambda pg, **it: pg.throttle("api", 60, **{"limit": 2, **it}),
            [{"limit": 3}, {"on_limit": "ignore"}],
        ),
        (lambda pg, **it: pg.unlimited("api", **it), [{"wait_timeout": 1}]),
        (lambda pg, **it: pg.paused("api", **it), [{"wait_timeout": 1}]),
    ],
)
def test_each_argument_makes_another_limiter(pg, make, others):
    for other in others:
        api = make(pg)
        assert make(pg) is api
        assert make(pg, **other) is not api
        assert make(pg) is not api


@pytest.mark.parametrize("wrong", [True, 5.0, "5"])
def test_an_argument_that_only_equals_another_is_still_refused(pg, wrong):
    assert pg.leaky("api", 1, 60).allow()
    assert pg.leaky("api", 5, 60).allow()
    with pytest.raises(InvalidError) as raised:
        pg.leaky("api", wrong, 60)
    assert raised.value.argument == "capacity"
    with pytest.raises(InvalidError):
        pg.leaky("api", 5, 60, block_after=[True, 60, 60])


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda pg: pg.bucket("api", 5, 60, None), "offset"),
        (lambda pg: pg.leaky("api", 5, 60, refund=None), "refund"),
        (lambda pg: pg.points("api", 5, 60, refund=None), "refund"),
        (lambda pg: pg.throttle("api", 60, limit=None), "limit"),
        (lambda pg: pg.unlimited(None), "name"),
    ],
)
def test_none_is_no_way_to_omit_an_argument_whose_default_is_another(pg, make, argument):
    with pytest.raises(InvalidError) as raised:
        make(pg)
    assert raised.value.argument == argument


def test_an_argument_may_be_named(pg):
    api = pg.leaky("api", 5, 60)
    assert pg.leaky(drain=60, capacity=5, name="api") is api
    assert pg.unlimited() is pg.unlimited(name="unlimited")
    with pytest.raises(TypeError, match="drain"):
        pg.leaky("api", 5)
    with pytest.raises(TypeError, match="name"):
        pg.leaky("api", 5, 60, name="api")
    with pytest.raises(TypeError, match="leaky"):
        pg.leaky("api", 5, 60, "full")


def test_help_shows_the_arguments_and_their_defaults():
    methods = {
        "bucket": "(self, /, name, limit, interval, offset=0, **options)",
        "concurrent": "(self, /, name, limit, *, lock_timeout=None, **options)",
        "leaky": "(self, /, name, capacity, drain, *, refund='full', **options)",
        "paused": "(self, /, name, **options)",
        "points": "(self, /, name, capacity, refill, *, refund='full', **options)",
        "quota": "(self, /, name, limit, per, *, timezone=None, starts=None, **options)",
        "throttle": "(self, /, name, interval, *, limit=1, **options)",
        "unlimited": "(self, /, name='unlimited', **options)",
        "window": "(self, /, name, limit, interval, **options)",
    }
    for name, shown in methods.items():
        method = getattr(Paddlegate, name)
        assert str(inspect.signature(method)) == shown
        assert method.__doc__.startswith("Create a limiter ")


@pytest.mark.parametrize("option", LimiterOptions.__annotations__)
def test_each_option_is_taken_and_is_omitted_by_none(pg, option):
    assert pg.leaky("api", 5, 60, **{option: None}) is pg.leaky("api", 5, 60)
    with pytest.raises(InvalidError) as raised:
        pg.leaky("api", 5, 60, **{option: []})
    assert raised.value.argument == option


def test_a_store_of_ones_own_may_make_other_limiters():
    class OfTenant(Paddlegate):
        def leaky(self, name: str, *arguments: Any, **options: Any) -> Limiter:
            return super().leaky(f"tenant/{name}", *arguments, **options)

    store = OfTenant("memory://")
    api = store.leaky("api", 5, 60)
    assert api.name == "tenant/api"
    assert store.leaky("api", 5, 60) is api
    assert store.window("api", 5, 60).name == "api"


def test_arguments_that_can_change_make_a_limiter_each_time(pg):
    class Name(str):
        __slots__ = ()

    minute = timedelta(minutes=1)
    assert pg.leaky("api", 5, minute) is not pg.leaky("api", 5, minute)
    assert pg.leaky(Name("api"), 5, 60) is not pg.leaky("api", 5, 60)
    with pytest.raises(InvalidError) as raised:
        pg.leaky([], 5, 60)
    assert raised.value.argument == "name"
    with pytest.raises(TypeError, match="colour"):
        pg.leaky("api", 5, 60, colour="red")


def test_a_store_keeps_a_thousand(pg):
    first = pg.leaky("first", 5, 60)
    for i in range(999):
        pg.leaky(f"api-{i}", 5, 60)
    assert pg.leaky("first", 5, 60) is first
    pg.leaky("one more", 5, 60)
    assert pg.leaky("first", 5, 60) is not first


def test_the_limiters_do_not_keep_their_store():
    gc.disable()
    try:
        store = Paddlegate("memory://")
        api, gone = store.leaky("api", 5, 60), weakref.ref(store)
        del store
        assert gone() is None, "without a run of the collector"
        assert api.allow(), "a limiter needs no store"
        keyed = Paddlegate("memory://").leaky("users", 5, 60, keyed=True)
        assert keyed.with_key("ada").allow()
    finally:
        gc.enable()


def test_a_store_that_a_limiter_leads_back_to_is_collected():
    store = Paddlegate("memory://")
    setattr(store.leaky("api", 5, 60), "store", store)  # noqa: B010 - a type has no such attribute
    gone = weakref.ref(store)
    del store
    gc.collect()
    assert gone() is None
