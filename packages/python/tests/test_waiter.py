# mypy: allow-untyped-calls
"""The rules of a waiting call, without a clock: tests/vectors/waiting.json."""

import json
from pathlib import Path

import pytest
from paddlegate import Paddlegate
from paddlegate._native import Waiter, reconnect_pause, restore

VECTORS = json.loads((Path(__file__).parents[3] / "tests/vectors/waiting.json").read_text())

limiter = Paddlegate("memory://").unlimited("x")


def micros(seconds):
    return round(seconds * 1e6)


def decision(step):
    granted, ticket = step["status"] == "granted", step["ticket"]
    return restore(
        (
            step["status"],
            1,
            0,
            step["retry_after_us"],
            None,
            (None if granted else "concurrency", None),
            ("concurrency", None),
            0,
            None,
            (None, None),
            None if ticket is None else (ticket, 0, None),
            (step["degraded"], False, []),
        )
    )


def answer(waiter, step):
    match step["do"]:
        case "next":
            max_wait, ticket, channel = waiter.next(step["now_us"] / 1e6, step["channel"])
            wait = {"max_wait_us": micros(max_wait), "ticket": ticket, "channel": channel}
            return {name: wait[name] for name in step["expect"]}
        case "decision":
            return waiter.on_decision(step["now_us"] / 1e6, decision(step))
        case "error":
            return waiter.on_error(step["may_have_counted"])
        case "wakeup":
            return waiter.on_wakeup(step["at_us"] / 1e6)
        case "retry_at":
            return micros(waiter.retry_at(step["channel"]))
        case "must_cancel":
            return waiter.must_cancel(step["delivered"])
        case unknown:
            raise AssertionError(f"unknown step: {unknown}")


def test_there_are_vectors():
    assert len(VECTORS["cases"]) > 20


@pytest.mark.parametrize("case", [pytest.param(it, id=it["title"]) for it in VECTORS["cases"]])
def test_a_waiter(case):
    max_wait, now = case["max_wait_us"] / 1e6, case["now_us"] / 1e6
    waiter = Waiter(limiter, None, None, max_wait, None if case["owns_id"] else "job", now)
    assert len(waiter.id) == 32 if case["owns_id"] else waiter.id == "job"
    for number, step in enumerate(case["steps"]):
        assert answer(waiter, step) == step.get("expect"), f"step {number}"


def test_pauses_between_connections():
    pauses = VECTORS["reconnect_pauses_us"]
    assert [micros(reconnect_pause(failures)) for failures in range(len(pauses))] == pauses


@pytest.mark.parametrize("case", [pytest.param(it, id=it["title"]) for it in VECTORS["jobs"]])
def test_the_waiter_of_a_job(case):
    claim_timeout, patience, now = (
        case[name] / 1e6 for name in ("claim_timeout_us", "patience_us", "now_us")
    )
    waiter = Waiter.of_job("job", None, None, None, None, claim_timeout, patience, now)
    for number, step in enumerate(case["steps"]):
        assert answer(waiter, step) == step.get("expect"), f"step {number}"
