# mypy: ignore-errors
"""The tasks of test_hosts.py for real workers of RQ, Dramatiq and Huey, by the environment."""

import os
import time
from urllib.parse import urlsplit

import dramatiq
import huey
import paddlegate.dramatiq
import paddlegate.huey
import paddlegate.rq
import redis
import rq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import CurrentMessage
from paddlegate import Paddlegate

URL, NAME = os.environ["TASKS_URL"], os.environ["TASKS_NAME"]

log = redis.Redis.from_url(URL, decode_responses=True)
pg = Paddlegate(URL, timeout=20)
away = Paddlegate("redis://127.0.0.1:1", timeout=0.1)

broker = RedisBroker(url=URL, namespace=NAME)
broker.add_middleware(CurrentMessage())
dramatiq.set_broker(broker)
parts = urlsplit(URL)
tasks = huey.RedisHuey(
    NAME, host=parts.hostname, port=parts.port, password=parts.password, utc=True
)
queue = rq.Queue(NAME, connection=redis.Redis.from_url(URL))


def count(what):
    return log.incr(f"{NAME}-{what}")


def note(host, what, number):
    log.rpush(f"{NAME}-{host}", f"{time.monotonic_ns()} {what} {number}")


def notes(host):
    return [line.split() for line in log.lrange(f"{NAME}-{host}", 0, -1)]


def work(host, number):
    note(host, "begin", number)
    time.sleep(0.02)
    note(host, "end", number)


def limiter(host):
    return pg.limiter(f"{NAME}-{host}", concurrency=2, window=(12, 1), lock_timeout=60)


def first_away(host):
    """Give a limiter whose server is away, and then another."""
    is_first = count(f"{host}-asked") == 1
    return (away if is_first else pg).window(f"{NAME}-{host}-away", 9, 1)


rq_limited = paddlegate.rq.limited(limiter("rq"), patience=1)


@rq_limited
def rq_job(number):
    work("rq", number)


@paddlegate.rq.limited(lambda: first_away("rq"))
def rq_away():
    note("rq-away", "end", 0)


@paddlegate.rq.limited(pg.points(f"{NAME}-rq-points", 100, 1000), estimate=lambda units: units)
def rq_spend(units, *, permit):
    permit.points_used(units - 1)


@dramatiq.actor(max_retries=0)
@paddlegate.dramatiq.limited(limiter("dramatiq"), patience=1)
def dramatiq_job(number):
    work("dramatiq", number)


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
@paddlegate.huey.limited(limiter("huey"), patience=1)
def huey_job(number):
    work("huey", number)


@tasks.task(context=True)
@paddlegate.huey.limited(lambda task: first_away("huey"))
def huey_away(task):
    note("huey-away", "end", task.retries)
