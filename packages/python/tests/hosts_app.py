# mypy: ignore-errors
"""The tasks of test_hosts.py for real workers of RQ, Dramatiq and Huey, by the environment."""

import asyncio
import os
import signal
from typing import Annotated
from urllib.parse import urlsplit

import dramatiq
import huey
import paddlegate.dramatiq
import paddlegate.huey
import paddlegate.rq
import paddlegate.taskiq
import redis
import rq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import AsyncIO, CurrentMessage
from hosts_log import LEASE, NAME, URL, count, first_away, limiter, log, note, notes, pg, work
from taskiq import Context, SmartRetryMiddleware, TaskiqDepends, TaskiqScheduler
from taskiq_redis import ListRedisScheduleSource, RedisAsyncResultBackend, RedisStreamBroker

__all__ = ["LEASE", "notes"]

broker = RedisBroker(url=URL, namespace=NAME)
broker.add_middleware(paddlegate.dramatiq.LimitMiddleware())
broker.add_middleware(AsyncIO())
dramatiq.set_broker(broker)
parts = urlsplit(URL)
tasks = huey.RedisHuey(
    NAME, host=parts.hostname, port=parts.port, password=parts.password, utc=True
)
queue = rq.Queue(NAME, connection=redis.Redis.from_url(URL))
source = ListRedisScheduleSource(URL, prefix=f"{NAME}-schedule")
taskiq_broker = (
    RedisStreamBroker(URL, queue_name=f"{NAME}-stream", consumer_id="0")
    .with_result_backend(RedisAsyncResultBackend(URL, prefix_str=f"{NAME}-results"))
    .with_middlewares(
        SmartRetryMiddleware(
            default_retry_label=True, default_retry_count=2, default_delay=1, schedule_source=source
        ),
        paddlegate.taskiq.LimitMiddleware(source),
    )
)
taskiq_scheduler = TaskiqScheduler(taskiq_broker, [source])
# The messages of a killed worker go to another one after three seconds.
killable = RedisStreamBroker(
    URL, queue_name=f"{NAME}-killable", consumer_id="0", idle_timeout=3000
).with_middlewares(paddlegate.taskiq.LimitMiddleware(source))


def asking(host):
    """Give a limiter to a job, and count that it asks."""

    def limiter_of(*_, **__):
        count(f"{host}-asks")
        return limiter(host)

    return limiter_of


def counted_long():
    count("taskiq-long-claims")
    return pg.concurrent(f"{NAME}-taskiq-long", 2, lock_timeout=60)


def unacknowledged():
    """Return how many messages the killable broker still holds for its workers."""
    return log.xpending(f"{NAME}-killable", "taskiq")["pending"]


def scheduled(task):
    """Return whether a task is to run again."""
    client = redis.Redis.from_url(URL)
    found = (client.get(key) or b"" for key in client.scan_iter(f"{NAME}-schedule:data:*"))
    return any(task.encode() in text for text in found)


def kill_once(host, number):
    if number == 3 and count(f"{host}-kills") == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    note(f"{host}-killed", "end", number)


def named(host):
    return pg.window(f"{NAME}-{host}-named", 3, 1)


paddlegate.dramatiq.limit_tasks(
    broker, {"*_by_name": paddlegate.dramatiq.limited(named("dramatiq"))}
)
paddlegate.huey.limit_tasks(tasks, {"hosts_app.*_by_name": paddlegate.huey.limited(named("huey"))})
paddlegate.taskiq.limit_tasks(
    taskiq_broker, {"hosts_app:*_by_name": paddlegate.taskiq.limited(named("taskiq"))}
)
NamedJob = paddlegate.rq.job_class({"hosts_app.*_by_name": paddlegate.rq.limited(named("rq"))})
named_queue = rq.Queue(f"{NAME}-named", connection=redis.Redis.from_url(URL))


def rq_by_name(number):
    note("rq-named", "end", number)


@dramatiq.actor(max_retries=0)
def dramatiq_by_name(number):
    note("dramatiq-named", "end", number)


@tasks.task()
def huey_by_name(number):
    note("huey-named", "end", number)


@taskiq_broker.task
async def taskiq_by_name(number):
    note("taskiq-named", "end", number)


async def awork(host, number):
    note(host, "begin", number)
    await asyncio.sleep(0.02)
    note(host, "end", number)


