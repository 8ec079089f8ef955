# mypy: ignore-errors
"""The jobs of test_killed.py for real workers, one of which is killed amid its work."""

import asyncio
import os
import signal
import time
from urllib.parse import urlsplit

import dramatiq
import huey
import paddlegate.dramatiq
import paddlegate.huey
import paddlegate.rq
import paddlegate.taskiq
import redis
import rq.job
from dramatiq.brokers.redis import RedisBroker
from hosts_log import NAME, URL, count, log, note, notes, pg
from taskiq import TaskiqScheduler
from taskiq_redis import ListRedisScheduleSource, RedisStreamBroker

__all__ = ["log", "notes", "rq"]

# The job whose first worker is killed; none for a negative number.
VICTIM = int(os.environ["TASKS_VICTIM"])
# A worker that stalls for less loses neither its lease nor its messages.
LOST = 10
# taskiq gives a message to another worker although the first lives and has not begun with it.
IDLE = 60
broker = RedisBroker(
    url=URL, namespace=NAME, heartbeat_timeout=LOST * 1000, maintenance_chance=50_000
)
broker.add_middleware(paddlegate.dramatiq.LimitMiddleware())
dramatiq.set_broker(broker)
tasks = huey.RedisHuey(NAME, url=URL, utc=True)
paddlegate.huey.recover_tasks(tasks, after=LOST)
parts = urlsplit(URL)
forgetful = huey.RedisHuey(f"{NAME}-forgetful", host=parts.hostname, port=parts.port, utc=True)
# A worker that takes it imports this module before it forks for each job.
RqJob = rq.job.Job
queue = rq.Queue(NAME, connection=redis.Redis.from_url(URL))
source = ListRedisScheduleSource(URL, prefix=f"{NAME}-schedule")
taskiq_broker = RedisStreamBroker(
    URL, queue_name=f"{NAME}-stream", consumer_id="0", idle_timeout=IDLE * 1000
).with_middlewares(paddlegate.taskiq.LimitMiddleware(source))
taskiq_scheduler = TaskiqScheduler(taskiq_broker, [source])


def limiter(host):
    """Three at once and twenty a second."""
    return pg.limiter(f"{NAME}-{host}", concurrency=3, window=(20, 1), lock_timeout=LOST)


def asking(host):
    """Give a limiter to a job, and count that it asks."""

    def limiter_of(number):
        note(host, "ask", number)
        return limiter(host)

    return limiter_of


def work(host, number):
    note(host, "begin", f"{number} {os.getpid()}")
    time.sleep(0.05)
    finish(host, number)


def finish(host, number):
    if number == VICTIM and count(f"{host}-kills") == 1:
        note(host, "kill", f"{number} {os.getpid()}")
        os.kill(os.getpid(), signal.SIGKILL)
    note(host, "end", f"{number} {os.getpid()}")


@dramatiq.actor(max_retries=0)
@paddlegate.dramatiq.limited(asking("dramatiq"))
def dramatiq_job(number):
    work("dramatiq", number)


@tasks.task(context=True)
@paddlegate.huey.limited(asking("huey"))
def huey_job(number):
    work("huey", number)


@forgetful.task(context=True)
@paddlegate.huey.limited(asking("forgetful"))
def forgetful_job(number):
    work("forgetful", number)


@paddlegate.rq.limited(asking("rq"))
def rq_job(number):
    work("rq", number)


@taskiq_broker.task
@paddlegate.taskiq.limited(asking("taskiq"))
async def taskiq_job(number):
    note("taskiq", "begin", f"{number} {os.getpid()}")
    await asyncio.sleep(0.05)
    finish("taskiq", number)


@taskiq_broker.task
def poke():
    """Have the broker look for the messages of a killed worker, as it does when one has come."""
