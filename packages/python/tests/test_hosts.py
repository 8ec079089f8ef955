# mypy: allow-untyped-calls
"""Jobs of RQ, Dramatiq, Huey and taskiq within limits, in real workers. See hosts_app.py."""

import asyncio
import importlib
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path

import dramatiq
import pytest
import rq
from conftest import SOAK  # type: ignore[import-not-found]
from dramatiq.brokers.stub import StubBroker
from huey import RedisHuey  # type: ignore[import-untyped]
from paddlegate import InvalidError, Paddlegate
from paddlegate.dramatiq import LimitMiddleware as DramatiqMiddleware
from paddlegate.dramatiq import limited as dramatiq_limited
from paddlegate.huey import limit_tasks
from paddlegate.huey import limited as huey_limited
from paddlegate.rq import limited as rq_limited
from paddlegate.taskiq import LimitMiddleware
from paddlegate.taskiq import limited as taskiq_limited
from taskiq import InMemoryBroker
from taskiq.schedule_sources import LabelScheduleSource

loop = asyncio.new_event_loop()
HERE = Path(__file__).parent
JOBS = 1000 if SOAK else 20
WORKERS = {
    "rq": [
        ["rq.cli", "worker", "-u", "{url}", "--with-scheduler", "--path", ".", "{name}"],
        ["rq.cli", "worker", "-u", "{url}", "--with-scheduler", "--path", ".", "{name}"],
    ],
    "dramatiq": [["dramatiq", "hosts_app", "--processes", "1", "--threads", "4"]],
    "huey": [["huey.bin.huey_consumer", "hosts_app.tasks", "-w", "4", "-d", "0.1", "-s", "1"]],
    "taskiq": [
        ["taskiq", "worker", "hosts_app:taskiq_broker", "--workers", "2", "--log-level", "WARNING"],
        [
            "taskiq",
            "scheduler",
            "hosts_app:taskiq_scheduler",
            "--update-interval",
            "1",
            "--log-level",
            "WARNING",
        ],
    ],
}
# Those of tests that run in a soak alone.
MORE_WORKERS = {
    "rq": [
        [
            *["rq.cli", "worker", "-u", "{url}", "--with-scheduler", "--path", "."],
            *["--job-class", "hosts_app.NamedJob", "{name}-named"],
        ],
    ],
    "taskiq": [
        ["taskiq", "worker", "hosts_app:killable", "--workers", "1", "--log-level", "WARNING"],
    ],
}


@pytest.fixture(scope="module")
def app(url):
    """The module of the tasks."""
    os.environ["TASKS_URL"], os.environ["TASKS_NAME"] = url, f"hosts-{uuid.uuid4().hex}"
    sys.path.insert(0, str(HERE))
    sys.modules.pop("hosts_log", None)
    return importlib.import_module("hosts_app")


@pytest.fixture(scope="module", params=WORKERS)
def host(app, request, url):
    """A job system with its workers."""
    running = []
    for words in WORKERS[request.param] + (MORE_WORKERS.get(request.param, []) if SOAK else []):
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
        # Without a retry RQ takes the job of a killed worker for a failed one.
        retry = rq.Retry(2) if task == "killed" else None
        queue = app.named_queue if task == "by_name" else app.queue
        return queue.enqueue(function, *arguments, retry=retry)
    if host == "taskiq":
        return loop.run_until_complete(function.kiq(*arguments))
    return function.send(*arguments) if host == "dramatiq" else function(*arguments)


def ended(notes):
    return sorted(int(number) for _, kind, number in notes if kind == "end")


@pytest.mark.timeout(300)
def test_all_jobs_run_once_within_the_limits(app, host, until):
    # RQ begins a process for each job; its thousand are those of test_killed.py.
    jobs = min(JOBS, 30) if host == "rq" else JOBS
    began = time.monotonic()
    for number in range(jobs):
        send(app, host, "job", number)
    check(app, host, jobs, until)
    took, ideal = time.monotonic() - began, jobs / 12
    assert took >= ideal - 1, "twelve a second"
    if jobs == 1000:
        asks = app.count(f"{host}-asks") / jobs
        print(f"{host}: {took:.1f} s, {took / ideal:.2f} of the ideal, {asks:.2f} asks a job")
        assert took < 1.2 * ideal


