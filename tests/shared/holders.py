"""Processes that hold leases in all languages, and what they were seen to do."""

import os
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LIBRARY = ROOT / "target/release"
BINARY = ROOT / "target/shared/holder"
COMMANDS = {
    "python": [sys.executable, HERE / "workers/holder.py", "threads"],
    "asyncio": [sys.executable, HERE / "workers/holder.py", "tasks"],
    "node": ["node", HERE / "workers/holder.mjs"],
    "ruby": ["ruby", "-I", ROOT / "packages/ruby/lib", HERE / "workers/holder.rb"],
    # Built by scripts/build-go.sh and scripts/build-kotlin.sh.
    "go": [ROOT / "target/shared/go-holder"],
    "kotlin": [ROOT / "target/shared/kotlin-holder"],
    "c": [BINARY],
}
KILLED = "killed"


def build():
    """Compile the holder in C against the built library."""
    folder = BINARY.parent
    folder.mkdir(parents=True, exist_ok=True)
    # By the name under which it is installed.
    shared = folder / "libpaddlegate.so.0"
    shared.unlink(missing_ok=True)
    shared.symlink_to(LIBRARY / "libpaddlegate.so")
    subprocess.run(
        [
            *(
                "cc",
                "-std=gnu99",
                "-Wall",
                "-Wextra",
                "-Werror",
                f"-I{ROOT / 'bindings/c/include'}",
            ),
            *(HERE / "workers/holder.c", "-o", BINARY, f"-L{LIBRARY}", f"-Wl,-rpath,{folder}"),
            *("-lpaddlegate", "-lpthread"),
        ],
        check=True,
    )


class Lease:
    """When a holder was inside, by the clock of the machine, in nanoseconds."""

    def __init__(self, fencing_token, ticket, entered):
        self.fencing_token = fencing_token
        self.ticket = ticket
        self.entered = entered
        self.left = None
        self.answer = None


class Holder:
    """One process; its lines are read as they come."""

    def __init__(self, language, url, name, *numbers):
        self.language = language
        self.leases = []
        self._process = subprocess.Popen(
            [*COMMANDS[language], name, *map(str, numbers)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PADDLEGATE_URL": url},
        )
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def kill(self):
        """End it without a chance to tidy up; it was inside at most until now."""
        self._process.kill()
        self._process.wait()
        self._reading.join()
        self._process.stdout.close()
        now = time.monotonic_ns()
        for lease in self.leases:
            lease.left = lease.left or now
            lease.answer = lease.answer or KILLED

    def finish(self, timeout):
        """Wait for its end, which must be a good one."""
        code = self._process.wait(timeout=timeout)
        self._reading.join()
        self._process.stdout.close()
        assert code == 0, f"{self.language} ended with {code}"

    def send_signal(self, number):
        self._process.send_signal(number)

    @property
    def ended(self):
        return self._process.poll() is not None

    def _read(self):
        inside = {}
        for line in self._process.stdout:
            what, fencing_token, *rest = line.split()
            if what == "enter":
                inside[fencing_token] = Lease(int(fencing_token), int(rest[0]), int(rest[1]))
                self.leases.append(inside[fencing_token])
            elif what == "leave":
                inside[fencing_token].left = int(rest[0])
            else:
                inside.pop(fencing_token).answer = rest[0]


def limited(leases, lock_ms):
    """End the leases at their time: whoever was held up beyond it was no holder any more."""
    # A fencing token is when a lease was granted, by the clock of the machine's calendar.
    behind = time.time_ns() - time.monotonic_ns()
    for lease in leases:
        lease.left = min(lease.left, lease.fencing_token * 1000 + lock_ms * 1_000_000 - behind)
    return [lease for lease in leases if lease.entered < lease.left]


def most_at_once(leases):
    """How many were inside together at most; who leaves just when another enters is outside."""
    moves = sorted(
        [(lease.left, -1) for lease in leases] + [(lease.entered, 1) for lease in leases]
    )
    most = inside = 0
    for _, move in moves:
        inside += move
        most = max(most, inside)
    return most


def inversions(leases):
    """How often one that came later to the queue was let in sooner, by the order of the fences."""
    numbers = [
        lease.ticket
        for lease in sorted(leases, key=lambda lease: lease.fencing_token)
        if lease.ticket
    ]
    return sum(later < sooner for sooner, later in pairwise(numbers))
