# mypy: allow-untyped-calls
import asyncio
import os
import shutil
import socket
import subprocess
import sys
import time
import uuid

import pytest
import uvloop
from paddlegate import Paddlegate

# Seconds, so that a busy machine fails no test that is not about time.
PATIENT = 20

# Newer Pythons advise against forking beside threads; that this works is what is tested.
OPTIONS = ["-X", "faulthandler", "-W", "error", "-W", "ignore:This process:DeprecationWarning"]


@pytest.fixture(scope="session")
def url():
    return os.environ["PADDLEGATE_TEST_URL"]


@pytest.fixture
def redis(url):
    return Paddlegate(url, timeout=PATIENT)


@pytest.fixture(params=["memory", "redis"])
def store(request, url):
    return Paddlegate("memory://" if request.param == "memory" else url, timeout=PATIENT)


@pytest.fixture
def name(request):
    return f"{request.node.name}-{uuid.uuid4().hex}"


@pytest.fixture(params=[asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def run(request):
    """Run a coroutine on a new event loop."""
    return request.param


@pytest.fixture
def until():
    """Wait for a condition."""

    def until(condition):
        for _ in range(20 * PATIENT):
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
            timeout=50,
        )
        if ok:
            assert process.stderr == ""
            assert process.returncode == 0
        return process

    return run


class Server:
    """A Redis that can be stopped and started at the same address."""

    def __init__(self, directory):
        self.directory = directory
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}"
        self.process = None

    def start(self, *more):
        options = ["--port", str(self.port), "--save", "", "--dir", str(self.directory), *more]
        program = shutil.which("redis-server")
        assert program
        self.process = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL)
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise TimeoutError("redis-server did not start")

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
