# mypy: allow-untyped-calls
"""What paddlegate.conductor is made of, without a server; and the documents of conductor-python."""

import asyncio
import pickle
import time

import pytest
from conductor.client.context.task_context import (  # type: ignore[import-untyped]
    TaskContext,
)
from conductor.client.http.models.rate_limit import RateLimit  # type: ignore[import-untyped]
from conductor.client.http.models.task import Task  # type: ignore[import-untyped]
from conductor.client.http.models.task_def import TaskDef  # type: ignore[import-untyped]
from conductor.client.http.models.task_result import TaskResult  # type: ignore[import-untyped]
from conductor.client.http.models.workflow import Workflow  # type: ignore[import-untyped]
from conductor.client.http.models.workflow_def import WorkflowDef  # type: ignore[import-untyped]
from conductor.client.worker.worker import Worker  # type: ignore[import-untyped]
from conductor.client.worker.worker_interface import (  # type: ignore[import-untyped]
    WorkerInterface,
)
from paddlegate import InvalidError, Paddlegate, _poll_gate
from paddlegate._conductor_task import hold_until, put_back
from paddlegate._conductor_worker import LIMIT
from paddlegate._limited import NotYet
from paddlegate._poll_gate import PollGate
from paddlegate.conductor import GatedWorker, gated, limited

pg = Paddlegate("memory://")
PAUSED = pg.window("paused", 1, 1)


@limited(PAUSED)
def body(number):
    return number


def plain(number):
    return number


def context(**task):
    given = Task(task_id="t", workflow_instance_id="w", **task)
    return TaskContext(given, TaskResult(task_id="t", workflow_instance_id="w", worker_id="me"))


@pytest.mark.parametrize(
    ("after", "seconds"), [(2.1, 3), (0.01, 1), (0, 1), (None, 5), (5000, 5000)]
)
def test_a_task_goes_back_for_whole_seconds(after, seconds):
    wait = NotYet(after, InvalidError("waits"))
    result = put_back(context(output_data={"done": 3}), wait, 0)
    assert (result.status, result.callback_after_seconds) == ("IN_PROGRESS", seconds)
    assert (result.task_id, result.workflow_instance_id, result.worker_id) == ("t", "w", "me")
    assert result.output_data == {"done": 3}, "what it had done stays"


def test_the_time_for_which_a_task_was_held_counts():
    result = put_back(context(), NotYet(9.5, InvalidError("waits")), 6)
    assert result.callback_after_seconds == 4


def test_a_task_of_a_paused_limiter_comes_back_before_a_long_pause_ends():
    limiter = pg.window("long pause", 1, 1)
    limiter.pause(3000)
    refused = limited(limiter)
    with pytest.raises(NotYet) as caught:
        refused._run_task("t", plain, (1,), {})
    assert put_back(context(), caught.value, 0).callback_after_seconds == 60


def test_a_task_is_held_for_half_of_its_response_timeout_at_most():
    now = time.monotonic()
    assert hold_until(context(response_timeout_seconds=1)) - now < 5
    assert hold_until(context()) - now >= 5


def test_the_gate_is_closed_while_nothing_passes(clock):
    store = Paddlegate("memory://", clock=clock)
    limiter = store.limiter("full", concurrency=1, window=(2, 10), lock_timeout=60)
    gate = PollGate(limiter, {}, 1)
    assert not gate.is_closed()
    permit = limiter.acquire()
    gate._ask()
    assert gate.is_closed(), "one at once"
    permit.release()
    gate.ask_soon()
    assert not gate.is_closed()
    limiter.acquire().release()
    gate._ask()
    assert gate.is_closed(), "two in ten seconds"
    clock.advance(9.5)
    gate._ask()
    assert not gate.is_closed(), "a task would wait for half a second"


def test_the_gate_does_not_ask_each_time(monkeypatch):
    asked = []

    class Full:
        def peek(self, **options):
            asked.append(options)
            return PAUSED.peek()

    PAUSED.pause(60)
    gate = PollGate(Full(), {"cost": 2}, 1)  # type: ignore[arg-type]
    now = 1000.0
    monkeypatch.setattr(_poll_gate, "monotonic", lambda: now)
    times = []
    for milliseconds in range(4000):
        now = 1000 + milliseconds / 1000
        before = len(asked)
        gate.is_closed()
        if len(asked) > before:
            times.append(milliseconds)
    # Twice as late each time, then each second.
    assert times == pytest.approx([0, 50, 100, 200, 400, 800, 1600, 2600, 3600], abs=9)
    assert asked[0] == {"key": None, "cost": 2, "estimate": None, "limits": True}


def test_the_gate_lets_in_a_task_whose_turn_has_come(clock):
    limiter = Paddlegate("memory://", clock=clock).window("turn", 1, 10)
    gate = PollGate(limiter, {}, 1)
    assert [limiter.admit(task).action for task in "abc"] == ["run", "wait", "wait"]
    gate._ask()
    assert gate.is_closed()
    clock.advance(10)
    assert limiter.peek().reason, "a new call is behind the queue"
    gate._ask()
    assert not gate.is_closed()
    assert limiter.admit("b").action == "run"


