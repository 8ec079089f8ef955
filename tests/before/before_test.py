"""Processes of an earlier commit and of today share limiters, and keep the limits together."""

import itertools
import json
import os
import random
import subprocess
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import BEFORE, URL

SEED = int(os.environ["PADDLEGATE_SEED"])
ROUNDS = 6 if os.environ.get("PADDLEGATE_SOAK") else 2
SECOND = 1_000_000

POLICIES = {
    "bucket": [("bucket", 10, 60)],
    "window": [("window", 8, 30)],
    "leaky": [("leaky", 12, 60)],
    "points": [("points", 100, 60)],
    "throttle": [("throttle", 2)],
    "quota": [("quota", 20, "day", "Europe/Berlin")],
    "concurrency": [("concurrency", 3)],
    "several": [("window", 8, 30), ("points", 100, 60), ("concurrency", 3)],
    "all": [("bucket", 20, 60), ("leaky", 12, 60), ("quota", 50, "month"), ("throttle", 1)],
}


def name(what):
    return f"{what}-{uuid.uuid4().hex[:12]}"


class Script:
    """A random sequence of calls to one limiter, each by one of two processes."""

    def __init__(self, limits, seed, workers):
        self.limiter = (name("mixed"), limits)
        self.dice = random.Random(seed)
        self.sides = random.Random(seed + 1)
        self.workers = workers
        self.kinds = [limit[0] for limit in limits]
        self.amount = min([limit[1] for limit in limits if limit[0] != "throttle"] or [3])
        self.at = 0
        self.permits, self.leases, self.jobs = [], [], []
        self.count = 0

    def call(self, call, **arguments):
        worker = self.workers[self.sides.randrange(2)]
        return worker.call(self.limiter, call, at=(self.limiter[0], self.at), **arguments)

    def run(self, steps):
        steps = [self.step() for _ in range(steps)]
        # A process sends its counts with a later call.
        for worker in self.workers * 2:
            counts = worker.call(self.limiter, "stats", at=(self.limiter[0], self.at))
        return [*steps, counts]

    def step(self):
        dice = self.dice
        has_leases = "concurrency" in self.kinds
        moves = (
            ["take"] * 8
            + ["wait"] * 6
            + ["estimate"] * 5
            + ["correct"] * 5
            + ["extend"] * 2
            + ["peek", "debit"]
        )
        moves += [
            "override",
            "restore",
            "pause",
            "resume",
            "report",
            "block",
            "runtime_state",
            "inspect",
            "queue",
        ]
        moves += ["enqueue"] * 5 + ["claim"] * 5 + ["ready", "cancel"]
        if has_leases:
            moves += ["release"] * 6 + ["renew"] * 2
        move = dice.choice(moves)
        units = dice.randint(0, self.amount)
        self.count += 1
        job = f"job-{self.count}"
        charge = {"id": job} if has_leases else {}
        if move == "take":
            return self.noted(move, self.call("try_acquire", cost=units, **charge))
        if move == "estimate":
            return self.noted(move, self.call("try_acquire", estimate=units, **charge))
        if move == "peek":
            return self.noted(move, self.call("peek", cost=units))
        if move == "debit":
            return self.noted(move, self.call("debit", cost=units))
        if move == "wait":
            self.at += dice.choice([1, 1_000, SECOND // 3, SECOND, 7 * SECOND, 31 * SECOND])
            return move
        if move in ("correct", "extend", "release", "renew"):
            if not self.permits:
                return move
            permit = dice.choice(self.permits[-6:])
            numbers = {"correct": {"actual": units}, "extend": {"units": units + 1}}.get(move, {})
            return self.noted(move, self.call(move, permit=permit, **numbers))
        label = dice.choice(self.kinds)
        if move == "override" and label not in ("throttle", "quota"):
            ends = dice.choice([None, 1, 20])
            ends = {"expires_in": ends} if ends else {}
            return self.noted(
                move,
                self.call("override", limit=dice.randint(1, 2 * self.amount), label=label, **ends),
            )
        if move == "report" and label not in ("throttle", "concurrency"):
            return self.noted(move, self.call("report_budget", remaining=units, label=label))
        if move in ("pause", "block"):
            return self.noted(move, self.call(move, seconds=dice.choice([0.5, 3])))
        if move in ("restore", "resume", "runtime_state", "inspect", "queue"):
            return self.noted(move, self.call(move))
        if move == "enqueue":
            self.jobs.append(job)
            priority = dice.choice([0, 0, 4])
            return self.noted(move, self.call(move, id=job, cost=max(units, 1), priority=priority))
        if move in ("claim", "cancel") and self.jobs:
            arguments = {"cost": 1} if move == "claim" else {}
            return self.noted(move, self.call(move, id=dice.choice(self.jobs[-4:]), **arguments))
        if move == "ready":
            return self.noted(move, self.call(move, count=dice.randint(1, 3)))
        return move

    def noted(self, move, answer):
        """Keep the permit of an answer, and leave out of it what is random."""
        decision = answer.get("decision", answer) if isinstance(answer, dict) else None
        permit = decision.get("permit") if decision else None
        if permit:
            self.permits.append(permit)
            decision["permit"] = "a permit"
        return [move, answer]


@pytest.mark.parametrize("kind", POLICIES)
def test_they_decide_as_one_of_them_alone(before, today, kind):
    limits = POLICIES[kind]
    for seed in range(SEED, SEED + ROUNDS):
        print(f"seed {seed}")
        mixed = Script(limits, seed, (before, today)).run(150)
        alone = Script(limits, seed, (today, today)).run(150)
        for step, (one, other) in enumerate(zip(mixed, alone, strict=True)):
            assert one == other, f"step {step} of seed {seed}"


def test_several_limiters_decide_together(before, today):
    policies = [[("bucket", 10, 60)], [("window", 6, 30), ("throttle", 1)], [("points", 50, 60)]]
    for seed in range(SEED, SEED + 3 * ROUNDS):
        answers = []
        for workers in ((before, today), (today, today)):
            dice, sides = random.Random(seed), random.Random(seed + 1)
            names, at, permits, run = [name("joint") for _ in policies], 0, [], []
            for _ in range(100):
                worker = workers[sides.randrange(2)]
                group = dice.choice([[0], [1], [2], [0, 1], [2, 0], [0, 1, 2]])
                limiter = ([names[i] for i in group], [policies[i] for i in group])
                if len(group) == 1:
                    limiter = (names[group[0]], policies[group[0]])
                at += dice.choice([0, SECOND // 2, 3 * SECOND, 40 * SECOND])
                units = (
                    {names[i]: dice.randint(0, 5) for i in group}
                    if len(group) > 1
                    else dice.randint(0, 5)
                )
                if dice.random() < 0.6 or not permits:
                    answer = worker.call(limiter, "try_acquire", at=(names[0], at), estimate=units)
                    if answer.get("permit"):
                        permits.append((limiter, answer.pop("permit"), units))
                else:
                    limiter, permit, estimate = dice.choice(permits)
                    answer = worker.call(
                        limiter, "correct", at=(names[0], at), permit=permit, actual=estimate
                    )
                if isinstance(answer, dict) and answer.get("limiter"):
                    answer["limiter"] = names.index(answer["limiter"])
                run.append(answer)
            answers.append(run)
        assert answers[0] == answers[1], f"seed {seed}"


def queue_of(before, today, jobs, owner=None):
    """Let jobs queue behind a lease and run one by one. Return them in the order of their runs.

    `owner` gives the process in which a job queues; without it any does.
    """
    sides = random.Random(SEED)

    def side(job=None):
        return owner(job) if owner and job else sides.choice((before, today))

    limiter = (name("queue"), [("concurrency", 1)])
    clock = limiter[0]
    held = side().call(limiter, "try_acquire", at=(clock, 0), id="first")["permit"]
    for job, options in jobs:
        assert (
            side(job).call(limiter, "enqueue", at=(clock, 0), id=job, claim_timeout=60, **options)[
                "status"
            ]
            == "queued"
        )
    ran = []
    for at in range(1, len(jobs) + 1):
        assert side().call(limiter, "release", at=(clock, at), permit=held) == "released"
        (ready,) = side().call(limiter, "ready", at=(clock, at), count=100)
        claimed = side().call(limiter, "claim", at=(clock, at), id=ready, claim_timeout=60)
        assert claimed["status"] == "granted", claimed
        held = claimed["permit"]
        ran.append(ready)
    assert sorted(ran) == sorted(job for job, _ in jobs)
    return ran


def test_the_order_of_the_queue_is_kept(before, today):
    jobs = [(f"job-{i}", {"priority": 5 if i % 10 == 7 else 0}) for i in range(100)]
    ran = queue_of(before, today, jobs)
    assert ran == sorted(
        (job for job, _ in jobs), key=lambda job: (not job.endswith("7"), int(job[4:]))
    )


@pytest.mark.parametrize("owned", [False, True], ids=["mixed", "each_in_one"])
@pytest.mark.parametrize("weights", [(1, 1), (1, 2, 10), (3, 4, 1000), (100, 200)])
def test_shares_take_turns_by_their_weights(before, today, weights, owned):
    """Also where all calls of a share come from processes of one commit."""
    count = 60
    jobs = [
        (f"{share}-{i}", {"share": f"s{share}", "weight": weight})
        for i in range(count)
        for share, weight in enumerate(weights)
    ]
    owner = (lambda job: (before, today)[int(job[0]) % 2]) if owned else None
    ran = queue_of(before, today, jobs, owner)
    for share in range(len(weights)):
        of_share = [int(job.split("-")[1]) for job in ran if job.startswith(f"{share}-")]
        assert of_share == list(range(count)), f"the jobs of share {share} ran in another order"
    # While all of them wait.
    first_end = min(
        max(i for i, job in enumerate(ran) if job.startswith(f"{share}-"))
        for share in range(len(weights))
    )
    turns = [
        sum(job.startswith(f"{share}-") for job in ran[: first_end + 1])
        for share in range(len(weights))
    ]
    print(f"weights {weights}: turns {turns}")
    for turn, weight in zip(turns, weights, strict=True):
        expected = sum(turns) * weight / sum(weights)
        assert abs(turn - expected) <= 2 + expected / 10, (weights, turns)


def test_leases_hold_while_both_wait(before, today):
    limiter = (name("hold"), [("concurrency", 3)])
    with ThreadPoolExecutor(2) as pool:
        runs = pool.map(
            lambda worker: worker.call(limiter, "hammer", threads=8, rounds=15, hold=0.005),
            (before, today),
        )
        turns = [turn for run in runs for turn in run]
    assert len(turns) == 2 * 8 * 15
    assert {settlement for *_, settlement in turns} == {"released"}
    tokens = [token for _, _, token, _ in turns]
    assert len(set(tokens)) == len(tokens)
    moments = sorted(
        [(entered, 1) for entered, *_ in turns] + [(left, -1) for _, left, *_ in turns]
    )
    assert max(itertools.accumulate(change for _, change in moments)) <= 3


def test_shares_that_wait_in_both_are_all_served(before, today):
    limiter = (name("shares"), [("concurrency", 2)])
    with ThreadPoolExecutor(2) as pool:
        runs = pool.map(
            lambda one: one[0].call(
                limiter, "hammer", threads=6, rounds=10, hold=0.002, share=one[1], weight=one[2]
            ),
            ((before, "a", 1), (today, "b", 7)),
        )
        assert [len(run) for run in runs] == [60, 60]


def test_statistics_are_those_of_both(before, today):
    limiter = (name("counted"), [("window", 10, 60)])
    for i in range(30):
        (before, today)[i % 2].call(limiter, "try_acquire", at=(limiter[0], SECOND * i), cost=1)
    counts = [
        worker.call(limiter, "stats", at=(limiter[0], 31 * SECOND)) for worker in (before, today)
    ]
    # A process sends its counts with a later call.
    counts = [
        worker.call(limiter, "stats", at=(limiter[0], 32 * SECOND)) for worker in (before, today)
    ]
    for count in counts:
        assert (count["granted"], count["refused"]) == (10, 20)


def test_the_command_of_each_reads_what_the_other_wrote(before, today):
    limiter = (name("shown"), [("bucket", 10, 60), ("concurrency", 2)])
    programs = [BEFORE / "bin/paddlegate", Path("target/release/paddlegate")]
    for worker in (before, today):
        assert worker.call(limiter, "try_acquire", cost=2)["status"] == "granted"
    for writer, reader in (programs, programs[::-1]):
        override = [writer, "override", limiter[0], "--label", "bucket", "--limit", "7"]
        run = [
            [*override, "--redis", URL],
            [reader, "inspect", limiter[0], "--json", "--redis", URL],
        ]
        for arguments in run:
            done = subprocess.run(arguments, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr + done.stdout
        shown = json.loads(done.stdout)
        assert "7" in json.dumps(shown), shown
        assert (
            limiter[0]
            in subprocess.run(
                [reader, "list", "--redis", URL], capture_output=True, text=True, check=True
            ).stdout
        )
