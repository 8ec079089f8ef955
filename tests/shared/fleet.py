"""The worker processes and the lines they are spoken to with.

Each line is a JSON object, `{"do": verb, ...}`, and is answered by one line, `{"value": ...}` or
`{"error": {"class", "may_have_counted", "argument"}}`. The verbs, in the order of their use:

    open        url, timeout (seconds); now_us: with a test clock at that time
    set_clock   now_us
    limiter     as (what later lines call it), name, limits (tuples as in the packages)
    try_acquire peek allow   on; cost, estimate as they are there
    acquire     on; cost, estimate, wait_timeout (seconds)
    correct     on, permit, actual
    reset       on
    hammer      see hammer.py

A decision is an object of allowed, limit, remaining, retry_us, reset_us, reason, at_us, permit.
"""

import json
import queue
import subprocess
import sys
import threading
from pathlib import Path

HERE = Path(__file__).parent
RUBY_LIBRARY = HERE.parents[1] / "packages/ruby/lib"
# Built by scripts/build-go.sh and scripts/build-kotlin.sh.
GO_WORKER = HERE.parents[1] / "target/shared/go-worker"
KOTLIN_WORKER = HERE.parents[1] / "target/shared/kotlin-worker"
LANGUAGES = {
    "python": [sys.executable, "-W", "error", HERE / "workers/threads.py"],
    "asyncio": [sys.executable, "-W", "error", HERE / "workers/tasks.py"],
    "node": ["node", HERE / "workers/worker.mjs"],
    "ruby": ["ruby", "-w", "-I", RUBY_LIBRARY, HERE / "workers/worker.rb"],
    "go": [GO_WORKER],
    "kotlin": [KOTLIN_WORKER],
}
UNAVAILABLE = {
    "python": "UnavailableError",
    "asyncio": "UnavailableError",
    "node": "UnavailableError",
    "ruby": "Paddlegate::UnavailableError",
    "go": "UnavailableError",
    "kotlin": "UnavailableException",
}


class Fleet(dict):
    """Workers by language, ended together."""

    def __init__(self, commands):
        super().__init__({language: Worker(command) for language, command in commands.items()})

    def ask_all(self, do, **arguments):
        """Send the same line to all and then collect the answers, so that they work at one time."""
        for worker in self.values():
            worker.send(do, **arguments)
        return {language: worker.receive() for language, worker in self.items()}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for worker in self.values():
            worker.end()


class Worker:
    """One process. A worker that dies or is silent for a minute fails the test."""

    def __init__(self, command):
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._answers = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, do, **arguments):
        print(json.dumps({"do": do, **arguments}), file=self._process.stdin, flush=True)

    def receive(self):
        """Give the value, or raise the error as `WorkerError`."""
        answer = self._answers.get(timeout=60)
        assert answer, "the worker has died"
        if error := answer.get("error"):
            raise WorkerError(error)
        return answer["value"]

    def ask(self, do, **arguments):
        self.send(do, **arguments)
        return self.receive()

    def end(self):
        self._process.stdin.close()
        try:
            assert self._process.wait(timeout=10) == 0
        finally:
            self._process.kill()
            self._process.stdout.close()

    def _read(self):
        for line in self._process.stdout:
            self._answers.put(json.loads(line))
        self._answers.put(None)


class WorkerError(Exception):
    """What a package raised in a worker."""

    def __init__(self, error):
        super().__init__(error)
        self.name = error["class"]
        self.may_have_counted = error["may_have_counted"]
