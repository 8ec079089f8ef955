"""One limit of the server and of a Python process."""

from __future__ import annotations

import json
import pathlib
import threading

from client import Client
from conftest import Served
from paddlegate import Paddlegate


def test_a_python_process_and_the_server_share_a_limit(
    redis_url: str, prefix: str, tmp_path: pathlib.Path
) -> None:
    """Two processes of Paddlegate take from one budget, and neither takes more than there is."""
    name = f"{prefix}shared"
    path = tmp_path / "limits.json"
    path.write_text(json.dumps({"limiters": {name: {"bucket": {"limit": 500, "per": "day"}}}}))
    server = Served("--limits", str(path), "--redis", redis_url)
    granted = [0, 0]

    def over_http() -> None:
        client = Client(server.url)
        while client.acquire(name)["allowed"]:
            granted[0] += 1

    thread = threading.Thread(target=over_http)
    thread.start()
    with Paddlegate(redis_url) as pg:
        limiter = pg.bucket(name, 500, "day")
        while limiter.try_acquire():
            granted[1] += 1
        thread.join(60)
        assert sum(granted) == 500
        assert min(granted) > 0, "both have taken some"
        client = Client(server.url)
        client.override(name, limit=600)
        assert limiter.try_acquire().remaining == 99
        limiter.pause(60)
        assert client.acquire(name)["reason"] == "paused"
    # Python has sent what it counted when it closed.
    statistics = client.statistics(name)
    assert (statistics["granted"], statistics["units"]) == (501, 501)
    assert server.stop() == 0


def test_a_lease_of_the_server_is_released_by_python(redis_url: str, prefix: str) -> None:
    """A permit is settled by its id, whoever has it."""
    name = f"{prefix}leases"
    server = Served("--redis", redis_url)
    client = Client(server.url)
    policy = {"concurrency": {"limit": 1, "lock_timeout": 60}}
    granted = client.acquire(name, policy=policy)
    with Paddlegate(redis_url) as pg:
        limiter = pg.concurrent(name, 1, lock_timeout=60)
        assert not limiter.try_acquire()
        assert limiter.release(granted["permit"]) == "released"
    assert client.acquire(name, policy=policy)["allowed"]
    assert server.stop() == 0
