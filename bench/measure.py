"""Lets a reference and ours take turns, and prints what each round measured as a line of JSON."""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping

ROUNDS = int(os.environ["BENCH_ROUNDS"])
SECONDS = float(os.environ["BENCH_SECONDS"])
PLACEMENT = os.environ["BENCH_PLACEMENT"]

# Makes so many calls.
Contestant = Callable[[int], object]

# From seconds per call.
UNITS = {
    "ns": lambda seconds: seconds * 1e9,
    "us": lambda seconds: seconds * 1e6,
    "k/s": lambda seconds: 1e-3 / seconds,
}


def compare(
    case: str,
    variant: str,
    unit: str,
    reference: Contestant,
    ours: Contestant,
    *,
    cpu: str | None = None,
) -> None:
    """Measure the time of a call; as the variant `cpu` also the processor time of this process."""
    sides = [(side, calls_per_round(side)) for side in (reference, ours)]
    for _ in range(ROUNDS):
        turns = [turn(*side) for side in sides]
        emit(case, variant, unit, *(UNITS[unit](wall) for wall, _ in turns))
        if cpu:
            emit(case, cpu, "us", *(UNITS["us"](used) for _, used in turns))


def fastest(forms: Mapping[str, Contestant]) -> Contestant:
    """Choose the fastest form of a reference, so that it competes at its best."""
    calls = {name: calls_per_round(form) for name, form in forms.items()}
    times = {name: min(turn(forms[name], calls[name])[0] for _ in range(3)) for name in forms}
    best = min(times, key=times.__getitem__)
    shown = ", ".join(f"{name} {UNITS['us'](times[name]):.1f} us" for name in forms)
    print(f"       the reference is {best} ({shown})", file=sys.stderr)
    return forms[best]


def emit(case: str, variant: str, unit: str, reference: float, ours: float) -> None:
    line = {"case": case, "variant": variant, "placement": PLACEMENT}
    print(json.dumps({**line, "reference": reference, "ours": ours, "unit": unit}), flush=True)


def turn(side: Contestant, calls: int) -> tuple[float, float]:
    """Wall and processor seconds of one call."""
    wall, used = time.perf_counter(), time.process_time()
    side(calls)
    return (time.perf_counter() - wall) / calls, (time.process_time() - used) / calls


def calls_per_round(side: Contestant) -> int:
    side(64)  # Connects and loads the script.
    calls = 64
    while turn(side, calls)[0] * calls < SECONDS * 0.7:
        calls *= 2
    return calls
