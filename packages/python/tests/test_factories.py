"""The methods of a store that create a limiter by its numbers."""

import gc
import weakref
from typing import Any

import pytest
from paddlegate import InvalidError, Limiter, Paddlegate
from paddlegate._options import LimiterOptions


@pytest.fixture
def pg():
    return Paddlegate("memory://")


@pytest.mark.parametrize("wrong", [True, 5.0, "5"])
def test_a_number_of_another_type_is_refused(pg, wrong):
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
    assert pg.leaky(drain=60, capacity=5, name="api").name == "api"
    assert pg.unlimited().name == "unlimited"
    with pytest.raises(TypeError, match="drain"):
        pg.leaky("api", 5)
    with pytest.raises(TypeError, match="name"):
        pg.leaky("api", 5, 60, name="api")
    with pytest.raises(TypeError, match="leaky"):
        pg.leaky("api", 5, 60, "full")
    with pytest.raises(TypeError, match="colour"):
        pg.leaky("api", 5, 60, colour="red")


@pytest.mark.parametrize("option", LimiterOptions.__annotations__)
def test_each_option_is_taken_and_is_omitted_by_none(pg, option):
    assert pg.leaky("api", 5, 60, **{option: None}).allow()
    with pytest.raises(InvalidError) as raised:
        pg.leaky("api", 5, 60, **{option: []})
    assert raised.value.argument == option


def test_a_store_of_ones_own_may_make_other_limiters():
    class OfTenant(Paddlegate):
        def leaky(self, name: str, *arguments: Any, **options: Any) -> Limiter:
            return super().leaky(f"tenant/{name}", *arguments, **options)

    store = OfTenant("memory://")
    assert store.leaky("api", 5, 60).name == "tenant/api"
    assert store.window("api", 5, 60).name == "api"


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