@pytest.mark.soak
def test_coroutine_functions_run_once_within_the_limits(app, host, until):
    if host != "huey":  # It has none.
        for number in range(20):
            send(app, host, "asynchronous", number)
        check(app, f"{host}-async", 20, until)


def check(app, host, jobs, until):
    """Wait for the end of all jobs, and check what an outside log says."""
    until(lambda: len(ended(app.notes(host))) >= jobs, 250)
    notes = app.notes(host)
    assert ended(notes) == list(range(jobs)), "none is lost, none runs twice"
    running = most = 0
    for _, kind, _ in sorted(notes, key=lambda note: int(note[0])):
        running += 1 if kind == "begin" else -1
        most = max(most, running)
    assert most <= 2
    limiter = app.limiter(host)
    until(lambda: limiter.stats().leases == 0)
    assert (limiter.stats().granted, limiter.stats().tickets) == (jobs, 0)


@pytest.mark.soak
def test_tasks_without_a_decorator_are_limited_by_their_names(app, host, until):
    for number in range(6):
        send(app, host, "by_name", number)
    until(lambda: ended(app.notes(f"{host}-named")) == list(range(6)), 50)
    times = sorted(int(at) for at, _, _ in app.notes(f"{host}-named"))
    assert times[3] - times[0] > 0.9e9, "three a second"


@pytest.mark.soak
@pytest.mark.parametrize("host", ["rq", "taskiq"], indirect=True)
def test_a_job_of_a_killed_worker_runs_again(app, host, until):
    for number in range(8):
        send(app, host, "killed", number)

    def have_ended():
        if host == "taskiq":
            # It looks for the messages of a killed worker when the next one has come.
            send(app, host, "killed", 7)
            time.sleep(0.5)
        return set(ended(app.notes(f"{host}-killed"))) == set(range(8))

    until(have_ended, 50)
    limiter = app.pg.concurrent(f"{app.NAME}-{host}-killed", 1, lock_timeout=app.LEASE)
    until(lambda: limiter.stats().leases == 0)
    assert app.count(f"{host}-kills") >= 3, "it was killed, and ran again"


@pytest.mark.soak
@pytest.mark.parametrize("host", ["taskiq"], indirect=True)
def test_a_message_of_a_running_task_begins_no_second_run(app, host, until):
    """The broker takes the worker for dead after three seconds; the task takes eight."""
    send(app, host, "long")
    limiter = app.pg.concurrent(f"{app.NAME}-taskiq-long", 2, lock_timeout=60)

    def is_over():
        # The broker looks for such messages when another one has come.
        send(app, host, "killed", 7)
        time.sleep(0.5)
        return ended(app.notes("taskiq-long")) == [0] and app.unacknowledged() == 0

    until(is_over, 50)
    assert app.count("taskiq-long-claims") > 1, "the message came again"
    assert [what for _, what, _ in app.notes("taskiq-long")] == ["begin", "end"]
    assert (limiter.stats().granted, limiter.stats().leases) == (1, 0)
    assert not app.scheduled("taskiq_long"), "it does not run again later"


@pytest.mark.soak
def test_a_job_comes_back_when_the_server_does(app, host, until):
    send(app, host, "away")
    until(lambda: ended(app.notes(f"{host}-away")) == [0])


@pytest.mark.soak
@pytest.mark.parametrize("host", ["rq", "taskiq"], indirect=True)
def test_a_job_gets_its_permit(app, host, until):
    send(app, host, "spend", 40)
    until(lambda: app.pg.points(f"{app.NAME}-{host}-points", 100, 1000).stats().units == 39)


@pytest.mark.soak
@pytest.mark.parametrize("host", ["taskiq"], indirect=True)
def test_a_function_that_a_task_of_taskiq_calls_waits(app, host, until):
    """It cannot put the task back, which has begun."""
    send(app, host, "outer")
    until(lambda: ended(app.notes("taskiq-outer")) == [0])
    assert [what for _, what, _ in app.notes("taskiq-outer")] == ["begin", "end"]
    assert app.pg.window(f"{app.NAME}-taskiq-helper", 1, 0.2).stats().waited == 1


