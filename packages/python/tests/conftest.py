# mypy: allow-untyped-calls
import asyncio
import contextlib
import os
import random
import shutil
import socket
import subprocess
import sys
import time
import uuid

import pytest
import redis as client
import uvloop
from paddlegate import Paddlegate, TestClock

# Seconds, so that a busy machine fails no test that is not about time.
PATIENT = 20

SOAK = os.environ.get("PADDLEGATE_SOAK") == "1"

# Newer Pythons advise against forking beside threads; that this works is what is tested.
OPTIONS = ["-X", "faulthandler", "-W", "error", "-W", "ignore:This process:DeprecationWarning"]


def pytest_configure(config):
    config.addinivalue_line("markers", "soak: run by `make soak`, since it takes long")


def pytest_collection_modifyitems(config, items):
    """Leave the tests with the marker `soak` out of a quick run."""
    long = [] if SOAK else [item for item in items if item.get_closest_marker("soak")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in set(long)]


@pytest.fixture(scope="session")
def url():
    return os.environ["PADDLEGATE_TEST_URL"]


@pytest.fixture
def redis(url):
    return Paddlegate(url, timeout=PATIENT)


@pytest.fixture(params=["memory", "redis"])
def address(request, url):
    return "memory://" if request.param == "memory" else url


@pytest.fixture
def store(address):
    return Paddlegate(address, timeout=PATIENT)


@pytest.fixture
def clock():
    return TestClock(3_600_000_000)


@pytest.fixture
def clocked(address, clock):
    """Open a store whose time is that of `clock`."""
    return Paddlegate(address, timeout=PATIENT, clock=clock)


@pytest.fixture
def name(request):
    return f"{request.node.name}-{uuid.uuid4().hex}"


LOOPS = [
    pytest.param(asyncio.run, id="asyncio"),
    pytest.param(uvloop.run, id="uvloop", marks=pytest.mark.soak),
]


@pytest.fixture(params=LOOPS)
def run(request):
    """Run a coroutine on a new event loop."""
    return request.param


@pytest.fixture
def until():
    """Wait for a condition."""

    def until(condition, seconds=100):
        for _ in range(20 * seconds):
            if condition():
                return
            time.sleep(0.05)
        raise TimeoutError("it did not come")

    return until


@pytest.fixture
def silent():
    """Give the address of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"redis://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def script():
    """Run Python code in a process of its own and give back what it wrote."""

    def run(code, *arguments, ok=True):
        process = subprocess.run(
            [sys.executable, *OPTIONS, "-c", code, *arguments],
            capture_output=True,
            text=True,
            timeout=200,
        )
        if ok:
            assert process.stderr == ""
            assert process.returncode == 0
        return process

    return run


class Server:
    """A Redis that can be stopped and started at the same address, perhaps with a file."""

    def __init__(self, directory, *file):
        self.directory = directory
        self.file = file
        self.process = None
        self.port = 0

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}"

    def start(self, *more):
        """Start it, again at its address; the first time at a port that nobody else has."""
        for _ in range(20):
            # Below those that connections take.
            port = self.port or random.randrange(10_000, 30_000)
            if self.runs_at(port, *more):
                self.port = port
                return
            self.stop()
        raise TimeoutError("redis-server did not start")

    def runs_at(self, port, *more):
        options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", *more]
        program = shutil.which("redis-server")
        assert program
        self.process = subprocess.Popen(
            [program, *self.file, *options, "--dir", str(self.directory)],
            stdout=subprocess.DEVNULL,
        )
        until = time.monotonic() + PATIENT
        while self.process.poll() is None and time.monotonic() < until:
            # It is ready when it answers, though it may ask for a password first; and another
            # server at this port has ended ours.
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as ask:
                ask.settimeout(PATIENT)
                ask.sendall(b"PING\r\n")
                if ask.recv(100)[:7] in {b"+PONG\r\n", b"-NOAUTH"}:
                    # One that could not have the port has ended by now.
                    return self.process.poll() is None and self.is_ours(port, more)
            time.sleep(0.02)
        return False

    def is_ours(self, port, more):
        assert self.process
        password = more[more.index("--requirepass") + 1] if "--requirepass" in more else None
        with client.Redis(port=port, password=password) as asking:
            return asking.info("server")["process_id"] == self.process.pid

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@pytest.fixture
def server(tmp_path):
    server = Server(tmp_path)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def another(tmp_path):
    """Make a server beside `server`, perhaps with a file; it is stopped with the test."""
    made = []

    def make(*file):
        made.append(Server(tmp_path, *file))
        return made[-1]

    yield make
    for server in made:
        server.stop()


@pytest.fixture
def sentinel(server, tmp_path):
    """Give the address of a sentinel that knows the server under the name "main"."""
    file = tmp_path / "sentinel.conf"
    file.write_text(f"sentinel monitor main 127.0.0.1 {server.port} 1\n")
    sentinel = Server(tmp_path, file)
    sentinel.start("--sentinel")
    yield f"redis+sentinel://127.0.0.1:{sentinel.port}"
    sentinel.stop()
