"""Prints what the bench measured beside its aims, from the lines of JSON on standard input.

Fails if a row was not measured, and only then.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterable
from statistics import median

from aim import (
    Aim,
    at_least,
    at_least_per_second,
    at_most,
    at_most_bytes,
    at_most_microseconds,
    faster,
)

MIN_ROUNDS = 7
ONE_CORE, APART = ("one core",), ("apart",)  # Where client and server run.
BOTH = ONE_CORE + APART
HERE = ("in process",)
SERVER = ("server",)
LIBRARY, SCRIPT, BARE = "redis-py, hiredis", "minimal script", "bare axum handler"

# Title, name of the reference, case and variant of the lines, places, aim.
ROWS: list[tuple[str, str, tuple[str, str], tuple[str, ...], Aim | None]] = [
    ("Python, one caller", LIBRARY, ("python", "one"), ONE_CORE, at_most(0.60)),
    ("Python, one caller", LIBRARY, ("python", "one"), APART, at_most(0.80)),
    ("Python asyncio, one", LIBRARY, ("python asyncio", "one"), ONE_CORE, at_most(0.50)),
    ("Python asyncio, one", LIBRARY, ("python asyncio", "one"), APART, at_most(0.85)),
    ("Python asyncio, 64 at once", LIBRARY, ("python asyncio", "many"), ONE_CORE, at_least(5)),
    ("Python asyncio, 64 at once", LIBRARY, ("python asyncio", "many"), APART, at_least(4)),
    ("Ruby, one caller", "redis-rb", ("ruby", "one"), BOTH, at_most(0.95)),
    ("Node, one", "ioredis", ("node", "one"), BOTH, at_most(1.00)),
    ("Node, 64 at once", "ioredis", ("node", "many"), ONE_CORE, at_least(1.3)),
    ("Node, 64 at once", "ioredis", ("node", "many"), APART, at_least(1.1)),
    ("Rust, one", "redis-rs", ("rust", "one"), BOTH, at_most(1.05)),
    ("Rust, 64 at once", "redis-rs", ("rust", "many"), BOTH, at_least(0.90)),
    # What no client can do without: the bytes of the reference on a socket.
    ("Rust, blocking, one", "a socket", ("rust", "socket"), BOTH, None),
    ("Go, one", "go-redis", ("go", "one"), BOTH, at_most(1.10)),
    ("Go, 64 at once", "go-redis", ("go", "many"), BOTH, None),
    ("Go, one", "redis_rate", ("go", "redis_rate"), BOTH, at_most(1.10)),
    ("Go, one", "ulule/limiter", ("go", "ulule"), BOTH, at_most(1.20)),
    ("Go, one", "throttled", ("go", "throttled"), BOTH, at_most(0.80)),
    # A call into a library through JNA.
    ("Java, one", "Jedis", ("kotlin", "one"), BOTH, None),
    ("a call by key, Rust", "kept limiter", ("rust", "keyed"), BOTH, at_most(1.10)),
    ("client CPU, Python", LIBRARY, ("python", "cpu"), BOTH, at_most(0.60)),
    ("client CPU, Ruby", "redis-rb", ("ruby", "cpu"), BOTH, at_most(0.60)),
    ("three limits in one call", "three calls", ("composite", "three"), BOTH, at_most(0.38)),
    ("memory, Rust, one key", "governor", ("rust memory", "one"), HERE, at_most(1.00)),
    ("memory, Rust, 100,000 keys", "governor", ("rust memory", "many"), HERE, at_most(1.00)),
    ("memory, Rust, looked up", "governor", ("rust memory", "many by name"), HERE, at_most(1.20)),
    ("memory, Rust, by key", "governor", ("rust memory", "keyed"), HERE, None),
    ("memory, Python", "limits", ("python memory", "limits"), HERE, faster(10)),
    ("memory, Python", "a dict by hand", ("python memory", "by hand"), HERE, at_most(0.90)),
    ("memory, Node", "rate-limiter-flexible", ("node memory", "allow"), HERE, faster(2)),
    ("memory, Node, allowSync", "a Map by hand", ("node memory", "by hand"), HERE, at_most(1.50)),
    ("memory, Ruby", "a Hash by hand", ("ruby memory", "by hand"), HERE, at_most(2.50)),
    ("memory, Go", "ulule/limiter", ("go memory", "ulule"), HERE, None),
    ("memory, Go", "throttled", ("go memory", "throttled"), HERE, None),
    ("memory, Java", "bucket4j", ("kotlin memory", "bucket4j"), HERE, None),
    # `paddlegate serve` with limits in memory, on one core.
    ("HTTP, 64 connections", BARE, ("http", "wall"), APART, at_least_per_second(40)),
    ("HTTP, a CPU second of it", BARE, ("http", "cpu"), APART, at_least_per_second(40)),
    ("HTTP, its own time, p99", "round trip", ("http", "own"), APART, at_most_microseconds(1_000)),
    ("a call by key, Python", "kept limiter", ("python memory", "keyed"), HERE, at_most(1.10)),
    ("a call by key, Node", "kept limiter", ("node memory", "keyed"), HERE, at_most(1.10)),
    ("a call by key, Ruby", "kept limiter", ("ruby memory", "keyed"), HERE, at_most(1.10)),
    ("script, leaky granted", SCRIPT, ("script", "leaky granted"), SERVER, at_most(1.25)),
    ("script, leaky refused", SCRIPT, ("script", "leaky refused"), SERVER, at_most(1.25)),
    ("script, bucket granted", SCRIPT, ("script", "bucket granted"), SERVER, at_most(1.25)),
    ("script, bucket refused", SCRIPT, ("script", "bucket refused"), SERVER, at_most(1.25)),
    ("script, window granted", SCRIPT, ("script", "window granted"), SERVER, at_most(1.60)),
    ("script, window refused", SCRIPT, ("script", "window refused"), SERVER, at_most(1.60)),
    # These do more than any minimal script.
    ("script, points with permit", SCRIPT, ("script", "points granted"), SERVER, at_most(2.60)),
    ("script, three limits", SCRIPT, ("script", "policy granted"), SERVER, at_most(2.20)),
    ("script, lease granted", SCRIPT, ("script", "lease granted"), SERVER, None),
    ("script, lease released", SCRIPT, ("script", "lease released"), SERVER, None),
    ("bytes, leaky key", SCRIPT, ("bytes", "leaky"), SERVER, at_most_bytes(100)),
    ("bytes, one of 10,000 keys", SCRIPT, ("bytes", "keyed"), SERVER, at_most_bytes(100)),
    ("bytes, window event", "limits", ("bytes", "event in list"), SERVER, at_most_bytes(12)),
    ("bytes, window event", "sorted set", ("bytes", "event in set"), SERVER, at_most_bytes(12)),
]

HEAD = ("case", "where", "reference", "", "ours", "ratio", "aim", "met?")
WORDS = {0, 1, 3, 6, 7}  # Columns that are not numbers.


def table(lines: Iterable[str]) -> tuple[list[tuple[str, ...]], list[str]]:
    """The rows to print, and the names of those that were not measured."""
    measured = defaultdict(list)
    for line in map(json.loads, lines):
        measured[line["case"], line["variant"], line["placement"]].append(line)

    rows, missing = [], []
    for title, reference, (case, variant), places, aim in ROWS:
        for place in places:
            found = measured[case, variant, place]
            if is_enough(found):
                rows.append((title, place, *figures(reference, found, aim)))
            else:
                text = aim.text if aim else ""
                rows.append((title, place, "", reference, "", "", text, "not measured"))
                missing.append(f"{title}, {place}")
    return rows, missing


def is_enough(found: list[dict]) -> bool:
    # Bytes are counted, not timed: once will do.
    return len(found) >= MIN_ROUNDS or (bool(found) and found[0]["unit"] == "bytes")


def figures(name: str, found: list[dict], aim: Aim | None) -> tuple[str, ...]:
    reference, ours = (median(line[side] for line in found) for side in ("reference", "ours"))
    unit = found[0]["unit"]
    ratio = f"{ours / reference:.3g} x"
    if aim and aim.inverse:
        ratio = f"{reference / ours:.3g} x faster"
    verdict = (aim.text, "yes" if aim.is_met(reference, ours) else "NO") if aim else ("", "")
    return (shown(reference, unit), name, shown(ours, unit), ratio, *verdict)


def shown(figure: float, unit: str) -> str:
    return f"{figure:.3g} {unit}" if figure < 100 else f"{figure:.0f} {unit}"


def text(rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[i]) for row in [HEAD, *rows]) for i in range(len(HEAD))]

    def line(row: tuple[str, ...]) -> str:
        cells = (
            cell.ljust(width) if i in WORDS else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return "  ".join(cells).rstrip()

    return "\n".join([line(HEAD), line(tuple("-" * width for width in widths)), *map(line, rows)])


def markdown(rows: list[tuple[str, ...]]) -> str:
    ruler = tuple("---" if i in WORDS else "--:" for i in range(len(HEAD)))
    return "\n".join(f"| {' | '.join(row)} |" for row in [HEAD, ruler, *rows])


def main() -> int:
    rows, missing = table(sys.stdin)
    print(markdown(rows) if "--markdown" in sys.argv else text(rows))
    verdicts = [row[-1] for row in rows]
    print(f"\nAims met: {verdicts.count('yes')}, not met: {verdicts.count('NO')}.")
    if missing:
        print(f"not measured: {'; '.join(missing)}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