rq_limited = paddlegate.rq.limited(asking("rq"), patience=1)


@rq_limited
def rq_job(number):
    work("rq", number)


@paddlegate.rq.limited(limiter("rq-async"), patience=0)
async def rq_asynchronous(number):
    await awork("rq-async", number)


@paddlegate.rq.limited(pg.concurrent(f"{NAME}-rq-killed", 1, lock_timeout=LEASE))
def rq_killed(number):
    kill_once("rq", number)


@paddlegate.rq.limited(lambda: first_away("rq"))
def rq_away():
    note("rq-away", "end", 0)


def counted_returns():
    count("rq-returns-asks")
    return pg.concurrent(f"{NAME}-rq-returns", 1, lock_timeout=60)


@paddlegate.rq.limited(counted_returns, patience=0, claim_timeout=0.5)
def rq_returns():
    runs = count("rq-returns-runs")
    note("rq-returns", "end", runs - 1)
    return rq.Retry(max=2) if runs < 3 else None


@paddlegate.rq.limited(pg.points(f"{NAME}-rq-points", 100, 1000), estimate=lambda units: units)
def rq_spend(units, *, permit):
    permit.points_used(units - 1)


@dramatiq.actor(max_retries=0)
@paddlegate.dramatiq.limited(asking("dramatiq"), patience=1)
def dramatiq_job(number):
    work("dramatiq", number)


@dramatiq.actor(max_retries=0)
@paddlegate.dramatiq.limited(limiter("dramatiq-async"), patience=0)
async def dramatiq_asynchronous(number):
    await awork("dramatiq-async", number)


@dramatiq.actor(max_retries=0)
@paddlegate.dramatiq.limited(lambda: first_away("dramatiq"))
def dramatiq_away():
    note("dramatiq-away", "end", 0)


@dramatiq.actor(max_retries=2, min_backoff=1, max_backoff=1)
@paddlegate.dramatiq.limited(pg.concurrent(f"{NAME}-fails", 1))
def dramatiq_fails():
    note("dramatiq-fails", "end", CurrentMessage.get_current_message().options.get("retries", 0))
    raise ValueError


@tasks.task(context=True)
@paddlegate.huey.limited(asking("huey"), patience=1)
def huey_job(number):
    work("huey", number)


@tasks.task(context=True)
@paddlegate.huey.limited(lambda task: first_away("huey"))
def huey_away(task):
    note("huey-away", "end", task.retries)


@taskiq_broker.task
@paddlegate.taskiq.limited(asking("taskiq"))
def taskiq_job(number):
    work("taskiq", number)


@taskiq_broker.task
@paddlegate.taskiq.limited(limiter("taskiq-async"), patience=0.1)
async def taskiq_asynchronous(number):
    await awork("taskiq-async", number)


@killable.task
@paddlegate.taskiq.limited(
    pg.concurrent(f"{NAME}-taskiq-killed", 1, lock_timeout=LEASE), patience=60
)
async def taskiq_killed(number):
    kill_once("taskiq", number)


@taskiq_broker.task
@paddlegate.taskiq.limited(lambda: first_away("taskiq"))
async def taskiq_away():
    note("taskiq-away", "end", 0)


@killable.task
@paddlegate.taskiq.limited(lambda: counted_long())
async def taskiq_long():
    note("taskiq-long", "begin", 0)
    await asyncio.sleep(8)
    note("taskiq-long", "end", 0)


@taskiq_broker.task
@paddlegate.taskiq.limited(
    pg.points(f"{NAME}-taskiq-points", 100, 1000), estimate=lambda units: units
)
async def taskiq_spend(units, *, permit):
    await permit.points_used(units - 1)
    return permit.decision.remaining


@taskiq_broker.task
@paddlegate.taskiq.limited(pg.concurrent(f"{NAME}-taskiq-fails", 1))
async def taskiq_fails(context: Annotated[Context, TaskiqDepends()]):
    note("taskiq-fails", "end", int(context.message.labels.get("_retries", 0)))
    raise ValueError


@paddlegate.taskiq.limited(pg.window(f"{NAME}-taskiq-helper", 1, 0.2), patience=0)
async def helper():
    pass


@taskiq_broker.task
async def taskiq_outer():
    note("taskiq-outer", "begin", 0)
    await helper()
    await helper()
    note("taskiq-outer", "end", 0)
