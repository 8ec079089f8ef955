"""The six official cases, with the assertions that they promise and do not make."""

import uuid

import pytest
from conftest import Client
from server import Clock, Server, empty_store


@pytest.fixture(params=["redis", "memory", "wall"])
def ojs(request):
    """Stores with a clock that the test moves, and Redis by its own clock."""
    if request.param == "wall":
        yield request.getfixturevalue("real")
        return
    with Server(empty_store() if request.param == "redis" else None, Clock()) as server:
        yield Client(server)


def wait(ojs, seconds):
    ojs.clock.advance(seconds)


MOVED = pytest.mark.parametrize("ojs", ["redis", "memory"], indirect=True)


def test_ext_rl_001_concurrency(ojs):
    policy = {"key": "rl-test-key", "concurrency": 1}
    jobs = [ojs.enqueue(policy, queue="rl-conc-test")["id"] for _ in range(2)]
    assert ojs.fetched(2, queue="rl-conc-test", worker="test-rl-worker") == jobs[:1]
    assert ojs.fetched(2, queue="rl-conc-test", worker="test-rl-worker") == []


def test_ext_rl_002_inspect(ojs):
    ojs.enqueue({"key": "inspect-test-key", "concurrency": 5}, queue="rl-inspect-test")
    assert ojs.key("inspect-test-key") == {
        "key": "inspect-test-key",
        "concurrency": {"limit": 5, "active": 0, "available": 5},
        "waiting_count": 1,
    }


def test_ext_rl_003_wait(ojs):
    policy = {"key": "wait-test-key", "concurrency": 1, "on_limit": "wait"}
    first, second = (ojs.enqueue(policy, queue="rl-wait-test") for _ in range(2))
    assert (first["state"], ojs.job(first)["state"]) == ("available", "available")
    ojs.fetch(2, queue="rl-wait-test")
    assert (ojs.job(first)["state"], ojs.job(second)["state"]) == ("active", "available")


# Three steps within one second are too many for a busy machine.
@MOVED
def test_ext_rl_004_per_second(ojs):
    policy = {"key": "rl-rps-key", "rate": 1, "period": "second"}
    for remaining in "10":
        body = {"type": "t", "args": [], "options": {"queue": "rps", "rate_limit": policy}}
        answer = ojs.post("/jobs", body, 201)
        assert answer.headers["X-RateLimit-Limit"] == "1"
        assert answer.headers["X-RateLimit-Remaining"] == remaining
        assert len(ojs.fetch(5, queue="rps")) == int(remaining)
    wait(ojs, 1)
    assert len(ojs.fetch(5, queue="rps")) == 1


def test_ext_rl_005_keys_are_independent(ojs):
    jobs = [
        ojs.enqueue({"key": key, "concurrency": 1}, queue="rl-keys-test")["id"]
        for key in ("rl-key-a", "rl-key-b")
    ]
    assert ojs.fetched(2, queue="rl-keys-test", worker="test-rl-keys-worker") == jobs


# By the wall two steps within one second are too many, too, when the machine stalls.
@MOVED
def test_l4_rl_001_max_per_second_of_a_queue(ojs):
    jobs = [ojs.enqueue({"max_per_second": 1}, queue="rate-limit-test") for _ in range(3)]
    for job in jobs:
        assert (uuid.UUID(job["id"]).version, job["state"]) == (7, "available")
    [first] = ojs.fetch(queue="rate-limit-test", worker="worker-rl-1")
    assert (first["id"], first["state"]) == (jobs[0]["id"], "active")
    assert ojs.fetch(queue="rate-limit-test", worker="worker-rl-2") == []
    wait(ojs, 1.5)
    [second] = ojs.fetch(3, queue="rate-limit-test", worker="worker-rl-3")
    assert (second["id"], second["state"]) == (jobs[1]["id"], "active")
    assert ojs.key("queue/rate-limit-test")["waiting_count"] == 1
