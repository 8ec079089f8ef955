"""An operator's commands on limiters of a Python process."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from typing import Any

import paddlegate
from conftest import COMMAND


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
