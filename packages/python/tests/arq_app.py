# mypy: ignore-errors
"""The jobs of test_arq.py for real workers of arq; as a program it enqueues some of them."""

import asyncio
import os
import signal
import sys

from arq import create_pool, func
from arq.connections import RedisSettings
from hosts_log import NAME, URL, count, first_away, limiter, note, pg
from paddlegate.arq import limit_tasks, limited


@limited(limiter("one"), patience=0.1)
async def job_of_one(ctx, number):
    if number == 7 and count("kills") == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    await work("one", ctx, number)


@limited(limiter("many"), patience=0.1)
async def job_of_many(ctx, number):
    await work("many", ctx, number)


async def work(host, ctx, number):
    note(host, "begin", number)
    await asyncio.sleep(0.02)
    note(host, "end", number)
    note(f"{host}-tries", "end", ctx["job_try"])


@limited(lambda ctx: first_away("arq"))
async def away(ctx):
    note("away", "end", ctx["job_try"])


@limited(pg.points(f"{NAME}-points", 100, 1000), estimate=lambda ctx, units: units)
async def spend(ctx, units, *, permit):
    await permit.points_used(units - 1)


@limited(pg.window(f"{NAME}-helper", 1, 0.2), patience=0)
async def helper(ctx):
    return ctx["job_try"]


async def outer(ctx):
    note("outer", "begin", 0)
    await helper(ctx)
    await helper(ctx)
    note("outer", "end", 0)


async def by_name(ctx, number):
    note("named", "end", number)


errors = pg.concurrent(f"{NAME}-errors", 1, lock_timeout=60)


@limited(errors)
async def fails(ctx):
    note("fails", "end", ctx["job_try"])
    raise ValueError


@limited(errors, cost=lambda ctx: 1 / 0)
async def wrong_cost(ctx):
    raise AssertionError


@limited(errors)
async def too_long(ctx):
    note("too_long", "begin", ctx["job_try"])
    await asyncio.sleep(60)


class Many:
    """A worker that runs many jobs at once."""

    # A job that is put back must not use up its only try.
    functions = limit_tasks(
        [
            func(it, max_tries=1)
            for it in (job_of_many, away, spend, outer, fails, wrong_cost, too_long, by_name)
        ],
        {"by_*": limited(pg.window(f"{NAME}-named", 10, 3600))},
    )
    redis_settings = RedisSettings.from_dsn(URL)
    queue_name = f"queue-{NAME}-many"
    job_timeout = 3
    poll_delay = 0.1


class One:
    """A worker that runs one job at once. A job of a killed one runs again after 13 seconds."""

    functions = (func(job_of_one, max_tries=2),)
    redis_settings = Many.redis_settings
    queue_name = f"queue-{NAME}-one"
    job_timeout = 3
    poll_delay = 0.1
    max_jobs = 1


async def main(name, *numbers):
    pool = await create_pool(Many.redis_settings)
    if name in ("one", "many"):
        for number in range(int(numbers[0])):
            await pool.enqueue_job(f"job_of_{name}", number, _queue_name=f"queue-{NAME}-{name}")
    else:
        await pool.enqueue_job(name, *map(int, numbers), _queue_name=f"queue-{NAME}-many")
    await pool.aclose()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
