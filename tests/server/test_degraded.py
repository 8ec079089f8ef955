"""What programs decided without Redis: in the metrics, the statistics and on the pages."""

from __future__ import annotations

import shutil
import socket
import threading
import time
import urllib.parse
import urllib.request

import pytest
from client import Client
from conftest import Served
from paddlegate import Paddlegate, UnavailableError


class Detour:
    """A port at which the Redis of the tests answers once it is open."""

    def __init__(self, redis_url: str) -> None:
        parts = urllib.parse.urlsplit(redis_url)
        self.target = (parts.hostname or "", parts.port or 6379)
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self.listener.getsockname()[1]}"

    def open(self) -> None:
        """Begin to pass connections on."""
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        """Pass each connection on."""
        while True:
            client, _ = self.listener.accept()
            server = socket.create_connection(self.target)
            for ends in ((client, server), (server, client)):
                threading.Thread(target=self.copy, args=ends, daemon=True).start()

    @staticmethod
    def copy(source: socket.socket, target: socket.socket) -> None:
        """Copy bytes to the end."""
        with source.makefile("rb", buffering=0) as reader, target.makefile("wb", 0) as writer:
            shutil.copyfileobj(reader, writer)


def text_of(url: str) -> str:
    """Return a page."""
    with urllib.request.urlopen(url, timeout=60) as response:
        text: str = response.read().decode()
        return text


def test_decisions_without_redis_are_counted_and_marked(redis_url: str, prefix: str) -> None:
    """They reach Redis when it answers again."""
    detour = Detour(redis_url)
    name = f"{prefix}api"
    # Another program puts it into the list of limiters.
    assert Paddlegate(redis_url, timeout=30).bucket(name, 1000, "day").allow()
    store = Paddlegate(detour.url, timeout=30)
    lax = store.bucket(name, 1000, "day", on_unavailable="fail_open")
    strict = store.bucket(name, 1000, "day")
    degraded = sum(lax.try_acquire().degraded for _ in range(6))
    with pytest.raises(UnavailableError):
        strict.try_acquire()
    assert degraded == 6
    detour.open()
    deadline = time.monotonic() + 60
    while lax.try_acquire().degraded:
        degraded += 1
        assert time.monotonic() < deadline, "the store is back and not used"
        time.sleep(0.05)
    store.close()
    server = Served("--redis", redis_url)
    try:
        found = Client(server.url).statistics(name)
        assert (found["granted"], found["degraded"], found["errors"]) == (2, degraded, 1)
        assert abs(found["last_degraded"] - time.time()) < 300
        metrics = text_of(f"{server.url}/metrics")
        labels = f'paddlegate_requests_total{{limiter="{name}",result='
        assert f'{labels}"degraded"}} {degraded}\n' in metrics
        assert f'{labels}"error"}} 1\n' in metrics
        page = text_of(f"{server.url}/ui/limiters/{name}")
        assert "Degraded: a program decided without the store" in page
        assert "degraded" in text_of(f"{server.url}/ui/limiters?prefix={prefix}")
    finally:
        server.stop()
