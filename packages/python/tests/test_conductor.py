# mypy: allow-untyped-calls
"""Tasks of Conductor within limits, in real workers. See conductor_app.py and tests/conductor."""

import importlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
import uuid
from pathlib import Path
from typing import Any

import pytest
from conftest import SOAK  # type: ignore[import-not-found]

HERE = Path(__file__).parent
SERVER = HERE.parents[2] / "tests" / "conductor" / "server.py"
JOBS = 1000 if SOAK else 40
ENDS = 1000
PATIENT = 400


@pytest.fixture(scope="module")
def app(url):
    """The module of the tasks."""
    os.environ["TASKS_URL"], os.environ["TASKS_NAME"] = url, f"conductor-{uuid.uuid4().hex}"
    sys.path.insert(0, str(HERE))
    return importlib.import_module("conductor_app")


def program(words, **environment):
    """Start a program, which ends with its standard input."""
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    env = {**os.environ, **environment}
    started: Any = subprocess.Popen(words, cwd=HERE, env=env, text=True, **pipes)
    return started


class Conductor:
    """A simulated server and its workers."""

    def __init__(self, numbers):
        words = [sys.executable, str(SERVER), json.dumps(numbers)]
        self.server = program(words)
        self.url = f"http://127.0.0.1:{int(self.server.stdout.readline())}"
        self.running = []

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(f"{self.url}/{path}", data, timeout=20) as answer:
            return json.load(answer)

    def start(self, name, inputs, **more):
        self.ask("start", {"name": name, "inputs": list(inputs), **more})

    def report(self):
        return self.ask("report")

    def tasks(self):
        return self.report()["tasks"]

    def count(self, status):
        return self.ask("count").get(status, 0)

    def work(self, *names, **more):
        """Start a program of workers; return it and the processes of its workers."""
        environment = {"TASKS_SERVER": f"{self.url}/api", "TASKS_WORKERS": " ".join(names), **more}
        code = "import conductor_app; conductor_app.main()"
        process = program([sys.executable, "-c", code], **environment)
        self.running.append(process)
        return process, [int(word) for word in process.stdout.readline().split()]

    def stop(self):
        for process in self.running:
            process.stdin.close()
        for process in self.running:
            process.wait(50)
            process.stdout.close()
        self.running.clear()

    def close(self):
        self.stop()
        self.server.communicate(timeout=50)


@pytest.fixture
def conductor():
    """Start a server by its numbers."""
    started = []

    def start(**numbers):
        started.append(Conductor(numbers))
        return started[-1]

    yield start
    for it in started:
        it.close()


def noted(app, kind):
    """The notes of a task, in the order of time."""
    notes = sorted(app.notes(), key=lambda note: int(note[0]))
    return [(what, int(number)) for _, what, number in notes if what.startswith(f"{kind}-")]


def at_once(notes):
    """The most bodies that ran at once, by what an outside log says."""
    running = most = 0
    for what, _ in notes:
        running += 1 if what.endswith("begin") else -1
        most = max(most, running)
    return most


@pytest.mark.timeout(500)
@pytest.mark.parametrize(
    ("kind", "v2"),
    [
        ("job", True),
        pytest.param("coroutine", True, marks=pytest.mark.soak),
        pytest.param("job", False, marks=pytest.mark.soak),
    ],
)
def test_all_tasks_run_once_within_the_limits(app, conductor, until, kind, v2):
    server = conductor(v2=v2)
    app.log.delete(f"{app.NAME}-notes")
    began = time.monotonic()
    server.start(kind, ({"number": number} for number in range(JOBS)))
    for _ in range(2):
        server.work(kind)
    until(lambda: server.count("COMPLETED") >= JOBS, PATIENT)
    assert time.monotonic() - began >= JOBS / 12 - 1, "twelve a second"
    notes = noted(app, kind)
    order = [number for what, number in notes if what.endswith("begin")]
    assert sorted(order) == list(range(JOBS)), "none is lost, none runs twice"
    assert at_once(notes) <= 2
    away = sum(abs(place - number) for place, number in enumerate(order)) / JOBS
    assert away < 10, f"in the order of their queue: {order}"
    tasks = server.tasks()
    assert [it["retryCount"] for it in tasks] == [0] * JOBS, "none used an attempt"
    assert any(it["sentBack"] for it in tasks), "more were asked for than could pass"
    limiter = app.limiter(kind)
    until(lambda: limiter.stats().leases == 0)
    assert limiter.stats().tickets == 0


