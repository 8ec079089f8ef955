"""Does what the lines of its input say with the package that it finds, and says what came of it.

worker.py URL. A line is JSON: `at`, the name of a clock of the test and microseconds on it, or null
for the real one; `name` and `limits` of the limiter, each limit as its kind and numbers; `call`, a
method with its `arguments`. The answer is a line of JSON.
"""

import dataclasses
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from paddlegate import Decision, Paddlegate, PaddlegateError, TestClock

START = 1_700_000_000_000_000
FIELDS = (
    *("status", "limit", "remaining", "retry_after", "reset_after", "reason", "label", "limiter"),
    *("at_us", "permit", "lease", "fencing_token", "ticket", "position", "ready_after"),
)

# Of each clock the store that has it, and how far it is.
clocks = {}
real = Paddlegate(sys.argv[1], timeout=30)
limiters = {}


def store_at(at):
    if at is None:
        return real
    name, micros = at
    store, clock, now = clocks.get(name) or (None, TestClock(START), 0)
    store = store or Paddlegate(sys.argv[1], timeout=30, clock=clock)
    if micros > now:
        clock.advance((micros - now) / 1e6)
    clocks[name] = store, clock, max(micros, now)
    return store


def shown(value):
    if isinstance(value, Decision):
        return {field: getattr(value, field) for field in FIELDS}
    if dataclasses.is_dataclass(value):
        return {
            field.name: shown(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, (list, tuple)):
        return [shown(each) for each in value]
    if isinstance(value, dict):
        return {str(key): shown(each) for key, each in value.items()}
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def limiter_of(request):
    store = store_at(request["at"])
    key = json.dumps([request["name"], request["limits"], request["at"] and request["at"][0]])
    if key not in limiters:
        if isinstance(request["name"], list):
            each = zip(request["name"], request["limits"], strict=True)
            limiters[key] = store.together(
                *(limiter_of({**request, "name": n, "limits": p}) for n, p in each)
            )
        else:
            limits = [tuple(limit) for limit in request["limits"]]
            lasts = (
                {"lock_timeout": 30} if any(limit[0] == "concurrency" for limit in limits) else {}
            )
            limiters[key] = store.limiter(request["name"], limits, **lasts)
    return limiters[key]


def hammer(limiter, threads, rounds, hold, **arguments):
    """Take turns in threads, with what each turn took and when."""

    def work(_):
        turns = []
        for _ in range(rounds):
            permit = limiter.acquire(wait_timeout=60, **arguments)
            entered = time.monotonic_ns()
            time.sleep(hold)
            left = time.monotonic_ns()
            turns.append([entered, left, permit.fencing_token, permit.release()])
        return turns

    with ThreadPoolExecutor(threads) as pool:
        return [turn for turns in pool.map(work, range(threads)) for turn in turns]


for line in sys.stdin:
    request = json.loads(line)
    try:
        limiter = limiter_of(request)
        arguments = request["arguments"]
        if request["call"] == "hammer":
            answer = hammer(limiter, **arguments)
        else:
            answer = shown(getattr(limiter, request["call"])(**arguments))
    except PaddlegateError as error:
        answer = {"error": type(error).__name__, "text": str(error)}
    print(json.dumps(answer), flush=True)
