# mypy: allow-untyped-calls
"""Jobs of Dramatiq, Huey, RQ and taskiq, one of whose workers is killed. See killed_app.py."""

import asyncio
import contextlib
import importlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from pathlib import Path

import pytest
from huey import MemoryHuey, PriorityRedisHuey, RedisHuey  # type: ignore[import-untyped]
from paddlegate import InvalidError
from paddlegate.dramatiq import LimitMiddleware
from paddlegate.huey import recover_tasks

loop = asyncio.new_event_loop()
HERE = Path(__file__).parent
JOBS = 1000
PATIENT = 800
AT_ONCE, RATE = 3, 20
HOSTS = ["dramatiq", "huey", "rq", "taskiq"]
HUEY = ["huey.bin.huey_consumer", "-w", "4", "-d", "0.1", "-s", "1"]
RQ = ["rq.cli", "worker", "-u", "{url}", "--with-scheduler", "--path", "."]
WORKERS = {
    "dramatiq": [["dramatiq", "killed_app", "--processes", "1", "--threads", "4"]] * 2,
    "huey": [[*HUEY, "killed_app.tasks"]] * 2,
    "forgetful": [[*HUEY, "killed_app.forgetful"]] * 2,
    "rq": [[*RQ, "--job-class", "killed_app.RqJob", "{name}"]] * 3,
    "taskiq": [
        ["taskiq", "worker", "killed_app:taskiq_broker", "--workers", "2", "--log-level", "ERROR"],
        *[["taskiq", "scheduler", "killed_app:taskiq_scheduler", "--update-interval", "1"]],
    ],
}


@pytest.fixture
def started(url, monkeypatch):
    """Start the workers of a host, and give the module of the jobs."""
    running, apps = [], []

    def start(host, victim):
        name = f"killed{uuid.uuid4().hex}"
        for what, value in ("URL", url), ("NAME", name), ("VICTIM", victim):
            monkeypatch.setenv(f"TASKS_{what}", str(value))
        monkeypatch.syspath_prepend(HERE)
        for module in "killed_app", "hosts_log":
            sys.modules.pop(module, None)
        app = importlib.import_module("killed_app")
        apps.append(app)
        for words in WORKERS[host]:
            given = [word.format(url=url, name=app.NAME) for word in words]
            running.append(
                subprocess.Popen(
                    [sys.executable, "-m", *given],
                    cwd=HERE,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            )
        return app

    yield start
    for app in apps:
        loop.run_until_complete(app.taskiq_broker.shutdown())
    for process in running:
        # taskiq's does not always stop when one of its own was killed.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(50)


def send(app, host, numbers):
    function = getattr(app, f"{host}_job")
    if host == "taskiq":

        async def kiq():
            for number in numbers:
                await function.kiq(number)

        loop.run_until_complete(kiq())
        return
    for number in numbers:
        if host == "rq":
            # Without a retry RQ takes the job of a killed worker for a failed one.
            app.queue.enqueue(function, number, retry=app.rq.Retry(2))
        elif host == "dramatiq":
            function.send(number)
        else:
            function(number)


def numbers(notes, kind):
    return [int(number) for _, what, number, *_ in notes if what == kind]


def check_limits(notes, began):
    """Check what the jobs noted: how many ran at once, and how many had begun at each time."""
    running: set[tuple[str, ...]] = set()
    dead: set[str] = set()
    begun = 0
    for at, kind, number, *pid in sorted(notes, key=lambda note: int(note[0])):
        if kind == "begin":
            if not dead.intersection(pid):
                running.add((number, *pid))
            begun += 1
            # A machine that stalls may note late, and never early.
            assert int(at) - began >= (begun - 1) // RATE * 1e9, "twenty a second"
        elif kind == "end":
            running.discard((number, *pid))
        elif kind == "kill":
            dead.update(pid)
            running = {it for it in running if not dead.intersection(it)}
        assert len(running) <= AT_ONCE, "three at once"


def finish(app, host, until, jobs):
    """Wait until all jobs have ended, and return what they noted."""

    def have_ended():
        if host == "taskiq":
            loop.run_until_complete(app.poke.kiq())
        return set(numbers(app.notes(host), "end")) >= set(jobs)

    until(have_ended, PATIENT)
    return app.notes(host)


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("host", HOSTS)
def test_jobs_of_a_killed_worker_run_again(started, until, host):
    app = started(host, JOBS // 3)
    began = time.monotonic_ns()
    send(app, host, range(JOBS))
    notes = finish(app, host, until, range(JOBS))
    check_limits(notes, began)
    (killed,) = [pid for _, kind, _, *pid in notes if kind == "kill"]
    held = {int(number) for _, kind, number, *pid in notes if kind == "begin" and pid == killed}
    ends = Counter(numbers(notes, "end"))
    twice = [number for number, times in ends.items() if times > 1]
    assert set(ends) == set(range(JOBS)), "none is lost"
    # What had ended and was not yet acknowledged: at most one of each thread.
    # Dramatiq and taskiq put a message back and acknowledge it in two steps.
    assert host in ("dramatiq", "taskiq") or set(twice) <= held, (
        "only those of the killed worker run twice"
    )
    assert len(twice) <= 4
    assert numbers(notes, "begin").count(JOBS // 3) == 2, "the killed job ran again"
    limiter = app.limiter(host)
    until(lambda: limiter.stats().leases == limiter.stats().tickets == 0, 100)
    took = (max(int(at) for at, *_ in notes) - began) / 1e9
    print(
        f"{host}: {JOBS} jobs in {took:.1f} s, {len(numbers(notes, 'ask')) / JOBS:.2f} asks a job"
    )


@pytest.mark.soak
@pytest.mark.timeout(120)
def test_huey_without_recovery_forgets_what_its_killed_consumer_had_taken(started, until):
    app = started("forgetful", 15)
    began = time.monotonic_ns()
    send(app, "forgetful", range(60))

    # Each of the four threads had taken one.
    until(lambda: len(numbers(app.notes("forgetful"), "end")) >= 56, PATIENT)
    limiter = app.limiter("forgetful")
    until(lambda: limiter.stats().leases == 0, 50)
    limiter.acquire(wait_timeout=50).release()
    notes = app.notes("forgetful")
    check_limits(notes, began)
    assert 15 not in numbers(notes, "end"), "it is lost"
    assert max(Counter(numbers(notes, "end")).values()) == 1


def test_wrong_arguments_are_named(url):
    for argument, call in [
        ("poll_ms", lambda: LimitMiddleware(poll_ms=0)),
        ("poll_ms", lambda: LimitMiddleware(poll_ms=0.5)),  # type: ignore[arg-type]
        ("huey", lambda: recover_tasks(MemoryHuey("memory"), after=60)),
        ("huey", lambda: recover_tasks(PriorityRedisHuey("priority", url=url), after=60)),
        ("after", lambda: recover_tasks(RedisHuey("after", url=url), after=0)),
        ("after", lambda: recover_tasks(RedisHuey("after", url=url), after=float("nan"))),
    ]:
        with pytest.raises(InvalidError) as caught:
            call()
        assert caught.value.argument == argument
