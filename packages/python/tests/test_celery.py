# mypy: allow-untyped-calls
"""Celery tasks within limits, in real workers over a real broker. See celery_app.py."""

import importlib
import inspect
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from celery.exceptions import Retry, SoftTimeLimitExceeded  # type: ignore[import-untyped]
from conftest import SOAK  # type: ignore[import-not-found]
from paddlegate import SKIPPED, InvalidError, OverLimit, Paddlegate
from paddlegate._limited import NotYet
from paddlegate.celery import limited

HERE = Path(__file__).parent
PATIENT = 400
JOBS = 1000 if SOAK else 40


def worker(app, *options):
    """Start a worker of an app of the module."""
    words = [sys.executable, "-m", "celery", "-A", f"celery_app:{app}", "worker", "-l", "WARNING"]
    words += ["--without-gossip", "--without-mingle", "--without-heartbeat", *options]
    return subprocess.Popen(words, cwd=HERE)


@pytest.fixture(scope="module")
def module(url):
    """The module, without workers."""
    os.environ["TASKS_URL"], os.environ["TASKS_NAME"] = url, f"tasks-{uuid.uuid4().hex}"
    sys.path.insert(0, str(HERE))
    return importlib.import_module("celery_app")


@pytest.fixture(scope="module")
def tasks(module):
    """The module, with a worker; with `make soak` those of greenlets and threads, too."""
    workers = [worker("app", "-c", "8" if SOAK else "4")]
    if SOAK:
        workers += [
            worker("app", "-c", "8", "-P", "gevent", "-Q", f"{module.NAME}-gevent"),
            worker("by_name", "-c", "2", "-P", "threads"),
        ]
    yield module
    for process in workers:
        process.terminate()
    for process in workers:
        process.wait(PATIENT)


def at_once(notes):
    """The most bodies that ran at once, by what an outside log says."""
    running = most = 0
    for _, kind, _ in sorted(notes, key=lambda note: int(note[0])):
        running += 1 if kind == "begin" else -1
        most = max(most, running)
    return most


def ended(notes):
    return sorted(int(number) for _, kind, number in notes if kind == "end")


@pytest.mark.timeout(500)
def test_many_tasks_with_a_killed_worker(tasks):
    began = time.monotonic()
    results = [tasks.job.delay(number) for number in range(JOBS)]
    assert [result.get(PATIENT) for result in results] == [0] * JOBS, "no task is a retry"
    assert time.monotonic() - began >= JOBS / 20 - 1, "twenty a second"
    notes = tasks.notes("jobs")
    assert tasks.counted("kills") == 2, "the killed task ran again"
    assert ended(notes) == list(range(JOBS)), "none is lost, none runs twice"
    assert at_once(notes) <= 3
    stats = tasks.jobs.stats()
    # The killed task took a lease, and another one after that had ended.
    assert (stats.granted, stats.refused, stats.leases, stats.tickets) == (JOBS + 1, 0, 0, 0)


@pytest.mark.soak
def test_each_key_has_its_limit(tasks):
    results = [tasks.of_tenant.delay(tenant, i) for i in range(10) for tenant in ("a", "b")]
    for result in results:
        result.get(PATIENT)
    for tenant in ("a", "b"):
        notes = tasks.notes(tenant)
        assert (ended(notes), at_once(notes)) == (list(range(10)), 1)


@pytest.mark.soak
def test_greenlets_keep_the_limit(tasks):
    queue = f"{tasks.NAME}-gevent"
    results = [tasks.of_tenant.apply_async((queue, i), queue=queue) for i in range(20)]
    for result in results:
        result.get(PATIENT)
    notes = tasks.notes(queue)
    assert (ended(notes), at_once(notes)) == (list(range(20)), 1)


@pytest.mark.soak
def test_a_task_gets_its_permit_and_corrects_its_estimate(tasks):
    assert tasks.spend.delay(40).get(PATIENT) == 60
    assert tasks.budget.stats().units == 39


@pytest.mark.soak
@pytest.mark.parametrize(("kind", "runs"), [("ValueError", 3), ("KeyError", 1)])
def test_a_task_that_fails_releases_its_lease(tasks, kind, runs):
    with pytest.raises({"ValueError": ValueError, "KeyError": KeyError}[kind]):
        tasks.fails.delay(kind).get(PATIENT)
    assert tasks.counted(kind) == runs, "its retries are those that it asks for"
    assert tasks.errors.stats().leases == 0


