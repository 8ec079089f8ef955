# mypy: allow-untyped-calls
"""Limits that are written in a file."""

import json
import types

import pytest
from paddlegate import SKIPPED, InvalidError, Paddlegate

LIMITS = {
    "limiters": {
        "shopify-42": {"points": {"limit": 1000, "refill": "20s"}, "wait_timeout": "7s"},
        "stripe": {
            "concurrency": {"limit": 5, "lock_timeout": "10s"},
            "limits": {"rpm": {"window": {"limit": 100, "per": "minute"}}},
            "throttle": {"every": "PT0.1S"},
            "on_limit": "reschedule",
            "ttl": "1d",
        },
        "mail": {"bucket": {"limit": 1, "per": "day"}, "on_limit": "ignore", "wait_timeout": 0},
    }
}


@pytest.fixture
def limits(name):
    """The document with names that no other test has."""
    limiters = {f"{name}-{key}": value for key, value in LIMITS["limiters"].items()}
    return {"limiters": limiters}


@pytest.mark.parametrize(
    "form",
    [dict, types.MappingProxyType, json.dumps, lambda limits: json.dumps(limits).encode()],
    ids=["dict", "mapping", "text", "bytes"],
)
def test_a_document_gives_limiters_by_name(store, name, limits, form):
    loaded = store.limiters_from_document(form(limits))
    assert sorted(loaded) == sorted(limits["limiters"])
    assert all(limiter.name == key for key, limiter in loaded.items())
    shop, stripe, mail = (loaded[f"{name}-{key}"] for key in ("shopify-42", "stripe", "mail"))
    assert (shop.on_limit, shop.wait_timeout) == ("raise", 7)
    assert (stripe.on_limit, stripe.wait_timeout) == ("reschedule", 5)
    assert (mail.on_limit, mail.wait_timeout) == ("ignore", 0)
    assert (shop.ttl, stripe.ttl) == (90 * 86_400, 86_400)
    assert shop.try_acquire(400).remaining == 600
    assert stripe.try_acquire().lease == 10
    assert stripe.try_acquire().reason == "throttle"
    assert stripe.override(50, label="rpm").overrides["rpm"].kind == "window"


def test_it_shares_the_limiter_with_code(store, name, limits):
    loaded = store.limiters_from_document(limits)[f"{name}-shopify-42"]
    assert loaded.try_acquire(400).remaining == 600
    assert store.points(f"{name}-shopify-42", 1000, 20).try_acquire(400).remaining < 600


def test_what_is_ignored_skips_its_body(store, name, limits, run):
    mail = store.limiters_from_document(limits)[f"{name}-mail"]

    async def send():
        return "sent"

    async def main():
        return [await mail.within_limit()(send)() for _ in range(2)]

    assert run(main()) == ["sent", SKIPPED]


def test_what_code_makes_says_it_too(store, name):
    assert store.window(name, 1, 1).on_limit == "raise"
    assert store.window(name, 1, 1, on_limit="skip").on_limit == "ignore"


@pytest.mark.parametrize(
    ("document", "limit", "interval"),
    [
        ({"key": "ojs", "limit": 10, "period": "1m"}, 10, 60),
        (
            {"name": "task", "rateLimitPerFrequency": 50, "rateLimitFrequencyInSeconds": 10},
            50,
            10,
        ),
        ({"name": "guild", "reservoir": 5, "intervalMs": 5000}, 5, 5),
    ],
    ids=["ojs", "conductor", "guild"],
)
def test_documents_of_other_systems(document, limit, interval):
    [loaded] = Paddlegate("memory://").limiters_from_document(document).values()
    assert loaded.peek().limit == limit
    [overridden] = loaded.override(limit + 1).overrides.values()
    assert (overridden.amount, overridden.interval) == (limit + 1, interval)


def test_a_file(store, name, limits, tmp_path):
    path = tmp_path / "limits.json"
    path.write_text(json.dumps(limits))
    for form in path, str(path):
        assert sorted(store.load(form)) == sorted(limits["limiters"])


def test_a_file_that_cannot_be_read(tmp_path):
    pg = Paddlegate("memory://")
    with pytest.raises(FileNotFoundError):
        pg.load(tmp_path / "missing.json")
    with pytest.raises(OSError, match="directory"):
        pg.load(tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff\x00")
    with pytest.raises(InvalidError) as caught:
        pg.load(tmp_path / "binary")
    assert caught.value.argument == "document"


def test_a_file_without_limiters(store):
    assert store.limiters_from_document('{"limiters": {}}') == {}


@pytest.mark.parametrize(
    "bad",
    ["", "{", "[]", [], {}, 5, None, True, "\ud800", b"\xff", {"limiters": []}, {"a": object()}],
)
def test_documents_are_checked(bad):
    with pytest.raises(InvalidError) as caught:
        Paddlegate("memory://").limiters_from_document(bad)
    assert caught.value.argument == "document"


def test_a_fault_is_named_by_its_place():
    limits = {"limiters": {"a": {"window": {"limit": 0, "per": "minute"}}}}
    with pytest.raises(InvalidError, match=r"\$\.limiters\.a\.window"):
        Paddlegate("memory://").limiters_from_document(limits)


def test_what_is_said_beside_a_document(store):
    job = {"key": "api", "concurrency": 2}
    [limiter] = store.limiters_from_document(job, tenant="acme", lock_timeout=90).values()
    assert limiter.name == "ojs/tenant/acme/key/api"
    assert limiter.try_acquire().lease == 90
    limiter.reset()
    [limiter] = store.limiters_from_document({**job, "key": "acme:api"}).values()
    assert limiter.name == "ojs/key/acme:api"
    [limiter] = store.limiters_from_document(
        {"visibility_timeout_ms": 45_000, "rate_limit": job}
    ).values()
    assert limiter.try_acquire().lease == 45
    limiter.reset()
    guild = {"name": "discord", "reservoir": 5, "timeWindow": 1000}
    [limiter] = store.limiters_from_document(guild, group="7").values()
    assert limiter.name == "guild/discord:7"
    for argument, value in ("tenant", "acme"), ("lock_timeout", 5):
        with pytest.raises(InvalidError) as caught:
            store.limiters_from_document(guild, **{argument: value})
        assert caught.value.argument == argument


def test_a_workflow_is_read_or_refused(store):
    limit = {"rateLimitKey": "max", "concurrentExecLimit": 3}
    assert list(store.limiters_from_document({"name": "w", "rateLimitConfig": limit})) == [
        "conductor/workflow/max"
    ]
    limit["rateLimitKey"] = "${workflow.input.x}"
    with pytest.raises(InvalidError, match=r"at \$\.rateLimitConfig\.rateLimitKey: has variables"):
        store.limiters_from_document({"name": "w", "rateLimitConfig": limit})
