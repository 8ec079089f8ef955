"""Three servers on a Redis Cluster of three, under load, one of each killed.

The node comes back with its data, since it writes them before it answers. PADDLEGATE_SEED repeats
the numbers of a run.
"""

from __future__ import annotations

import dataclasses
import http.client
import json
import os
import pathlib
import random
import shutil
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from client import Client
from conftest import Served

SOAK = bool(os.environ.get("PADDLEGATE_SOAK"))
ROUNDS = 10 if SOAK else 1
CALLERS = 6
# So low that callers reach them.
BUCKET, WINDOW = 40, 3
SECOND = 1.0


class Node:
    """A node of the cluster, which can be killed and started again."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        folder.mkdir()
        for _ in range(20):
            self.port = random.SystemRandom().randrange(20_000, 30_000)
            self.start()
            if self.answers("PING", "PONG"):
                return
            self.kill()
        raise AssertionError((folder / "log").read_text())

    def start(self) -> None:
        """Start it with what it has written."""
        options = {
            "port": self.port,
            "bind": "127.0.0.1",
            "dir": self.folder,
            "logfile": "log",
            "save": "",
            "appendonly": "yes",
            "appendfsync": "always",
            "cluster-enabled": "yes",
            "cluster-node-timeout": 2000,
            "cluster-require-full-coverage": "no",
        }
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        self.process = subprocess.Popen(["redis-server", *words], stdout=subprocess.DEVNULL)

    def kill(self) -> None:
        """End it as a loss of power does."""
        self.process.kill()
        self.process.wait(60)

    def ask(self, *words: str) -> str:
        """Return what redis-cli prints."""
        command = ["redis-cli", "-p", str(self.port), *words]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=False
        ).stdout

    def answers(self, word: str, expected: str) -> bool:
        """Wait for an answer, unless the process ends."""
        while self.process.poll() is None:
            if expected in self.ask(*word.split()):
                return True
            time.sleep(0.05)
        return False


@pytest.fixture
def cluster(tmp_path: pathlib.Path) -> Iterator[list[Node]]:
    """Three masters that have all slots."""
    nodes: list[Node] = []
    try:
        for i in range(3):
            nodes.append(Node(tmp_path / f"node{i}"))  # noqa: PERF401 those that started are ended
        addresses = [f"127.0.0.1:{node.port}" for node in nodes]
        create = ["redis-cli", "--cluster", "create", *addresses, "--cluster-yes"]
        subprocess.run(create, check=True, capture_output=True, timeout=120)
        for node in nodes:
            assert node.answers("CLUSTER INFO", "cluster_state:ok")
        yield nodes
    finally:
        for node in nodes:
            node.kill()
        shutil.rmtree(tmp_path, ignore_errors=True)


@dataclasses.dataclass(frozen=True)
class Call:
    """What a caller saw, by its own clock.

    'granted' or 'refused'; of a server without its node 'failed', or 'unknown' when it may have
    been charged; 'away' when no server listened, 'lost' when it died meanwhile.
    """

    limiter: str
    sent: float
    received: float
    outcome: str


class Load:
    """Callers that ask random servers for random limiters until they are told to stop."""

    def __init__(self, urls: list[str], names: list[str], seed: int) -> None:
        self.urls = urls
        self.names = names
        self.calls: list[Call] = []
        self.stopped = threading.Event()
        self.threads = [
            threading.Thread(target=self.call, args=(random.Random(seed + i),))
            for i in range(CALLERS)
        ]
        for thread in self.threads:
            thread.start()

    def call(self, draw: random.Random) -> None:
        """Ask again and again, on connections that are kept."""
        connections: dict[str, http.client.HTTPConnection] = {}
        while not self.stopped.is_set():
            url, name = draw.choice(self.urls), draw.choice(self.names)
            connection = connections.setdefault(
                url, http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
            )
            sent = time.monotonic()
            try:
                connection.request("POST", f"/v1/limiters/{name}/acquire")
                response = connection.getresponse()
                answer = json.load(response)
            except (OSError, http.client.HTTPException, ValueError) as error:
                connections.pop(url).close()
                outcome = "away" if isinstance(error, ConnectionRefusedError) else "lost"
            else:
                if response.status == 200:
                    outcome = "granted" if answer["allowed"] else "refused"
                else:
                    assert response.status == 503, answer
                    outcome = "unknown" if answer["may_have_counted"] else "failed"
            self.calls.append(Call(name, sent, time.monotonic(), outcome))
            # Callers that fail at once must not keep the machine from what makes them work again.
            time.sleep(0.05 if outcome not in {"granted", "refused"} else 0.002)

    def until(self, done: object, *arguments: object) -> None:
        """Wait for a condition on the calls from now on."""
        first = len(self.calls)
        while not done(self.calls[first:], *arguments):  # type: ignore[operator]
            assert all(thread.is_alive() for thread in self.threads), "a caller has ended"
            time.sleep(0.02)

    def stop(self) -> list[Call]:
        """End the callers and return what they saw."""
        self.stopped.set()
        for thread in self.threads:
            thread.join(120)
            assert not thread.is_alive()
        return self.calls


def each_decides(calls: list[Call], names: list[str]) -> bool:
    """Whether each limiter has decided five calls."""
    decided = Counter(call.limiter for call in calls if call.outcome in {"granted", "refused"})
    return all(decided[name] >= 5 for name in names)


def some_fail_and_others_decide(calls: list[Call]) -> bool:
    """Whether limiters of one node fail while others decide."""
    decided = {call.limiter for call in calls if call.outcome in {"granted", "refused"}}
    failed = {call.limiter for call in calls if call.outcome in {"failed", "unknown"}}
    return len(decided) >= 5 and len(failed) >= 3 and len(calls) >= 100


def most_in_a_window(calls: list[Call]) -> int:
    """The most grants that were certainly made within a second: sent and answered in it."""
    granted = sorted((call for call in calls if call.outcome == "granted"), key=lambda it: it.sent)
    most = 0
    for i, first in enumerate(granted):
        end = first.sent + SECOND
        within = 0
        for call in granted[i:]:
            if call.sent > end:
                break
            within += call.received <= end
        most = max(most, within)
    return most


def test_the_checker_finds_a_window_that_is_exceeded() -> None:
    """Calls that may have been decided outside of the second do not count, others do."""
    at = [Call("a", i * 0.1, i * 0.1 + 0.05, "granted") for i in range(20)]
    assert most_in_a_window(at) == 10
    late = [dataclasses.replace(call, received=call.sent + 2) for call in at]
    assert most_in_a_window(late) == 0
    assert most_in_a_window([dataclasses.replace(call, outcome="unknown") for call in at]) == 0


@pytest.mark.timeout(900 if SOAK else 170)
def test_a_server_and_a_node_die_under_load(cluster: list[Node], tmp_path: pathlib.Path) -> None:
    """No limit is exceeded, no grant forgotten, and all limiters decide again."""
    seed = int(os.environ.get("PADDLEGATE_SEED") or random.SystemRandom().randrange(2**32))
    print(f"PADDLEGATE_SEED={seed}")
    draw = random.Random(seed)
    limits = {f"bucket-{i}": {"bucket": {"limit": BUCKET, "per": "day"}} for i in range(12)}
    limits |= {f"window-{i}": {"window": {"limit": WINDOW, "per": "second"}} for i in range(12)}
    path = tmp_path / "limits.json"
    path.write_text(json.dumps({"limiters": limits}))
    url = "redis://" + ",".join(f"127.0.0.1:{node.port}" for node in cluster)
    servers = [Served("--redis", url, "--limits", str(path)) for _ in range(3)]
    names = list(limits)
    load = Load([server.url for server in servers], names, seed)
    try:
        load.until(each_decides, names)
        for _ in range(ROUNDS):
            dead = draw.randrange(3)
            servers[dead].process.kill()
            servers[dead].process.communicate(timeout=60)
            load.until(each_decides, names)
            node = draw.choice(cluster)
            node.kill()
            load.until(some_fail_and_others_decide)
            node.start()
            assert node.answers("PING", "PONG")
            load.until(each_decides, names)
            servers[dead] = Served("--redis", url, "--limits", str(path))
            load.urls[dead] = servers[dead].url
            load.until(each_decides, names)
    finally:
        calls = load.stop()
    seen = Counter(call.outcome for call in calls)
    print(f"{len(calls)} calls: {dict(seen)}")
    client = Client(servers[0].url)
    for name in names:
        of_limiter = [call for call in calls if call.limiter == name]
        outcomes = Counter(call.outcome for call in of_limiter)
        if name.startswith("window"):
            assert most_in_a_window(of_limiter) <= WINDOW, name
            continue
        taken = client.inspect(name)["limits"][0]["taken"]
        assert outcomes["granted"] <= taken <= BUCKET, f"{name}: a grant was forgotten, {outcomes}"
        assert taken <= sum(outcomes[it] for it in ("granted", "unknown", "lost")), (
            f"{name}: charged twice"
        )
    assert min(seen["granted"], seen["refused"]) > 200
    assert seen["unknown"] + seen["failed"] > 0
    for server in servers:
        assert server.stop() == 0