@pytest.mark.soak
def test_a_time_limit_releases_the_lease(tasks):
    with pytest.raises(SoftTimeLimitExceeded):
        tasks.too_long.delay().get(PATIENT)
    assert tasks.errors.stats().leases == 0


@pytest.mark.soak
@pytest.mark.parametrize(
    ("task", "arguments", "error"),
    [
        ("wrong_key", (), ZeroDivisionError),
        ("not_keyed", (), InvalidError),
        ("too_large", (11,), InvalidError),
    ],
)
def test_bad_input_fails_the_task(tasks, task, arguments, error):
    with pytest.raises(error):
        getattr(tasks, task).delay(*arguments).get(PATIENT)


@pytest.mark.soak
def test_a_cost_above_a_lowered_limit_fails_the_task(tasks):
    small = tasks.pg.points(f"{tasks.NAME}-small", 10, 10)
    small.override(5)
    with pytest.raises(OverLimit):
        tasks.too_large.delay(9).get(PATIENT)
    small.restore()


@pytest.mark.parametrize(
    ("options", "after", "countdown"),
    [
        ({"visibility_timeout": 7}, 10, 3.5),
        ({"visibility_timeout": 7}, 3, 3),
        ({"visibility_timeout": 7}, None, 3.5),
        ({}, 5_000, 1_800),
        (None, None, 180),
    ],
)
def test_no_message_waits_for_longer_than_the_broker_allows(module, options, after, countdown):
    app = module.Celery("capped", broker="memory://", set_as_current=False)
    app.conf.broker_transport_options = options

    @app.task(bind=True)
    def capped(self):
        raise AssertionError

    sent = []
    capped.apply_async = lambda *_, **given: sent.append(given)
    capped.push_request(id="1", args=(), kwargs={}, retries=4)
    limiter = Paddlegate("memory://").window("capped", 1, 60)
    wait = NotYet(after, OverLimit("capped", limiter.peek()))
    with pytest.raises(Retry) as caught:
        limited(limiter)._put_back(capped, wait)
    assert (sent[0]["countdown"], sent[0]["retries"], sent[0]["task_id"]) == (countdown, 4, "1")
    assert caught.value.when == countdown


@pytest.mark.soak
def test_a_task_comes_back_when_the_server_does(tasks):
    assert tasks.unreachable.delay().get(PATIENT) == 2


@pytest.mark.soak
def test_a_task_comes_back_when_no_time_is_known(tasks):
    assert tasks.when_opened.delay().get(PATIENT) == 1
    assert tasks.counted("asked-opened") == 3


@pytest.mark.soak
def test_a_task_in_a_pause_waits_in_the_broker(tasks, until):
    tasks.opened.pause(600)
    result = tasks.when_opened.delay()
    until(lambda: result.state == "RETRY")
    assert isinstance(result.info, OverLimit)
    tasks.opened.resume()


@pytest.mark.soak
def test_a_result_is_not_overwritten_by_the_state_of_a_task_that_waits(tasks, until):
    """The state RETRY is stored before the task is sent, however long that takes."""
    ident = uuid.uuid4().hex
    tasks.log.sadd(f"{tasks.NAME}-stalling", f"celery-task-meta-{ident}")
    result = tasks.stalls.apply_async(task_id=ident)
    until(lambda: tasks.counted("stalls") > 0, PATIENT)
    tasks.count("stalled-open")
    assert result.get(PATIENT) == 1
    until(lambda: tasks.counted("stalled-stores") == tasks.counted("stalls"), PATIENT)
    # What was stored last is there.
    time.sleep(0.5)
    assert tasks.app.AsyncResult(ident).state == "SUCCESS"


@pytest.mark.soak
def test_a_lease_is_renewed_while_its_task_runs(tasks):
    for result in [tasks.renews.delay(number) for number in range(2)]:
        result.get(PATIENT)
    notes = tasks.notes("renewed")
    assert (ended(notes), at_once(notes)) == ([0, 1], 1)
    assert (tasks.renewed.stats().reclaimed, tasks.renewed.stats().overages) == (0, 0)


@pytest.mark.soak
def test_tasks_are_limited_by_their_names(tasks):
    with pytest.raises(InvalidError):
        tasks.export.delay(10).get(PATIENT)
    assert tasks.export.delay(4).get(PATIENT) == 4
    assert tasks.send.delay(10).get(PATIENT) == 10
    assert tasks.pg.window(f"{tasks.NAME}-shop", 9, 60).stats().units == 4


