# mypy: ignore-errors
"""What the tasks of hosts_app.py and arq_app.py share: limiters, and a log of what runs when."""

import os
import time

import redis
from paddlegate import Paddlegate

# A job of a killed worker runs again when its lease has ended.
LEASE = 10
URL, NAME = os.environ["TASKS_URL"], os.environ["TASKS_NAME"]

# A log that fails on a machine that stalls would fail the job.
log = redis.Redis.from_url(URL, decode_responses=True, socket_timeout=60)
pg = Paddlegate(URL, timeout=20)
away = Paddlegate("redis://127.0.0.1:1", timeout=0.1)


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
    return pg.limiter(f"{NAME}-{host}", concurrency=2, window=(12, 1), lock_timeout=LEASE)


def first_away(host):
    """Give a limiter whose server is away, and then another."""
    is_first = count(f"{host}-asked") == 1
    return (away if is_first else pg).window(f"{NAME}-{host}-away", 9, 1)