@pytest.mark.soak
@pytest.mark.parametrize("host", ["dramatiq", "taskiq"], indirect=True)
def test_retries_are_those_of_the_host(app, host, until):
    send(app, host, "fails")
    until(lambda: ended(app.notes(f"{host}-fails")) == [0, 1, 2][: 3 if host == "dramatiq" else 2])


@pytest.mark.parametrize("limited", [rq_limited, dramatiq_limited, huey_limited, taskiq_limited])
def test_outside_a_worker_the_function_waits(limited):
    limiter = Paddlegate("memory://").window("direct", 1, 0.1)

    @limited(limiter)
    def body(number):
        return number

    assert [body(1), body(2)] == [1, 2]
    assert limiter.stats().waited == 1


@pytest.mark.parametrize("limited", [rq_limited, dramatiq_limited, huey_limited, taskiq_limited])
@pytest.mark.parametrize(
    ("argument", "given"), [("limiter", {"limiter": "erp"}), ("patience", {"patience": -1})]
)
def test_bad_input_is_named(limited, argument, given):
    limiter = Paddlegate("memory://").window("bad", 1, 1)
    with pytest.raises(InvalidError) as caught:
        limited(**{"limiter": limiter, **given})
    assert caught.value.argument == argument


def test_a_call_after_a_task_in_memory_is_no_task():
    limiter = Paddlegate("memory://").window("memory", 1, 0.2)
    broker = InMemoryBroker(await_inplace=True)
    broker.add_middlewares(LimitMiddleware(LabelScheduleSource(broker)))

    @broker.task
    @taskiq_limited(limiter, patience=0)
    async def body(number):
        return number

    async def main():
        task = await body.kiq(1)
        return (await task.wait_result()).return_value, await body(2)

    assert asyncio.run(main()) == (1, 2)
    assert limiter.stats().waited == 1


@pytest.mark.soak
@pytest.mark.timeout(120)
@pytest.mark.parametrize("host", ["rq"], indirect=True)
def test_what_is_put_back_uses_up_no_retry_of_the_job(app, host, until):
    """The job returns two retries of its own, after it was put back twice."""
    holder = app.pg.concurrent(f"{app.NAME}-rq-returns", 1, lock_timeout=60).acquire()
    job = send(app, host, "returns")
    until(lambda: int(app.log.get(f"{app.NAME}-rq-returns-asks") or 0) >= 3, 50)
    holder.release()
    until(lambda: ended(app.notes("rq-returns")) == [0, 1, 2], 50)
    until(lambda: job.get_status() == "finished", 50)


def test_a_message_of_a_broker_that_is_not_the_global_one_is_limited():
    limiter = Paddlegate("memory://").concurrent("broker", 1)
    broker = StubBroker()
    broker.add_middleware(DramatiqMiddleware())
    leases = []

    @dramatiq.actor(broker=broker, max_retries=0)
    @dramatiq_limited(limiter)
    def body():
        leases.append(limiter.stats().leases)

    worker = dramatiq.Worker(broker, worker_threads=1)
    worker.start()
    body.send()
    broker.join("default", fail_fast=True)
    worker.stop()
    assert leases == [1]


@pytest.mark.parametrize("context", [False, True])
def test_a_task_of_huey_may_have_an_argument_named_task(url, context):
    """Without `context=True` it is one of the task's own."""
    limiter = Paddlegate("memory://").concurrent("task", 1)
    huey = RedisHuey(f"task-{uuid.uuid4().hex}", url=url)
    limit_tasks(huey, {"*": huey_limited(limiter)})

    @huey.task(context=context)
    def body(address, task):
        return address, getattr(task, "id", task), limiter.stats().leases

    result = body("a") if context else body("a", task="b")
    huey.execute(huey.dequeue())
    assert result() == ("a", result.id if context else "b", 1)
    direct = huey_limited(limiter)(lambda address, task: (address, task))
    assert direct("a", task="b") == ("a", "b")


def test_a_wrong_source_is_named():
    with pytest.raises(InvalidError) as caught:
        LimitMiddleware("redis://localhost")  # type: ignore[arg-type]
    assert caught.value.argument == "schedule_source"