@pytest.mark.soak
def test_tasks_with_a_base_of_their_own_are_limited_by_their_names(tasks):
    based = tasks.pg.window(f"{tasks.NAME}-based", 9, 3600)
    assert tasks.based.delay(2).get(PATIENT) == 2
    called = tasks.based_and_called.delay(3).get(PATIENT)
    assert called == ["called", ["based.called", 0, 3]]
    assert tasks.registered.delay(4).get(PATIENT) == 4
    assert based.peek().remaining == 0
    for task in tasks.based, tasks.based_and_called, tasks.registered:
        with pytest.raises(InvalidError):
            task.delay(10).get(PATIENT)


@pytest.mark.soak
def test_a_task_that_is_limited_by_its_name_may_call_itself(tasks):
    assert tasks.tree.delay(1).get(PATIENT) == [1, 0]


@pytest.mark.soak
@pytest.mark.parametrize("length", [64, 65, 300])
def test_a_long_id_of_a_task_is_shortened(tasks, length):
    assert tasks.ident.apply_async(task_id=uuid.uuid4().hex.ljust(length, "x")).get(PATIENT) == 1


@pytest.mark.soak
def test_a_task_that_cannot_be_put_back_fails(tasks):
    """The caller would wait for ever for one that is in no queue."""
    with pytest.raises(tasks.UnsentError):
        tasks.unsent.delay().get(PATIENT)


def test_outside_a_worker_the_function_waits(module):
    memory = Paddlegate("memory://")
    limiter = memory.window("direct", 2, 0.2)

    @module.app.task
    @limited(limiter)
    def task(number):
        return number

    assert [task(1), task.run(2), task.apply((3,)).get()] == [1, 2, 3]
    assert limiter.stats().waited == 1
    assert memory.window("skipped", 1, 60, on_limit="ignore").allow()
    skipped = memory.window("skipped", 1, 60, wait_timeout=0, on_limit="ignore")
    skipping = limited(skipped)(lambda: None)
    assert skipping() is SKIPPED


@pytest.mark.soak
def test_a_function_that_a_task_calls_waits(tasks):
    """It cannot put the task back, which has begun."""
    assert tasks.outer.delay().get(PATIENT) == [1, 2]


def test_the_signature_is_that_of_the_function_without_the_permit():
    @limited(Paddlegate("memory://").window("signature", 1, 60))
    def body(units, *, permit):
        """Spend."""

    assert (str(inspect.signature(body)), body.__doc__) == (
        "(units)",
        "Spend.",
    )


@pytest.mark.parametrize("patience", [0, 0.2])
def test_a_task_keeps_its_ticket_when_its_patience_is_over(url, name, patience):
    limiter = Paddlegate(url, timeout=20).concurrent(name, 1, lock_timeout=600)
    limit = limited(limiter, claim_timeout=0.001, patience=patience)
    holder = limiter.acquire()
    with pytest.raises(NotYet) as caught:
        limit._run_task("task", print, (), {})
    assert caught.value.after is not None
    time.sleep(0.5)
    # A ticket that does not stay is removed by the calls of others.
    limiter.admit("another", "reschedule")
    assert [ticket.id for ticket in limiter.queue()] == ["task", "another"]
    stats = limiter.stats()
    assert (stats.refused, stats.tickets) == (0, 2)
    holder.release()


def test_a_task_that_runs_begins_no_second_run(url, name):
    limiter = Paddlegate(url, timeout=20).concurrent(name, 2, lock_timeout=600)
    limit = limited(limiter)

    def body():
        with pytest.raises(NotYet) as caught:
            limit._run_task("task", print, (), {})
        assert isinstance(caught.value.reason, OverLimit)
        assert caught.value.reason.reason == "running"
        assert caught.value.after is not None
        assert 0 < caught.value.after <= 600, "when the lease ends"
        return limiter.stats().leases

    assert limit._run_task("task", body, (), {}) == 1
    assert limit._run_task("task", lambda: "again", (), {}) == "again"


@pytest.mark.parametrize("patience", [-1, float("nan"), "1"])
def test_a_wrong_patience_is_named(patience):
    with pytest.raises(InvalidError) as caught:
        limited(Paddlegate("memory://").window("patience", 1, 60), patience=patience)
    assert caught.value.argument == "patience"
