# mypy: ignore-errors
"""The jobs of test_job_faults.py for real workers of one job system."""

import asyncio
import os
import time

from gevent import monkey
from hosts_log import NAME, URL, count, note, pg

HOST = os.environ["TASKS_HOST"]
if "TASKS_GREENLETS" in os.environ:
    monkey.patch_all()
# Seconds after which a broker takes a worker for dead: far more than a job takes, also on a machine
# that stalls.
DEAD = 10
keyed = pg.concurrent(f"{NAME}-keyed", 1, keyed=True)


def noted(what, make):
    """Make a value for a job, and note that it was asked for."""

    def value(*_, **__):
        note(HOST, "ask", what)
        return make()

    return value


def long_limit():
    """Give a limiter whose lease ends before its job does."""
    return pg.concurrent(f"{NAME}-{HOST}-long", 1, lock_timeout=1)


def slow_limit():
    return pg.concurrent(f"{NAME}-{HOST}-slow", 1, lock_timeout=20)


LIMITS = {
    "fine": {"limiter": pg.concurrent(f"{NAME}-{HOST}-fine", 1)},
    "wrong_name": {"limiter": noted("wrong_name", lambda: pg.concurrent("", 1))},
    "no_limiter": {"limiter": noted("no_limiter", lambda: None)},
    "wrong_cost": {"limiter": keyed, "key": "a", "cost": noted("wrong_cost", lambda: 1 / 0)},
    "no_key": {"limiter": keyed, "key": noted("no_key", lambda: None)},
    "long": {"limiter": long_limit()},
    "slow": {"limiter": slow_limit()},
    "tree": {"limiter": pg.concurrent(f"{NAME}-{HOST}-tree", 2)},
    "stopped": {"limiter": pg.concurrent(f"{NAME}-{HOST}-stopped", 1, lock_timeout=5)},
}
SECONDS = {"long": 3, "slow": 0.5}


def seconds(name):
    """How long a job takes; the first run of one never ends, which its consumer stops."""
    if name == "stopped":
        return 600 if count("stopped") == 1 else 0
    return SECONDS.get(name, 0)


def plain(name):
    def job(number):
        note(HOST, f"begin-{name}", f"{number} {os.getpid()}")
        if name == "tree" and number:
            jobs[name](number - 1)
        time.sleep(seconds(name))
        note(HOST, f"end-{name}", f"{number} {os.getpid()}")

    job.__name__ = job.__qualname__ = f"job_{name}"
    return job


def coroutine(name):
    async def job(number, *ctx):
        note(HOST, f"begin-{name}", f"{number} {os.getpid()}")
        if name == "tree" and number:
            await jobs[name](*ctx, number - 1)
        await asyncio.sleep(seconds(name))
        note(HOST, f"end-{name}", f"{number} {os.getpid()}")

    async def of_arq(ctx, number):
        await job(number, ctx)

    async def of_taskiq(number):
        await job(number)

    made = of_arq if HOST == "arq" else of_taskiq
    made.__name__ = made.__qualname__ = f"job_{name}"
    return made


if HOST == "celery":
    from celery import Celery
    from paddlegate.celery import limited

    app = Celery("faults", broker=URL)
    app.conf.update(task_default_queue=NAME, task_acks_late=True, task_reject_on_worker_lost=True)
    jobs = {
        name: app.task(name=name)(limited(**limit)(plain(name))) for name, limit in LIMITS.items()
    }

    def send(name, number):
        jobs[name].delay(number)

elif HOST == "rq":
    import redis
    import rq
    from paddlegate.rq import limited

    queue = rq.Queue(NAME, connection=redis.Redis.from_url(URL))
    jobs = {name: limited(**limit)(plain(name)) for name, limit in LIMITS.items()}
    # A worker looks for them here.
    globals().update({f"job_{name}": job for name, job in jobs.items()})

    def send(name, number):
        queue.enqueue(jobs[name], number)

elif HOST == "dramatiq":
    import dramatiq
    from dramatiq.brokers.redis import RedisBroker
    from paddlegate.dramatiq import LimitMiddleware, limited

    broker = RedisBroker(url=URL, namespace=NAME)
    broker.add_middleware(LimitMiddleware())
    dramatiq.set_broker(broker)
    jobs = {
        name: dramatiq.actor(actor_name=name, max_retries=0)(limited(**limit)(plain(name)))
        for name, limit in LIMITS.items()
    }

    def send(name, number):
        jobs[name].send(number)

elif HOST == "huey":
    import huey
    from paddlegate.huey import limited, recover_tasks

    tasks = huey.RedisHuey(NAME, url=URL, utc=True)
    # More than a job takes.
    recover_tasks(tasks, after=20)
    jobs = {
        name: tasks.task(context=True, name=name)(limited(**limit)(plain(name)))
        for name, limit in LIMITS.items()
    }

    def send(name, number):
        jobs[name](number)

elif HOST == "taskiq":
    from paddlegate.taskiq import LimitMiddleware, limited
    from taskiq import TaskiqScheduler
    from taskiq_redis import ListRedisScheduleSource, RedisStreamBroker

    source = ListRedisScheduleSource(URL, prefix=f"{NAME}-schedule")
    broker = RedisStreamBroker(
        URL, queue_name=f"{NAME}-stream", consumer_id="0", idle_timeout=DEAD * 1000
    ).with_middlewares(LimitMiddleware(source))
    scheduler = TaskiqScheduler(broker, [source])
    jobs = {
        name: broker.task(task_name=name)(limited(**limit)(coroutine(name)))
        for name, limit in LIMITS.items()
    }

    async def asend(name, numbers):
        await broker.startup()
        for number in numbers:
            await jobs[name].kiq(number)
        await broker.shutdown()

elif HOST == "arq":
    from arq import create_pool, func
    from arq.connections import RedisSettings
    from paddlegate.arq import limited

    jobs = {name: limited(**limit)(coroutine(name)) for name, limit in LIMITS.items()}

    class WorkerSettings:
        """A job that a worker gives up when it is stopped has another try."""

        functions = tuple(func(job, name=name, max_tries=5) for name, job in jobs.items())
        redis_settings = RedisSettings.from_dsn(URL)
        queue_name = f"queue-{NAME}"
        poll_delay = 0.1

    async def asend(name, numbers):
        pool = await create_pool(WorkerSettings.redis_settings)
        for number in numbers:
            await pool.enqueue_job(name, number, _queue_name=WorkerSettings.queue_name)
        await pool.aclose()


def main(name, *numbers):
    given = [int(number) for number in numbers]
    if HOST in ("taskiq", "arq"):
        asyncio.run(asend(name, given))
    else:
        for number in given:
            send(name, number)
