"""One limiter of each kind, hammered by all workers at the same time.

The line that starts it is `{"do": "hammer", "until", "seed", "loops", "plan", "path"}`. Until that
time (seconds since 1970) a worker runs `loops` loops at once. A loop takes any entry of the plan,
`{"on", "verb": "cost" or "estimate", "most"}`, asks for 1 to `most` units, and records what it was
told as a line in `path` (see checker.py). Of nine permits in ten it reports an actual cost of 0 to
1.5 times the estimate, one of them twice, and asks the limiter's clock (by a peek at a cost of 0)
before and after. The first loop of each worker waits, up to 0.2 s; the others only try. The value
is `{"errors", "may_have_counted"}`: how often each class of error was raised, and how many of them
said so.
"""

import random
import time
import uuid
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import checker

LOOPS = 4


@dataclass
class Hammered:
    """What became of one limiter."""

    limits: list
    # With some of the refusals; to check one of them takes a look at all grants.
    history: checker.History
    by_language: dict
    # How much of the time somebody asked, as a fraction.
    asked: Fraction


def hammer(fleet, url, seed, seconds, folder):
    """Hammer and give `Hammered` by limiter.

    It is done again, for longer, if on a busy machine a language or a limit had no turn.
    """
    for attempt in range(4):
        hammered = hammered_once(fleet, url, seed, seconds * 2**attempt, folder)
        if all(has_all_answers(kind, one) for kind, one in hammered.items()):
            break
    return hammered


def reasons(kind):
    """Give what the refusals of a limiter name."""
    return {"window", "points", "throttle"} if kind == "composite" else {kind}


def has_all_answers(kind, hammered):
    """Whether each language was granted and refused, and each limit has refused."""
    said = all(history.grants and history.refusals for history in hammered.by_language.values())
    return said and {refusal.reason for refusal in hammered.history.refusals} == reasons(kind)


def hammered_once(fleet, url, seed, seconds, folder):
    numbers = random.Random(seed)
    policies = {
        "bucket": [("bucket", numbers.randint(40, 80), milliseconds(numbers, 300, 700))],
        "window": [("window", numbers.randint(40, 80), milliseconds(numbers, 300, 700))],
        "leaky": [("leaky", numbers.randint(10, 60), milliseconds(numbers, 300, 700))],
        "points": [("points", numbers.randint(800, 1200), milliseconds(numbers, 2000, 3000))],
        "throttle": [("throttle", milliseconds(numbers, 50, 70))],
        # All three refuse now and then, the last one most.
        "composite": [
            ("window", numbers.randint(70, 74), milliseconds(numbers, 490, 510)),
            ("points", numbers.randint(21, 23), milliseconds(numbers, 154, 160)),
            ("throttle", milliseconds(numbers, 56, 60)),
        ],
    }
    most = {"bucket": 3, "window": 3, "leaky": 3, "points": 100, "throttle": 3, "composite": 20}
    prefix = uuid.uuid4().hex
    for worker in fleet.values():
        worker.ask("open", url=url, timeout=5)
        for key, limits in policies.items():
            in_seconds = [(*limit[:-1], limit[-1] / 1e6) for limit in limits]
            worker.ask("limiter", **{"as": key}, name=f"{prefix}-{key}", limits=in_seconds)
    plan = [
        {"on": key, "verb": verb(limits), "most": most[key]} for key, limits in policies.items()
    ]
    paths = {language: Path(folder, f"{language}.jsonl") for language in fleet}
    until = time.time() + seconds
    for number, (language, worker) in enumerate(fleet.items()):
        path = str(paths[language])
        worker.send("hammer", until=until, seed=seed + number, loops=LOOPS, plan=plan, path=path)
    answers = {language: worker.receive() for language, worker in fleet.items()}
    assert not any(answer["errors"] for answer in answers.values()), answers
    read = {language: checker.read(path) for language, path in paths.items()}
    hammered = {}
    for key, limits in policies.items():
        by_language = {language: histories[key] for language, histories in read.items()}
        history = checker.History.joined(by_language.values())
        asked = share_asked(history)
        history.refusals = numbers.sample(history.refusals, min(500, len(history.refusals)))
        hammered[key] = Hammered(checker.rules(limits), history, by_language, asked)
    return hammered


def share_asked(history):
    """Tell how much of the time somebody asked at least every 5 ms."""
    times = sorted(record.at for record in (*history.grants, *history.refusals))
    gaps = [later - earlier for earlier, later in pairwise(times)]
    return 1 - Fraction(sum(gap for gap in gaps if gap > 5000), times[-1] - times[0])


def milliseconds(numbers, least, most):
    return numbers.randint(least, most) * 1000


def verb(limits):
    return "estimate" if any(kind == "points" for kind, *_ in limits) else "cost"
