"""An operator's commands on limiters of a Python process."""

from __future__ import annotations

import json
import subprocess
import threading
import time
import urllib.request
from typing import Any

import paddlegate
from client import Client
from conftest import COMMAND, Served


def operate(redis_url: str, *words: str) -> Any:
    """Run a command and return its JSON."""
    command = [COMMAND, *words, "--json", "--redis", redis_url, "--timeout", "30s"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def test_a_waiting_call_of_a_python_process_is_shown_and_let_go(
    redis_url: str, prefix: str
) -> None:
    """An override wakes the call that waits, and a pause refuses the next."""
    name = f"{prefix}workers"
    with paddlegate.Paddlegate(redis_url, timeout=30) as pg:
        workers = pg.concurrent(name, 1, lock_timeout=3600)
        workers.acquire(id="first")
        waiting = threading.Thread(
            target=workers.acquire, kwargs={"id": "second", "wait_timeout": 600}
        )
        waiting.start()
        while operate(redis_url, "inspect", name)["ticket_count"] == 0:
            time.sleep(0.05)
        [row] = operate(redis_url, "watch", name, "--frames", "1")["limiters"]
        assert (row["tickets"], row["leases"]) == (1, 1)
        operate(redis_url, "override", name, "--limit", "2")
        waiting.join(600)
        found = operate(redis_url, "inspect", name)
        assert sorted(lease["id"] for lease in found["leases"]) == ["first", "second"]
        assert (found["limits"][0]["source"], found["limits"][0]["limit"]) == ("override", 2)

        assert operate(redis_url, "pause", name, "--expires-in", "1h")["paused_for"] > 3000
        assert workers.try_acquire().reason == "paused"
        assert operate(redis_url, "reset", name, "--yes")["overrides"] == {}
        assert workers.runtime_state().overrides == {}
        assert workers.try_acquire().allowed


def test_servers_tell_of_changes_from_the_terminal_and_the_terminal_of_theirs(
    redis_url: str, prefix: str
) -> None:
    """One log has the changes of all, with who and why, and an open stream of events tells them."""
    name = f"{prefix}partner"
    why = "the partner asked"
    server = Served("--redis", redis_url)
    client = Client(server.url)
    with paddlegate.Paddlegate(redis_url, timeout=30) as pg:
        pg.window(name, 5, 60).try_acquire()
    with urllib.request.urlopen(f"{server.url}/v1/events", timeout=150) as events:
        operate(redis_url, "pause", name, "--expires-in", "1h", "--by", "ann", "--reason", why)
        # Without an entry there is no event to wait for.
        assert name in [it["limiter"] for it in client.audit()["entries"]]
        told: dict[str, Any] = {}
        while told.get("limiter") != name:
            line = events.readline().decode()
            assert line, "the stream has ended"
            if line.startswith("data:"):
                told = json.loads(line.removeprefix("data:"))
    client.resume(name, query={"reason": "it is back"})
    entries = [it for it in client.audit()["entries"] if it["limiter"] == name]
    assert [(it["who"], it["what"], it["reason"]) for it in entries] == [
        ("ann", "pause expires_in=3600", why),
        ("anonymous", "resume", "it is back"),
    ]
    assert told == entries[0]
    with urllib.request.urlopen(f"{server.url}/ui/changes", timeout=60) as page:
        assert why in page.read().decode()
    log = operate(redis_url, "log", "--count", "1000")
    assert [it for it in log if it["limiter"] == name] == entries
    assert server.stop() == 0


def test_the_list_has_those_of_which_something_is_to_be_known(prefix: str) -> None:
    """By a filter, and in numbers at the top of the page, each of which leads to its list."""
    server = Served("--test-clock", "1800000000000000")
    client = Client(server.url)
    policy = {"window": {"limit": 1, "per": "hour"}}
    names = ("paused", "overridden", "shadow", "refusing", "waiting", "sound")
    for name in names:
        client.acquire(f"{prefix}{name}", policy=policy)
    client.pause(f"{prefix}paused", expires_in=3600)
    client.override(f"{prefix}overridden", limit=5)
    client.acquire(f"{prefix}shadow", policy={**policy, "mode": "shadow"})
    for _ in range(3):
        client.acquire(f"{prefix}refusing", policy=policy)
    for id_ in ("a", "b"):
        client.enqueue(f"{prefix}waiting", policy=policy, id=id_)
    advance = urllib.request.Request(
        f"{server.url}/ojs/v1/test-clock/advance", b'{"micros": 60000000}', method="POST"
    )
    urllib.request.urlopen(advance, timeout=60).close()
    for state in names[:-1]:
        query = {"prefix": prefix, "state": state}
        listed = [limiter["name"] for limiter in client.limiters(query=query)["limiters"]]
        assert listed == [f"{prefix}{state}"]
    with urllib.request.urlopen(f"{server.url}/ui/limiters", timeout=60) as response:
        page = response.read().decode()
    for text in ("1 paused", "1 overridden", "1 shadow", "1 refusing", "2 waiting"):
        state = text.partition(" ")[2]
        address = f"/ui/limiters?prefix=&#38;state={state}"
        assert f'<a class="is-{state}" href="{address}">{text}</a>' in page
    with urllib.request.urlopen(f"{server.url}/ui/limiters?state=paused", timeout=60) as response:
        page = response.read().decode()
    assert "1 limiter, by name" in page
    assert server.stop() == 0
