"""`make serve`: from its start to a paused limiter."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable

from client import Client
from conftest import ROOT


def until(done: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait for a condition while the demo runs."""
    while not done():
        assert process.poll() is None


def test_a_newcomer_pauses_the_limiter_of_workers_in_three_languages(redis_url: str) -> None:
    """It prints the addresses; the workers share a limiter and stop while it is paused."""
    process = subprocess.Popen(
        [ROOT / "demo" / "run.sh", "serve"],
        env={**os.environ, "PADDLEGATE_URL": redis_url, "PADDLEGATE_LISTEN": "127.0.0.1:0"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    said = ""
    while "Ctrl-C ends all." not in said:
        line = process.stdout.readline()
        assert line, said
        said += line
    page = re.search(r"(http://127\.0\.0\.1:\d+)/ui/limiters/(\S+)", said)
    assert page is not None
    client, name = Client(page[1]), page[2]

    def counted(field: str) -> int:
        return client.statistics(name)[field]

    until(lambda: counted("granted") >= 30, process)
    client.pause(name, expires_in=600, reason="a newcomer tries it")
    assert client.inspect(name)["paused_for"] > 0
    refused = counted("refused")
    until(lambda: counted("refused") >= refused + 3, process)
    granted = counted("granted")
    client.resume(name, query={"reason": "done"})
    until(lambda: counted("granted") > granted + 10, process)
    assert [it["what"] for it in client.audit()["entries"] if it["limiter"] == name][-2:] == [
        "pause expires_in=600",
        "resume",
    ]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 0
