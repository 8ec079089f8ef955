"""`paddlegate serve` as a process of its own."""

import json
import os
import re
import subprocess
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import redis

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ROOT / "target/release/paddlegate"

# Saturday, 2026-11-21 12:00:00 UTC.
NOON_US = 1_795_262_400_000_000

# A database of the tests' own Redis that nothing else uses.
DATABASE = 9


def empty_store():
    """Return the URL of an empty database."""
    parts = urlsplit(os.environ["PADDLEGATE_TEST_URL"])
    url = parts._replace(path=f"/{DATABASE}").geturl()
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    return url


class Clock:
    """The clock of servers for tests, which all move together."""

    def __init__(self):
        self.now_us, self.servers = NOON_US, []

    def advance(self, seconds):
        micros = round(seconds * 1e6)
        self.now_us += micros
        for server in self.servers:
            body = json.dumps({"micros": micros}).encode()
            url = f"http://127.0.0.1:{server.port}/ojs/v1/test-clock/advance"
            with urllib.request.urlopen(urllib.request.Request(url, body, method="POST")) as answer:
                assert json.load(answer)["now_us"] == self.now_us


class Server:
    """A server; by the clock of its store unless it has one that tests move."""

    def __init__(self, url=None, clock=None):
        command = [COMMAND, "serve", "--ojs", "--listen", "127.0.0.1:0"]
        if url is not None:
            command += ["--redis", url]
        if clock is not None:
            command += ["--test-clock", str(clock.now_us)]
            clock.servers.append(self)
        self.url, self.clock = url, clock
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self._process.stdout.readline()
        self.port = int(re.fullmatch(r"listening on http://127\.0\.0\.1:(\d+)\n", line)[1])

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.kill()

    def kill(self):
        """End it as a machine ends that loses its power."""
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()
