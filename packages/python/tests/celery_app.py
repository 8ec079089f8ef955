# mypy: ignore-errors
"""The tasks of test_celery.py for real workers; the environment has the address and a name."""

import os
import signal
import time

import redis
from celery import Celery, Task
from celery.backends.redis import RedisBackend
from paddlegate import Paddlegate
from paddlegate.celery import limit_tasks, limited

URL, NAME = os.environ["TASKS_URL"], os.environ["TASKS_NAME"]

app = Celery("tasks", broker=URL, backend=URL)
app.conf.update(
    task_default_queue=NAME,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
)
# A log that fails on a machine that stalls would fail the task, which would run again.
log = redis.Redis.from_url(URL, decode_responses=True, socket_timeout=60)
pg = Paddlegate(URL, timeout=20)
away = Paddlegate("redis://127.0.0.1:1", timeout=0.1)


def count(what):
    return log.incr(f"{NAME}-{what}")


def counted(what):
    return int(log.get(f"{NAME}-{what}") or 0)


def note(what, *words):
    log.rpush(f"{NAME}-{what}", " ".join(map(str, (time.monotonic_ns(), *words))))


def notes(what):
    return [line.split() for line in log.lrange(f"{NAME}-{what}", 0, -1)]


def body(what, number):
    note(what, "begin", number)
    time.sleep(0.05)
    note(what, "end", number)


jobs = pg.limiter(f"{NAME}-jobs", concurrency=3, window=(20, 1), lock_timeout=10)


# A call that fails on a machine that stalls would bring the task back after three minutes.
@app.task(bind=True, default_retry_delay=1)
@limited(jobs)
def job(self, number):
    if number == 7 and count("kills") == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    body("jobs", number)
    return self.request.retries


tenants = pg.concurrent(f"{NAME}-tenants", 1, lock_timeout=60, keyed=True)


@app.task
@limited(lambda tenant, number: tenants, key=lambda tenant, number: tenant)
def of_tenant(tenant, number):
    body(tenant, number)


budget = pg.points(f"{NAME}-budget", 100, 1000)


@app.task
@limited(budget, estimate=lambda units: units)
def spend(units, *, permit):
    permit.points_used(units - 1)
    return permit.decision.remaining


errors = pg.concurrent(f"{NAME}-errors", 1, lock_timeout=60)


@app.task(autoretry_for=(ValueError,), max_retries=2, default_retry_delay=0, retry_backoff=False)
@limited(errors)
def fails(kind):
    count(kind)
    raise {"ValueError": ValueError, "KeyError": KeyError}[kind](kind)


@app.task(soft_time_limit=4)
@limited(errors)
def too_long():
    time.sleep(60)


@app.task
@limited(errors, key=lambda: 1 / 0)
def wrong_key():
    raise AssertionError


@app.task
@limited(errors, key="a")
def not_keyed():
    raise AssertionError


@app.task
@limited(pg.points(f"{NAME}-small", 10, 10), cost=lambda units: units)
def too_large(units):
    raise AssertionError


@app.task(default_retry_delay=1)
@limited(lambda: away.window("x", 1, 1) if count("unreachable") == 1 else errors)
def unreachable():
    return counted("unreachable")


opened = pg.window(f"{NAME}-opened", 100, 1)


@app.task(default_retry_delay=1)
@limited(lambda: pg.paused(f"{NAME}-closed") if count("asked-opened") < 3 else opened, share="a")
def when_opened():
    return count("opened")


@limited(pg.window(f"{NAME}-helper", 1, 0.2))
def helper():
    return count("helper")


@app.task
def outer():
    return [helper(), helper()]


set_with_state = RedisBackend._set_with_state


def stalling(self, key, value, state):
    """Store a state, for some tasks as on a machine that stalls."""
    if state == "RETRY" and log.sismember(f"{NAME}-stalling", key):
        count("stalls")
        time.sleep(3)
        count("stalled-stores")
    return set_with_state(self, key, value, state)


RedisBackend._set_with_state = stalling
stalled = pg.window(f"{NAME}-stalled", 100, 1)


@app.task(default_retry_delay=1)
@limited(lambda: stalled if counted("stalled-open") else pg.paused(f"{NAME}-stalled-shut"))
def stalls():
    return count("stalled")


# Renewed in time also on a machine that stalls for seconds.
renewed = pg.concurrent(f"{NAME}-renewed", 1, lock_timeout=5)


@app.task
@limited(renewed, renew=True)
def renews(number):
    note("renewed", "begin", number)
    time.sleep(7)
    note("renewed", "end", number)


by_name = Celery("by_name", broker=URL, backend=URL, set_as_current=False)
by_name.conf.update(task_default_queue=f"{NAME}-by-name")
limit_tasks(
    by_name,
    {
        "shop.*": limited(pg.window(f"{NAME}-shop", 9, 60), cost=lambda units: units),
        "based.*": limited(pg.window(f"{NAME}-based", 9, 3600), cost=lambda units: units),
        "tree": limited(pg.concurrent(f"{NAME}-tree", 2)),
    },
)


@by_name.task(name="shop.export")
def export(units):
    return units


@by_name.task(name="mail.send")
def send(units):
    return units


class Base(Task):
    """A task that is called in its own way."""

    def __call__(self, *args):
        return ["called", super().__call__(*args)]


@by_name.task(name="based.plain", base=Task)
def based(units):
    return units


@by_name.task(name="based.called", base=Base, bind=True, autoretry_for=(KeyError,))
def based_and_called(self, units):
    return [self.name, self.request.retries, units]


class Registered(Task):
    name = "based.registered"

    def run(self, units):
        return units


registered = by_name.register_task(Registered())


@by_name.task(name="tree")
def tree(number):
    return [number, *(tree(number - 1) if number else [])]


@app.task
@limited(errors)
def ident():
    return errors.stats().leases


class UnsentError(Exception):
    pass


class Unsent(Task):
    """A task that the broker does not take back."""

    def signature_from_request(self, *args, **kwargs):
        signature = super().signature_from_request(*args, **kwargs)

        def fail(*_, **__):
            raise UnsentError

        signature.apply_async = fail
        return signature


@app.task(base=Unsent)
@limited(pg.paused(f"{NAME}-unsent"))
def unsent():
    raise AssertionError
