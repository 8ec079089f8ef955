# mypy: allow-untyped-calls
"""Runs of Conductor workflows."""

import json

import pytest
from paddlegate import InvalidError, Paddlegate


def definition(key="${workflow.correlationId}", limit=3, **more):
    config = {"rateLimitKey": key, "concurrentExecLimit": limit, **more}
    return {"name": "order", "rateLimitConfig": config}


def test_of_five_starts_three_run(store, name):
    run = {"correlationId": name}
    held = [
        store.conductor_limiter(definition(), run).admit(f"w{number}", None, cost=1)
        for number in range(5)
    ]
    assert [it.action for it in held] == ["run"] * 3 + ["wait"] * 2
    limiter = store.conductor_limiter(definition(), run)
    limiter.release(held[0].permit)
    assert [limiter.admit(job).action for job in ("w3", "w4")] == ["run", "wait"]


def test_each_key_has_its_limit(store, name):
    for key in f"{name}-a", f"{name}-b":
        limiter = store.conductor_limiter(
            json.dumps(definition()), json.dumps({"correlationId": key})
        )
        assert limiter.name == f"conductor/workflow/{key}"
        actions = [limiter.admit(f"{key[-60:]}{number}").action for number in range(6)]
        assert actions.count("run") == 3


@pytest.mark.parametrize("run", [{}, {"correlationId": None}, {"correlationId": ""}])
def test_a_run_without_a_key_is_not_limited(store, run):
    limiter = store.conductor_limiter(definition(limit=1), run)
    assert limiter.name == "conductor/unlimited/order"
    assert all(limiter.allow() for _ in range(50))


def test_a_start_over_the_limit_is_refused(store, name):
    limiter = store.conductor_limiter(definition(limit=1, policy="REJECT"), {"correlationId": name})
    assert limiter.on_limit == "raise"
    assert [limiter.admit(job).action for job in "ab"] == ["run", "refuse"]
    assert limiter.stats().tickets == 0


def test_a_lease_lasts_as_long_as_is_said(store, name):
    run = {"correlationId": name}
    assert store.conductor_limiter(definition(), run).try_acquire().lease == 30
    limiter = store.conductor_limiter(
        definition(), run, lock_timeout=90, on_unavailable="local", local_share_percent=50
    )
    assert limiter.try_acquire().lease == 90
    assert (limiter.on_unavailable, limiter.local_share_percent) == ("local", 50)


@pytest.mark.parametrize(
    ("argument", "arguments"),
    [
        ("definition", ("{", {})),
        ("definition", ({"name": "w", "rateLimitConfig": {"limit": 5}}, {})),
        ("definition", (5, {})),
        ("run", (definition(), "[]")),
        ("run", (definition(), "{")),
        ("run", (definition(), None)),
        ("run", (definition(), {"correlationId": {}})),
        ("run", (definition(), {"correlationId": "x" * 513})),
        ("lock_timeout", (definition(), {"correlationId": "x"}, 0)),
        ("lock_timeout", (definition(), {"correlationId": "x"}, "soon")),
        ("lock_timeout", (definition(), {"correlationId": "x"}, True)),
    ],
)
def test_what_is_wrong_is_named(argument, arguments):
    document, run, *timeout = arguments
    with pytest.raises(InvalidError) as caught:
        Paddlegate("memory://").conductor_limiter(
            document, run, lock_timeout=timeout[0] if timeout else None
        )
    assert caught.value.argument == argument
