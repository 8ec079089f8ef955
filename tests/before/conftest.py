"""Two processes of one program: with the package of an earlier commit, and with that of today."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BEFORE = Path(os.environ["PADDLEGATE_BEFORE_DIR"])
URL = os.environ["PADDLEGATE_TEST_URL"]


class Worker:
    """A process that does one call after the other."""

    def __init__(self, package):
        path = {"PYTHONPATH": str(package)} if package else {}
        self._process = subprocess.Popen(
            [sys.executable, HERE / "worker.py", URL],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **path},
        )
        self._lock = threading.Lock()

    def call(self, limiter, call, at=None, **arguments):
        """Call a limiter, which is a name and its limits, at a moment of a clock by name."""
        name, limits = limiter
        request = {"at": at, "name": name, "limits": limits, "call": call, "arguments": arguments}
        with self._lock:
            print(json.dumps(request), file=self._process.stdin, flush=True)
            answer = self._process.stdout.readline()
        assert answer, f"the process ended at {request}"
        return json.loads(answer)

    def end(self):
        self._process.stdin.close()
        self._process.wait(30)


@pytest.fixture(scope="session")
def before():
    worker = Worker(BEFORE)
    yield worker
    worker.end()


@pytest.fixture(scope="session")
def today():
    worker = Worker(None)
    yield worker
    worker.end()
