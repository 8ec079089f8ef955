"""What the vectors of header fields and keys of callers cannot say."""

import pickle
from typing import Any, cast

import pytest
from paddlegate import (
    Concurrency,
    InvalidError,
    LimitInfo,
    OverLimit,
    Paddlegate,
    Quota,
    TestClock,
    Window,
    caller_key,
    plain_key,
)


@pytest.fixture
def store():
    return Paddlegate("memory://", clock=TestClock(1_000_000_000))


def test_a_limiter_shows_its_policy(store):
    limits = {
        "rpm": Window(5, 60),
        "month": Quota(9, "month", timezone="Europe/Berlin", starts="2"),
    }
    limiter = store.limiter("api", {**limits, "slots": Concurrency(3, lock_timeout=10)})
    window = LimitInfo("rpm", "window", 5, 60.0, 0.0)
    quota = LimitInfo("month", "quota", 9, 2_678_400.0, 0.0, "month", "Europe/Berlin", "2")
    slots = LimitInfo("slots", "concurrency", 3, 10.0, 0.0)
    assert limiter.limits == (window, quota, slots)
    assert store.unlimited().limits == ()
    keyed = store.window("keyed", 5, 60, keyed=True)
    assert (
        keyed.limits == keyed.with_key("a").limits == (LimitInfo("window", "window", 5, 60.0, 0.0),)
    )
    assert store.together(keyed.with_key("a"), limiter).limits == (*keyed.limits, *limiter.limits)


def test_fields_are_those_of_the_newest_draft_by_default(store):
    limiter = store.window("api", 5, 60)
    decision = limiter.try_acquire(2, limits=True)
    assert decision.headers() == decision.headers("draft") == decision.headers(fields="draft")
    assert pickle.loads(pickle.dumps(decision)).headers() == decision.headers()
    for fields in (3, b"draft", "\ud800"):
        with pytest.raises(InvalidError) as caught:
            decision.headers(fields)
        assert caught.value.argument == "fields"


def test_a_wait_has_fields_too(store):
    limiter = store.window("api", 2, 60)
    permit = limiter.acquire(2, limits=True)
    assert permit.decision.headers()["RateLimit-Policy"] == '"window";q=2;w=60'
    with (
        pytest.raises(OverLimit) as caught,
        limiter.within_limit(1, wait_timeout=0, limits=True),
    ):
        pytest.fail("it was over the limit")
    assert caught.value.decision.headers()["RateLimit"] == '"window";r=0;t=60'


def test_text_and_bytes_give_a_key():
    assert caller_key(None) == caller_key("") == caller_key(b"") == plain_key("")
    assert caller_key(b"192.0.2.1") == caller_key("192.0.2.1", None, None) == "192.0.2.1"
    proxies = ("10.0.0.1",)
    assert caller_key(b"10.0.0.1", b"a, 192.0.2.1", proxies) == "192.0.2.1"
    assert caller_key(
        "10.0.0.1", forwarded_for=b"caf\xe9", trusted_proxies=iter(proxies)
    ) == plain_key(b"caf\xe9")
    assert plain_key(bytearray(b"a")) == plain_key(memoryview(b"a")) == "a"
    assert plain_key("\ud800").startswith("sha256:")


UNTYPED: Any = caller_key


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("address", lambda: UNTYPED(5)),
        ("forwarded_for", lambda: UNTYPED("", 5)),
        ("trusted_proxies", lambda: UNTYPED("", trusted_proxies="10.0.0.1")),
        ("trusted_proxies", lambda: UNTYPED("", trusted_proxies=[5])),
        ("ipv6_prefix", lambda: UNTYPED("", ipv6_prefix="64")),
        ("ipv6_prefix", lambda: UNTYPED("", ipv6_prefix=-1)),
        ("text", lambda: cast("Any", plain_key)(None)),
    ],
)
def test_other_types_are_refused_by_name(argument, call):
    with pytest.raises(InvalidError) as caught:
        call()
    assert caught.value.argument == argument
