# mypy: allow-untyped-calls
"""Jobs of RQ, Dramatiq and Huey within limits, in real workers. See hosts_app.py."""

import importlib
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from paddlegate import InvalidError, Paddlegate
from paddlegate.dramatiq import limited as dramatiq_limited
from paddlegate.huey import limited as huey_limited
from paddlegate.rq import limited as rq_limited

HERE = Path(__file__).parent
SOAK = os.environ.get("PADDLEGATE_SOAK") == "1"
JOBS = 1000 if SOAK else 30
WORKERS = {
    "rq": [
        ["rq.cli", "worker", "-u", "{url}", "--with-scheduler", "--path", ".", "{name}"],
        ["rq.cli", "worker", "-u", "{url}", "--with-scheduler", "--path", ".", "{name}"],
    ],
    "dramatiq": [["dramatiq", "hosts_app", "--processes", "1", "--threads", "4"]],
    "huey": [["huey.bin.huey_consumer", "hosts_app.tasks", "-w", "4", "-d", "0.1", "-s", "1"]],
}


@pytest.fixture(scope="module")
def app(url):
    """The module of the tasks."""
    os.environ["TASKS_URL"], os.environ["TASKS_NAME"] = url, f"hosts-{uuid.uuid4().hex}"
    sys.path.insert(0, str(HERE))
    return importlib.import_module("hosts_app")


@pytest.fixture(scope="module", params=WORKERS)
def host(app, request, url):
    """A job system with its workers."""
    running = []
    for words in WORKERS[request.param]:
        given = [word.format(url=url, name=app.NAME) for word in words]
        running.append(subprocess.Popen([sys.executable, "-m", *given], cwd=HERE))
    yield request.param
    for process in running:
        process.terminate()
    for process in running:
        process.wait(50)


def send(app, host, task, *arguments):
    function = getattr(app, f"{host}_{task}")
    if host == "rq":
        return app.queue.enqueue(function, *arguments)
    return function.send(*arguments) if host == "dramatiq" else function(*arguments)


def ended(notes):
    return sorted(int(number) for _, kind, number in notes if kind == "end")


@pytest.mark.timeout(300 if SOAK else 60)
def test_all_jobs_run_once_within_the_limits(app, host, until):
    began = time.monotonic()
    for number in range(JOBS):
        send(app, host, "job", number)
    until(lambda: len(ended(app.notes(host))) >= JOBS, 250 if SOAK else 50)
    assert time.monotonic() - began >= JOBS / 12 - 1, "twelve a second"
    notes = app.notes(host)
    assert ended(notes) == list(range(JOBS)), "none is lost, none runs twice"
    running = most = 0
    for _, kind, _ in sorted(notes, key=lambda note: int(note[0])):
        running += 1 if kind == "begin" else -1
        most = max(most, running)
    assert most <= 2
    limiter = app.limiter(host)
    until(lambda: limiter.stats().leases == 0)
    assert (limiter.stats().granted, limiter.stats().tickets) == (JOBS, 0)


def test_a_job_comes_back_when_the_server_does(app, host, until):
    send(app, host, "away")
    until(lambda: ended(app.notes(f"{host}-away")) == [0])


def test_a_job_of_rq_gets_its_permit(app, host, until):
    if host == "rq":
        send(app, host, "spend", 40)
        until(lambda: app.pg.points(f"{app.NAME}-rq-points", 100, 1000).stats().units == 39)


def test_the_retries_of_dramatiq_are_its_own(app, host, until):
    if host == "dramatiq":
        send(app, host, "fails")
        until(lambda: ended(app.notes("dramatiq-fails")) == [0, 1, 2])


@pytest.mark.parametrize("limited", [rq_limited, dramatiq_limited, huey_limited])
def test_outside_a_worker_the_function_waits(limited):
    limiter = Paddlegate("memory://").window("direct", 1, 0.1)

    @limited(limiter)
    def body(number):
        return number

    assert [body(1), body(2)] == [1, 2]
    assert limiter.stats().waited == 1


@pytest.mark.parametrize("limited", [rq_limited, dramatiq_limited, huey_limited])
@pytest.mark.parametrize(
    ("argument", "given"), [("limiter", {"limiter": "erp"}), ("patience", {"patience": -1})]
)
def test_bad_input_is_named(limited, argument, given):
    limiter = Paddlegate("memory://").window("bad", 1, 1)
    with pytest.raises(InvalidError) as caught:
        limited(**{"limiter": limiter, **given})
    assert caught.value.argument == argument