def test_the_gate_waits_while_the_limiter_is_paused():
    limiter = pg.window("waits", 1, 1)
    gate = PollGate(limiter, {}, 0)
    assert not gate.opens(time.monotonic() + 50), "there was nothing to wait for"
    limiter.pause(1)
    assert gate.opens(time.monotonic() + 50)
    limiter.pause(50)
    assert not gate.opens(time.monotonic() + 0.1)

    limiter.resume()

    async def waits():
        limiter.pause(1)
        assert await gate.aopens(time.monotonic() + 50)
        assert not await gate.aopens(time.monotonic() + 50)

    asyncio.run(waits())


def test_the_gate_is_closed_while_no_store_decides():
    away = Paddlegate("redis://127.0.0.1:1", timeout=0.1)
    assert PollGate(away.window("a", 1, 1), {}, 1).is_closed()
    assert PollGate(away.window("a", 1, 1, on_unavailable="fail_closed"), {}, 1).is_closed()
    assert not PollGate(away.window("a", 1, 1, on_unavailable="fail_open"), {}, 1).is_closed()


@pytest.mark.parametrize("chosen", [{"limiter": lambda number: PAUSED}, {"key": lambda number: ""}])
def test_there_is_no_gate_where_the_task_chooses_the_limit(chosen):
    keyed = pg.window("keyed", 1, 1, keyed=True)
    PAUSED.pause(60)
    limit = limited(**{"limiter": keyed, **chosen})
    assert not limit.gate.is_closed()
    assert not limit.gate.opens(time.monotonic() + 50)


def test_only_workers_with_a_limit_are_gated():
    workers = [Worker("a", body), Worker("b", plain)]
    assert gated(workers) is workers
    assert [type(it) for it in workers] == [GatedWorker, Worker]
    assert gated([GatedWorker("c", body)])

    class Other(WorkerInterface):  # type: ignore[misc]
        execute_function = staticmethod(body)

        def execute(self, task):
            return None

    with pytest.raises(InvalidError) as caught:
        gated([Other("d")])
    assert caught.value.argument == "workers"


def test_a_gated_worker_is_paused_by_its_gate_and_by_hand():
    PAUSED.pause(60)
    (worker,) = gated([Worker("a", body)])
    assert worker.paused
    worker.paused = worker.paused
    getattr(body, LIMIT).gate.ask_soon()
    PAUSED.resume()
    assert not worker.paused, "what a task runner read at its start is not for ever"
    worker.paused = True
    copy = pickle.loads(pickle.dumps(worker))
    assert isinstance(copy, GatedWorker)
    assert copy.paused is True


def test_outside_a_worker_the_function_waits():
    limiter = pg.window("direct", 1, 0.1)

    @limited(limiter)
    def body(number):
        return number

    @limited(limiter)
    async def coroutine(number):
        return number

    assert [body(1), asyncio.run(coroutine(2)), body(3)] == [1, 2, 3]
    assert limiter.stats().granted == 3


@pytest.mark.parametrize(
    ("argument", "given"), [("limiter", {"limiter": "erp"}), ("patience", {"patience": -1})]
)
def test_bad_input_is_named(argument, given):
    with pytest.raises(InvalidError) as caught:
        limited(**{"limiter": PAUSED, **given})
    assert caught.value.argument == argument


# `to_dict` of conductor-python reads its own former names.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("numbers", "limits"),
    [
        ({}, []),
        ({"rate_limit_per_frequency": 0, "concurrent_exec_limit": 0}, []),
        (
            {
                "rate_limit_per_frequency": 12,
                "rate_limit_frequency_in_seconds": 5,
                "concurrent_exec_limit": 2,
                "response_timeout_seconds": 60,
                "retry_count": 3,
            },
            [("concurrency", 2, 60), ("window", 12, 5)],
        ),
    ],
)
def test_a_task_definition_is_read_as_it_is_written(numbers, limits):
    definition = TaskDef(name="mail", **numbers).to_dict()
    limiter = pg.limiters_from_document(definition)["conductor/task/mail"]
    assert [(it.kind, it.limit, it.interval) for it in limiter.inspect().limits] == limits


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("given", "name", "limits"),
    [
        (None, "conductor/unlimited/order", []),
        ({}, "conductor/unlimited/order", []),
        (
            {"rate_limit_key": "${workflow.input.shop}", "concurrent_exec_limit": 3},
            "conductor/workflow/7",
            [("concurrency", 3)],
        ),
        (
            {"tag": "shop-${workflow.input.shop}", "concurrent_execution_limit": 2},
            "conductor/workflow/shop-7",
            [("concurrency", 2)],
        ),
    ],
)
def test_a_workflow_definition_is_read_as_it_is_written(given, name, limits):
    config = None if given is None else RateLimit(**given)
    definition = WorkflowDef(name="order", version=1, tasks=[], rate_limit_config=config).to_dict()
    limiter = pg.conductor_limiter(definition, {"input": {"shop": "7"}}, lock_timeout=60)
    assert limiter.name == name
    assert [(it.kind, it.limit) for it in limiter.inspect().limits] == limits


def test_a_run_is_read_as_it_is_written():
    definition = {
        "name": "order",
        "rateLimitConfig": {"rateLimitKey": "${workflow.correlationId}", "concurrentExecLimit": 1},
    }
    run = Workflow(correlation_id="7", input={}).to_dict()
    assert pg.conductor_limiter(definition, run, lock_timeout=60).name == "conductor/workflow/7"
