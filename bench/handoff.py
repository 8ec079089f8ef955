"""From a release in one process to the next holder's start in another, by pairs of workers.

Each worker takes the one slot, holds it for 3 ms and gives it back, so that the other waits
meanwhile. A release begins when the work is done, and a start is when the other's work begins;
the clock is the machine's. A figure is the median over the repetitions of a percentile.
"""

import os
import statistics
import subprocess
import sys
import uuid
from itertools import pairwise

HOLD_MS = 3
ROUNDS = int(os.environ.get("BENCH_HANDOFFS", "100"))
REPETITIONS = int(os.environ.get("BENCH_REPETITIONS", "7"))
LOCK_MS = 30_000

Pair = tuple[str, str]

HOLDERS = {
    "Rust": ["target/release/paddlegate-bench", "handoff"],
    "Python": [sys.executable, "tests/shared/workers/holder.py", "threads"],
    "asyncio": [sys.executable, "tests/shared/workers/holder.py", "tasks"],
    "Node": ["node", "tests/shared/workers/holder.mjs"],
    "Ruby": ["ruby", "-Ipackages/ruby/lib", "tests/shared/workers/holder.rb"],
}
PEERS = {
    "bottleneck": ["node", "bench/handoff.mjs", "bottleneck"],
    "redis-semaphore": ["node", "bench/handoff.mjs", "redis-semaphore"],
    "redis-rate-limiters": [sys.executable, "bench/handoff_peers.py", "redis-rate-limiters"],
    "self-limiters": [sys.executable, "bench/handoff_peers.py", "self-limiters"],
    "BLPOP by redis-py": [sys.executable, "bench/handoff_peers.py", "blpop"],
}
PAIRS: list[Pair] = [
    ("Rust", "Rust"),
    ("Rust", "Python"),
    ("Python", "Node"),
    ("Node", "Ruby"),
    ("Ruby", "asyncio"),
    ("Node", "Node"),
    ("Python", "Python"),
    *((peer, peer) for peer in PEERS),
]


def command(worker: str, name: str) -> list[str]:
    if worker in PEERS:
        return [*PEERS[worker], name, str(HOLD_MS), str(ROUNDS)]
    return [*HOLDERS[worker], name, "1", str(LOCK_MS), str(HOLD_MS), str(ROUNDS), "1"]


def handoffs(pair: Pair) -> list[int]:
    """Run a pair once and give the nanoseconds of each hand-off from one to the other."""
    name = f"handoff-{uuid.uuid4().hex}"
    started = [
        subprocess.Popen(command(worker, name), stdout=subprocess.PIPE, text=True)
        for worker in pair
    ]
    leases = []
    for number, process in enumerate(started):
        output, _ = process.communicate(timeout=300)
        if process.returncode != 0:
            raise SystemExit(f"bench: a worker failed: pair={pair}")
        lines = [line.split() for line in output.splitlines()]
        entries = [int(line[3]) for line in lines if line[0] == "enter"]
        releases = [int(line[2]) for line in lines if line[0] == "leave"]
        leases += [(*lease, number) for lease in zip(entries, releases, strict=True)]
    leases.sort()
    return [
        entered - released
        for (_, released, one), (entered, _, other) in pairwise(leases)
        if one != other
    ]


def percentile(values: list[int], share: float) -> int:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def main() -> None:
    chosen = [pair for pair in PAIRS if not sys.argv[1:] or set(pair) <= set(sys.argv[1:])]
    found: dict[Pair, list[list[int]]] = {pair: [] for pair in chosen}
    for _ in range(REPETITIONS):
        for pair in chosen:
            found[pair].append(handoffs(pair))
    print(f"{'hand-off of a slot, ms':<44}{'p50':>8}{'p99':>8}")
    for pair, repetitions in found.items():
        middle, most = (
            statistics.median(percentile(values, share) for values in repetitions) / 1e6
            for share in (0.50, 0.99)
        )
        title = pair[0] if pair[0] in PEERS else f"paddlegate, {pair[0]} and {pair[1]}"
        print(f"{title:<44}{middle:>8.2f}{most:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
