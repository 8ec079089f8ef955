"""The stream of events: what programs in any language are refused, and which leases they lose."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import IO, Any

import pytest
from client import Client
from conftest import Served
from paddlegate import Paddlegate

HOLDER = """
import sys, time, paddlegate
workers = paddlegate.Paddlegate(sys.argv[1], timeout=60).concurrent(sys.argv[2], 1, lock_timeout=1)
print(workers.try_acquire().allowed, flush=True)
time.sleep(600)
"""


@pytest.fixture
def redis_url(redis_url: str) -> str:
    """Return a database of its own: of more than 1,000 limiters in use those used last are told."""
    return f"{redis_url}/9"


def listen(server: Served, query: str = "", **headers: str) -> IO[bytes]:
    """Open the stream; what happens afterwards is told."""
    request = urllib.request.Request(f"{server.url}/v1/events{query}", headers=headers)
    stream: IO[bytes] = urllib.request.urlopen(request, timeout=150)
    return stream


def told(events: IO[bytes]) -> Iterator[dict[str, Any]]:
    """Yield each event with its kind, and its id or none."""
    event: dict[str, Any] = {}
    while True:
        raw = events.readline().decode()
        assert raw, "the stream has ended"
        line = raw.rstrip("\n")
        if not line and event:
            yield {"id": None, **event}
            event = {}
        name, _, value = line.partition(": ")
        if name == "data":
            event.update(json.loads(value))
        elif name in ("event", "id"):
            event[{"event": "kind"}.get(name, name)] = value


def test_refusals_of_a_program_are_told(redis_url: str, prefix: str) -> None:
    """It names the limit; it has no id, so a client that reconnects misses no change."""
    name, other = f"{prefix}api", f"{prefix}other"
    server = Served("--redis", redis_url)
    client = Client(server.url)
    with Paddlegate(redis_url, timeout=60) as pg:
        known = pg.window(name, 1, 3600)
        known.try_acquire()
        known.try_acquire()
    with listen(server) as events, listen(server, "?kinds=change") as changes:
        with Paddlegate(redis_url, timeout=60) as pg:
            known = pg.window(name, 1, 3600)
            assert [known.try_acquire().allowed for _ in range(3)] == [False] * 3
            # It has never been used before, and nothing of it is lost.
            new = pg.bucket(other, 2, 3600)
            assert [new.try_acquire().allowed for _ in range(4)] == [True, True, False, False]
        counts = {name: 0, other: 0}
        labels = {name: "window", other: "bucket"}
        for event in told(events):
            if event["limiter"] in counts:
                assert (event["kind"], event["id"]) == ("refused", None)
                assert event["limits"] == {labels[event["limiter"]]: event["count"]}
                assert (event["group"], event["keyed"]) == (None, False)
                counts[event["limiter"]] += event["count"]
            if list(counts.values()) == [3, 2]:
                break
        assert list(counts.values()) == [3, 2]
        client.pause(name, expires_in=60, reason="test")
        told_change = next(event for event in told(changes) if event["limiter"] == name)
        assert told_change["kind"] == "change"
        assert told_change["id"] is not None
    client.resume(name)
    # A client that reconnects with the id of a change gets the changes after it.
    with listen(server, "?kinds=change", **{"last-event-id": told_change["id"]}) as changes:
        assert (
            next(event for event in told(changes) if event["limiter"] == name)["what"] == "resume"
        )
    assert server.stop() == 0


def test_a_lease_of_a_killed_program_is_told(redis_url: str, prefix: str) -> None:
    """As soon as somebody else takes its slot."""
    name = f"{prefix}workers"
    server = Served("--redis", redis_url)
    with listen(server, "?kinds=lease_lost,refused") as events:
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLDER, redis_url, name], stdout=subprocess.PIPE, text=True
        )
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        holder.kill()
        holder.communicate()
        with Paddlegate(redis_url, timeout=60) as pg:
            workers = pg.concurrent(name, 1, lock_timeout=1)
            with workers.within_limit(wait_timeout=60):
                pass
        event = next(
            it for it in told(events) if it["kind"] == "lease_lost" and it["limiter"] == name
        )
        assert (event["reclaimed"], event["lapsed"], event["id"]) == (1, 0, None)
    assert server.stop() == 0


def test_events_of_a_server_in_memory(tmp_path: pathlib.Path) -> None:
    """Keys are counted together, and only names that the caller may read are told."""
    limiters = {
        f"{name}-api": {"bucket": {"limit": 1, "per": "day"}, "keyed": True} for name in "ab"
    }
    path, tokens = tmp_path / "limits.json", tmp_path / "tokens.json"
    path.write_text(json.dumps({"limiters": limiters}))
    # SHA-256 of "secret" and "reader".
    root = {
        "name": "root",
        "sha256": "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b",
        "read": [""],
        "decide": [""],
    }
    reader = {
        "name": "reader",
        "sha256": "3d0941964aa3ebdcb00ccef58b1bb399f9f898465e9886d5aec7f31090a0fb30",
        "read": ["b-"],
    }
    tokens.write_text(json.dumps({"tokens": [root, reader]}))
    server = Served("--limits", str(path), "--tokens", str(tokens))
    client = Client(server.url, "secret")
    with (
        listen(server, authorization="Bearer reader") as events,
        listen(server, authorization="Bearer secret") as all_events,
    ):
        for name in ("a-api", "b-api"):
            allowed = [client.acquire(name, key=key)["allowed"] for key in ("x", "x", "y", "y")]
            assert allowed == [True, False, True, False]
        for stream, wanted in ((events, {"b-api"}), (all_events, {"a-api", "b-api"})):
            counts = dict.fromkeys(wanted, 0)
            for event in told(stream):
                assert event["keyed"] is True
                assert "key" not in event
                counts[event["limiter"]] += event["count"]
                if set(counts.values()) == {2}:
                    break
            assert counts == dict.fromkeys(wanted, 2)
    assert server.stop() == 0


@pytest.mark.parametrize("kinds", ["", "changes", "change,", "change,%20refused"])
def test_a_wrong_kind_is_told(kinds: str) -> None:
    """With those that there are."""
    server = Served()
    with pytest.raises(urllib.error.HTTPError) as wrong:
        listen(server, f"?kinds={kinds}")
    problem = json.load(wrong.value)
    assert (wrong.value.code, problem["argument"]) == (400, "kinds")
    assert "change, refused, lease_lost" in problem["detail"]
    assert server.stop() == 0
