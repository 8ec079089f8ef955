# mypy: allow-untyped-calls
"""Jobs of arq within limits, in real workers. See arq_app.py."""

import importlib
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from conftest import SOAK  # type: ignore[import-not-found]

HERE = Path(__file__).parent
# arq needs an older redis than the other job systems, so it lies apart.
ARQ = Path(__file__).parents[3] / ".venv" / "arq"
JOBS = 1000 if SOAK else 30


@pytest.fixture(scope="module")
def log(url):
    """The log of the jobs."""
    os.environ["TASKS_URL"], os.environ["TASKS_NAME"] = url, f"arq-{uuid.uuid4().hex}"
    sys.path.insert(0, str(HERE))
    sys.modules.pop("hosts_log", None)
    return importlib.import_module("hosts_log")


def run(*words):
    environment = {**os.environ, "PYTHONPATH": str(ARQ)}
    return subprocess.Popen([sys.executable, *words], cwd=HERE, env=environment)


@pytest.fixture(scope="module", autouse=True)
def workers(log):
    """One that runs many jobs at once; with `make soak` three more that run one."""
    names = ["Many", *(["One"] * 3 if SOAK else [])]
    running = [run("-m", "arq", f"arq_app.{name}") for name in names]
    yield
    for process in running:
        process.terminate()
    for process in running:
        process.wait(50)


def enqueue(*words):
    assert run("arq_app.py", *map(str, words)).wait(50) == 0


def numbers(notes):
    return sorted(int(number) for _, kind, number in notes if kind == "end")


@pytest.mark.timeout(1000)
@pytest.mark.parametrize(
    ("kind", "kills"), [("many", 0), pytest.param("one", 1, marks=pytest.mark.soak)]
)
def test_all_jobs_run_once_within_the_limits(log, until, kind, kills):
    began = time.monotonic()
    enqueue(kind, JOBS)
    until(lambda: len(log.notes(f"{kind}-tries")) >= JOBS, 900)
    assert time.monotonic() - began >= JOBS / 12 - 1, "twelve a second"
    notes = log.notes(kind)
    assert numbers(notes) == list(range(JOBS)), "none is lost, none runs twice"
    running = most = 0
    for _, what, _ in sorted(notes, key=lambda note: int(note[0])):
        running += 1 if what == "begin" else -1
        most = max(most, running)
    assert most <= 2
    tries = numbers(log.notes(f"{kind}-tries"))
    assert tries == [1] * (JOBS - kills) + [2] * kills, "only a killed worker costs a try"
    limiter = log.limiter(kind)
    until(lambda: limiter.stats().leases == 0)
    # The killed job took a lease, and another one after that had ended.
    assert (limiter.stats().granted, limiter.stats().tickets) == (JOBS + kills, 0)


@pytest.mark.soak
def test_a_job_comes_back_when_the_server_does(log, until):
    enqueue("away")
    until(lambda: numbers(log.notes("away")) == [1])


@pytest.mark.soak
def test_a_job_gets_its_permit_and_corrects_its_estimate(log, until):
    enqueue("spend", 40)
    until(lambda: log.pg.points(f"{log.NAME}-points", 100, 1000).stats().units == 39)


@pytest.mark.soak
def test_a_function_that_a_job_calls_waits(log, until):
    """It cannot put the job back, which has begun."""
    enqueue("outer")
    until(lambda: numbers(log.notes("outer")) == [0])
    assert [what for _, what, _ in log.notes("outer")] == ["begin", "end"]
    assert log.pg.window(f"{log.NAME}-helper", 1, 0.2).stats().waited == 1


@pytest.mark.soak
def test_a_job_that_fails_or_takes_too_long_releases_its_lease(log, until):
    errors = log.pg.concurrent(f"{log.NAME}-errors", 1, lock_timeout=60)
    for job, granted in ("fails", 1), ("too_long", 2), ("wrong_cost", 2), ("fails", 3):
        enqueue(job)
        until(lambda granted=granted: errors.stats().granted == granted)
        until(lambda: errors.stats().leases == 0)
    assert numbers(log.notes("fails")) == [1, 1]


@pytest.mark.soak
def test_jobs_without_a_decorator_are_limited_by_their_names(log, until):
    for number in range(6):
        enqueue("by_name", number)
    until(lambda: numbers(log.notes("named")) == list(range(6)))
    assert log.pg.window(f"{log.NAME}-named", 10, 3600).peek().remaining == 4