@pytest.mark.soak
@pytest.mark.timeout(500)
@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_no_task_is_lost_with_its_worker(app, conductor, until, how):
    server = conductor(responseTimeoutSeconds=8, retryCount=9)
    app.log.delete(f"{app.NAME}-notes")
    server.start("ends", ({"number": number} for number in range(ENDS)))
    program, (worker,) = server.work("ends")
    until(lambda: server.count("COMPLETED") >= ENDS / 5, PATIENT)
    if how == "killed":
        os.kill(worker, signal.SIGKILL)
    else:
        program.stdin.close()
        program.wait(50)
        server.work("ends")
    until(lambda: server.count("COMPLETED") >= ENDS, PATIENT)
    assert {number for what, number in noted(app, "ends") if what == "ends-end"} == set(range(ENDS))
    completed = [it for it in server.tasks() if it["status"] == "COMPLETED"]
    assert len({it["workflowInstanceId"] for it in completed}) == ENDS
    limiter = app.pg.concurrent(f"{app.NAME}-ends", 2, lock_timeout=4)
    until(lambda: limiter.stats().leases == 0)


@pytest.mark.soak
@pytest.mark.timeout(150)
@pytest.mark.parametrize("kind", ["shut", "coroutine-shut"])
def test_a_paused_limiter_is_not_polled_for(app, conductor, until, kind):
    server = conductor()
    limiter = app.shut(kind)
    limiter.pause(600)
    server.start(kind, ({"number": number} for number in range(20)))
    server.work(kind)
    time.sleep(4)
    assert server.report()["polls"] == 0, "it was closed from the beginning"
    limiter.resume()
    until(lambda: server.count("COMPLETED") >= 20, PATIENT)
    limiter.pause(600)
    # An open worker polls ten times a second.
    until(lambda: time.time() - server.report()["polls_at"][-1] > 3)
    server.start(kind, [{"number": 20}])
    time.sleep(2)
    assert [it["status"] for it in server.tasks()][20] == "SCHEDULED"
    limiter.resume()
    until(lambda: server.count("COMPLETED") >= 21, PATIENT)
    assert all(it["sentBack"] == 0 for it in server.tasks())


@pytest.mark.soak
@pytest.mark.timeout(120)
@pytest.mark.parametrize("more", [{}, {"TASKS_UNGATED": "1"}], ids=["gated", "ungated"])
def test_tasks_wait_while_redis_is_away(app, conductor, until, server, more):
    running = conductor()
    server.stop()
    running.start("away", ({"number": number} for number in range(5)))
    running.work("away", AWAY_URL=server.url, **more)
    if more:
        until(lambda: any(it["sentBack"] for it in running.tasks()), PATIENT)
    else:
        time.sleep(3)
        assert running.report()["polls"] == 0
    server.start()
    until(lambda: running.count("COMPLETED") == 5, PATIENT)
    assert len(running.tasks()) == 5, "none used an attempt"


@pytest.mark.soak
@pytest.mark.timeout(120)
def test_the_lease_of_a_long_task_is_renewed(app, conductor, until):
    server = conductor()
    app.log.delete(f"{app.NAME}-notes")
    kinds = ["long", "coroutine-long"]
    for kind in kinds:
        server.start(kind, [{"number": 0}, {"number": 1}])
    server.work(*kinds)
    until(lambda: server.count("COMPLETED") == 4, PATIENT)
    assert [at_once(noted(app, kind)) for kind in kinds] == [1, 1]
    assert {it["retryCount"] for it in server.tasks()} == {0}


@pytest.mark.soak
def test_a_task_gets_its_permit(app, conductor, until):
    server = conductor()
    kinds = ["spend", "coroutine-spend"]
    for kind in kinds:
        server.start(kind, [{"units": 40}])
    server.work(*kinds)
    until(lambda: server.count("COMPLETED") == 2, PATIENT)
    assert [it["outputData"] for it in server.tasks()] == [{"left": 60}] * 2
    coroutine = app.pg.points(f"{app.NAME}-coroutine-points", 100, 1000)
    assert (app.points.stats().units, coroutine.stats().units) == (39, 39)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("kind", "words"),
    [("fails", "by zero"), ("nameless", "must have 1 to 512 bytes"), ("keyless", "key")],
)
def test_what_is_wrong_fails_the_task(app, conductor, until, kind, words):
    server = conductor(retryCount=1)
    server.start(kind, [{"number": 0}])
    server.work(kind)
    until(lambda: server.count("FAILED") == 2, PATIENT)
    reasons = [it["reasonForIncompletion"] for it in server.tasks()]
    assert all(words in reason for reason in reasons), "as an error of the task"
    assert noted(app, kind) == []


@pytest.mark.soak
def test_a_function_that_a_task_calls_waits(app, conductor, until):
    server = conductor()
    server.start("outer", [{"number": 7}])
    server.work("outer")
    until(lambda: server.count("COMPLETED") == 1, PATIENT)
    (task,) = server.tasks()
    inner = [{"number": 7}, {"number": 8}]
    assert task["outputData"] == {"inner": inner, "task": task["taskId"]}
