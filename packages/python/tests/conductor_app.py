# mypy: ignore-errors
"""The tasks of test_conductor.py for real workers of conductor-python, by the environment."""

import asyncio
import os
import sys
import time

import redis
from conductor.client.automator.task_handler import TaskHandler, get_registered_workers
from conductor.client.configuration.configuration import Configuration
from conductor.client.context.task_context import get_task_context
from conductor.client.worker.worker_task import worker_task
from paddlegate import Paddlegate
from paddlegate.conductor import gated, limited

URL, NAME = os.environ["TASKS_URL"], os.environ["TASKS_NAME"]

# A log that fails on a machine that stalls would fail the task, which would run again.
log = redis.Redis.from_url(URL, decode_responses=True, socket_timeout=60)
pg = Paddlegate(URL, timeout=20)
away = Paddlegate(os.environ.get("AWAY_URL", "redis://127.0.0.1:1"), timeout=1)
points = pg.points(f"{NAME}-points", 100, 1000)


def note(what, number):
    log.rpush(f"{NAME}-notes", f"{time.monotonic_ns()} {what} {number}")


def notes():
    return [line.split() for line in log.lrange(f"{NAME}-notes", 0, -1)]


def limiter(kind):
    return pg.limiter(f"{NAME}-{kind}", concurrency=2, window=(12, 1), lock_timeout=60)


def shut(kind):
    return pg.window(f"{NAME}-{kind}", 50, 1)


def brief(kind):
    """Give a limiter whose leases are shorter than its tasks."""
    return pg.concurrent(f"{NAME}-{kind}", 1, lock_timeout=4)


def work(kind, number, seconds=0.02):
    note(f"{kind}-begin", number)
    time.sleep(seconds)
    note(f"{kind}-end", number)


@worker_task(task_definition_name="job", thread_count=16)
@limited(limiter("job"))
def job(number: int) -> dict:
    work("job", number)
    return {"number": number}


@worker_task(task_definition_name="coroutine", thread_count=16)
@limited(limiter("coroutine"))
async def coroutine(number: int) -> dict:
    note("coroutine-begin", number)
    await asyncio.sleep(0.02)
    note("coroutine-end", number)
    return {"number": number}


@worker_task(task_definition_name="shut", thread_count=4)
@limited(shut("shut"))
def shut_job(number: int) -> dict:
    return {}


@worker_task(task_definition_name="coroutine-shut", thread_count=4)
@limited(shut("coroutine-shut"))
async def coroutine_shut(number: int) -> dict:
    return {}


@worker_task(task_definition_name="long", thread_count=2)
@limited(brief("long"))
def long(number: int) -> dict:
    work("long", number, 6)
    return {}


@worker_task(task_definition_name="coroutine-long", thread_count=2)
@limited(brief("coroutine-long"))
async def coroutine_long(number: int) -> dict:
    note("coroutine-long-begin", number)
    await asyncio.sleep(6)
    note("coroutine-long-end", number)
    return {}


@worker_task(task_definition_name="ends", thread_count=3)
@limited(pg.concurrent(f"{NAME}-ends", 2, lock_timeout=4))
def ends(number: int) -> dict:
    work("ends", number, 0.2)
    return {}


@worker_task(task_definition_name="away", thread_count=2)
@limited(away.window(f"{NAME}-away", 100, 1))
def away_job(number: int) -> dict:
    work("away", number)
    return {}


@worker_task(task_definition_name="spend")
@limited(points, estimate=lambda units: units)
def spend(units: int, *, permit) -> dict:
    permit.points_used(units - 1)
    return {"left": permit.decision.remaining}


@worker_task(task_definition_name="coroutine-spend")
@limited(pg.points(f"{NAME}-coroutine-points", 100, 1000), estimate=lambda units: units)
async def coroutine_spend(units: int, *, permit) -> dict:
    await permit.points_used(units - 1)
    return {"left": permit.decision.remaining}


@worker_task(task_definition_name="nameless")
@limited(lambda number: pg.concurrent("", 1))
def nameless(number: int) -> dict:
    work("nameless", number)
    return {}


@worker_task(task_definition_name="keyless")
@limited(pg.concurrent(f"{NAME}-keyless", 1, keyed=True), key=lambda number: None)
def keyless(number: int) -> dict:
    work("keyless", number)
    return {}


@worker_task(task_definition_name="fails")
@limited(points, cost=lambda number: 1 // number)
def fails(number: int) -> dict:
    return {}


@worker_task(task_definition_name="inner")
@limited(pg.window(f"{NAME}-inner", 1, 3, keyed=True), key=lambda number: "one")
def inner(number: int) -> dict:
    return {"number": number}


@worker_task(task_definition_name="outer")
def outer(number: int) -> dict:
    """Call a limited function that is not its own: it waits for more than its patience."""
    return {"inner": [inner(number), inner(number + 1)], "task": get_task_context().get_task_id()}


def main():
    names = os.environ["TASKS_WORKERS"].split()
    workers = [it for it in get_registered_workers() if it.get_task_definition_name() in names]
    configuration = Configuration(server_api_url=os.environ["TASKS_SERVER"])
    with TaskHandler(
        workers=gated(workers) if "TASKS_UNGATED" not in os.environ else workers,
        configuration=configuration,
        scan_for_annotated_workers=False,
        monitor_interval_seconds=0.5,
    ) as handler:
        handler.start_processes()
        print(*(it["pid"] for it in handler.get_worker_process_status()), flush=True)
        sys.stdin.read()
