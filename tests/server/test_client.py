"""A client made from the OpenAPI document, in front of the command."""

from __future__ import annotations

import pytest
from client import Client, ProblemError
from conftest import Served


def test_the_document_has_every_verb(served: Served) -> None:
    """What the specification lists is there."""
    client = Client(served.url)
    assert client.document["openapi"].startswith("3.1")
    verbs = "acquire debit correct release renew peek enqueue claim cancel learn together"
    looks = "limiters inspect statistics history most_refused audit"
    changes = "pause resume override restore set_mode restore_mode reset"
    assert {*verbs.split(), *looks.split(), *changes.split()} <= client.operations.keys()
    count = sum(len(item) for item in client.document["paths"].values())
    assert len(client.operations) == count, "each has an id of its own"


def test_a_day_of_a_client(served: Served, prefix: str) -> None:
    """Take, look, settle, change; every answer fits its schema."""
    client = Client(served.url)
    api, workers = f"{prefix}api", f"{prefix}workers"
    assert client.acquire(api, cost=4)["remaining"] == 1
    assert not client.acquire(api, cost=2, limits=True)["allowed"]
    with pytest.raises(ProblemError) as refused:
        client.acquire(api, cost=2, query={"refusal": 429})
    assert refused.value.status == 429
    first = client.enqueue(workers, id="a")
    client.enqueue(workers, id="b")
    assert client.enqueue(workers, id="c")["status"] == "queued"
    assert client.release(workers, permit=first["permit"])["settlement"] == "released"
    assert client.claim(workers, id="c")["allowed"]
    assert client.cancel(workers, id="c")["settlement"] == "cancelled"
    state = client.pause(api, expires_in="1m", reason="lunch")
    assert state["paused_for"] == 60
    assert client.peek(api)["reason"] == "paused"
    assert client.resume(api)["paused_for"] is None
    names = [limiter["name"] for limiter in client.limiters(query={"prefix": prefix})["limiters"]]
    assert names == [api, f"{prefix}much", workers]
    assert client.statistics(api)["refused"] == 2
    assert client.history(api)["hours"][-1]["refused"] == 2
    with pytest.raises(ProblemError, match="no such limiter"):
        client.acquire(f"{prefix}nobody")
