"""A call ends within its time-out, whatever the server does, in each language.

The states are those of server.py. A client reads lines: `open URL TIMEOUT_MS`, answered by
`opened`, and `call COUNT`, that many calls at the same time, answered by a line of pairs: the
milliseconds that a call took and what came of it, `answered`, `unavailable` or the name of another
error.

`make test` asks that each call ends, and how, in a few states in all languages and in the others in
C and asyncio. `make soak` (PADDLEGATE_SOAK=1) asks in all states that it ends in time.
"""

import os
import queue
import signal
import statistics
import subprocess
import sys
import threading
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

HERE = Path(__file__).parent
RUBY_LIBRARY = HERE.parents[1] / "packages/ruby/lib"
CLIENTS = {
    "c": [os.environ["PADDLEGATE_C_CLIENT"]],
    "python": [sys.executable, "-W", "error", HERE / "clients/client.py"],
    "asyncio": [sys.executable, "-W", "error", HERE / "clients/client.py", "asyncio"],
    "node": ["node", HERE / "clients/client.mjs"],
    "ruby": ["ruby", "-w", "-I", RUBY_LIBRARY, HERE / "clients/client.rb"],
    # Built by scripts/build-go.sh and scripts/build-kotlin.sh.
    "go": [HERE.parents[1] / "target/shared/go-client"],
    "kotlin": [HERE.parents[1] / "target/shared/kotlin-client"],
}
# State of the table: state of the server, what may come of a call.
NEVER, SOMETIMES = {"unavailable"}, {"unavailable", "answered"}
STATES = {
    "silent": ("silent", NEVER),
    "silent, with signals": ("silent", NEVER),
    "dribbling": ("dribbling", NEVER),
    "dribbling, with signals": ("dribbling", NEVER),
    "TCP does not accept": ("tcp", NEVER),
    "Unix does not accept": ("unix", NEVER),
    "dead connections": ("dead", SOMETIMES),
    "writes are blocked": ("blocked", NEVER),
    "TLS handshake": ("tls", NEVER),
    "slot on the move": ("tryagain", NEVER),
    "nodes name each other": ("moved", NEVER),
    "stopped": ("stopped", NEVER),
    "answering, with signals": ("answering", SOMETIMES),
}
SOAK = bool(os.environ.get("PADDLEGATE_SOAK"))
# Core bounds a call in all states alike; what a language adds are its signals, its threads and its
# pool of connections.
OF_ALL = {"silent, with signals", "dead connections", "answering, with signals"}
OF_CORE = {"c", "asyncio"}
TIMEOUT, SLACK = 100, 50  # milliseconds
POOLED = 8


class Process:
    """A program that is told lines and answers each with a line."""

    def __init__(self, command):
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def ask(self, line):
        print(line, file=self._process.stdin, flush=True)
        return self.heard()

    def heard(self):
        line = self._lines.get(timeout=20)
        assert line, "the program has ended"
        return line.strip()

    def calls(self, count=1):
        """Give (milliseconds, what came of it) of calls at the same time."""
        words = self.ask(f"call {count}").split()
        return list(zip(map(float, words[::2]), words[1::2], strict=True))

    @contextmanager
    def signals(self):
        """Send a signal every 5 ms."""
        over = threading.Event()

        def send():
            while not over.wait(0.005):
                self._process.send_signal(signal.SIGUSR2)

        thread = threading.Thread(target=send)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def end(self):
        self._process.stdin.close()
        assert self._process.wait(timeout=20) == 0

    def kill(self):
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()

    def _read(self):
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)


@contextmanager
def running(command):
    process = Process(command)
    try:
        yield process
        process.end()
    finally:
        process.kill()


def warmed_up(caller, server):
    """Have calls answered at the same time, over several connections, then let the state begin."""
    for _ in range(50):
        if all(what == "answered" for _, what in caller.calls(POOLED)):
            assert server.ask("begin") == "begun"
            return
    pytest.fail("a sound server does not answer")


@pytest.mark.parametrize(
    ("state", "client"),
    [
        (state, client)
        for state in STATES
        for client in CLIENTS
        if SOAK or state in OF_ALL or client in OF_CORE
    ],
)
def test_each_call_ends(state, client, record_property):
    kind, outcomes = STATES[state]
    # Where a call may be answered, one of them must be.
    count = 50 if SOAK else 3 if outcomes == NEVER else 10
    with (
        running(CLIENTS[client]) as caller,
        running([sys.executable, HERE / "server.py", kind]) as server,
    ):
        assert caller.ask(f"open {server.heard()} {TIMEOUT}") == "opened"
        if kind in ("dead", "stopped"):
            warmed_up(caller, server)
        with caller.signals() if "signals" in state else nullcontext():
            calls = [call for _ in range(count) for call in caller.calls()]
    took = [ms for ms, _ in calls]
    cell = f"{statistics.median(took):.0f} / {max(took):.0f}"
    record_property("cell", (state, client, cell))
    assert {what for _, what in calls} <= outcomes
    assert outcomes == NEVER or ("answered" in {what for _, what in calls})
    if SOAK:
        late = sum(ms > TIMEOUT + SLACK for ms in took)
        assert late <= 1, f"{late} of {count} calls took more than {TIMEOUT + SLACK} ms: {took}"
