"""Tasks of taskiq that share a limit: two at once and ten a second, none of them a retry.

Guide: docs/src/guides/arq-taskiq.md
"""

import asyncio
import os
import sys
import time
from datetime import timedelta

from paddlegate import Paddlegate, UnavailableError
from paddlegate.taskiq import LimitMiddleware, limited
from taskiq import TaskiqScheduler
from taskiq.api import run_receiver_task, run_scheduler_task
from taskiq_redis import ListRedisScheduleSource, RedisAsyncResultBackend, RedisStreamBroker

url = os.environ.get("PADDLEGATE_URL", "redis://localhost:6379/0")
source = ListRedisScheduleSource(url, prefix="taskiq_tasks-schedule")
broker = (
    RedisStreamBroker(url, queue_name="taskiq_tasks")
    .with_result_backend(RedisAsyncResultBackend(url))
    .with_middlewares(LimitMiddleware(source))
)
scheduler = TaskiqScheduler(broker, [source])
api = Paddlegate(url).limiter("api", concurrency=2, throttle=0.1, lock_timeout=60)


@broker.task
@limited(api)
async def sync(number):
    await asyncio.sleep(0.05)  # the work
    return number, time.monotonic()


async def main():
    # `taskiq worker` and `taskiq scheduler` do this in processes of their own.
    running = [
        asyncio.create_task(run_receiver_task(broker, run_startup=True)),
        asyncio.create_task(run_scheduler_task(scheduler, interval=timedelta(seconds=1))),
    ]
    try:
        await broker.startup()
        tasks = [await sync.kiq(number) for number in range(20)]
        results = [await task.wait_result(timeout=50) for task in tasks]
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await broker.shutdown()
    return [result.return_value for result in results]


if __name__ == "__main__":
    try:
        api.peek()
    except UnavailableError as error:
        sys.exit(f"This program needs a Redis, see PADDLEGATE_URL: {error}")
    done = asyncio.run(main())
    ends = sorted(end for _, end in done)
    print(f"{len(done)} tasks in {ends[-1] - ends[0]:.1f} s")
    assert [number for number, _ in done] == list(range(20))
    assert ends[-1] - ends[0] > 1.5, "ten a second"
