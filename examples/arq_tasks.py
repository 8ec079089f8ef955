"""Jobs of arq that share a limit: two at once and ten a second, none of them a retry.

Guide: docs/src/guides/arq-taskiq.md
"""

import asyncio
import os
import sys
import time

from arq import Worker, create_pool
from arq.connections import RedisSettings
from paddlegate import Paddlegate, UnavailableError
from paddlegate.arq import limited

url = os.environ.get("PADDLEGATE_URL", "redis://localhost:6379/0")
api = Paddlegate(url).limiter("api", concurrency=2, throttle=0.1, lock_timeout=60)


@limited(api)
async def sync(ctx, number):
    await asyncio.sleep(0.05)  # the work
    return number, ctx["job_try"], time.monotonic()


async def main():
    settings = RedisSettings.from_dsn(url)
    pool = await create_pool(settings, default_queue_name="arq_tasks")
    # `arq arq_tasks.WorkerSettings` does this in a process of its own.
    worker = Worker(
        [sync],
        redis_settings=settings,
        queue_name="arq_tasks",
        poll_delay=0.1,
        handle_signals=False,
    )
    running = asyncio.create_task(worker.async_run())
    try:
        jobs = [await pool.enqueue_job("sync", number) for number in range(20)]
        return [await job.result(timeout=50) for job in jobs]
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await worker.close()
        await pool.aclose()


if __name__ == "__main__":
    try:
        api.peek()
    except UnavailableError as error:
        sys.exit(f"This program needs a Redis, see PADDLEGATE_URL: {error}")
    done = asyncio.run(main())
    ends = sorted(end for _, _, end in done)
    print(f"{len(done)} jobs in {ends[-1] - ends[0]:.1f} s")
    assert [(number, tries) for number, tries, _ in done] == [(i, 1) for i in range(20)]
    assert ends[-1] - ends[0] > 1.5, "ten a second"
