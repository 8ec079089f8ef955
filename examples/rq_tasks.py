"""Jobs of RQ that share a limit: two at once and ten a second, none of them a retry.

Guide: docs/src/guides/rq-dramatiq-huey.md
"""

import os
import sys
import time
from pathlib import Path

from paddlegate import Paddlegate, UnavailableError
from paddlegate.rq import limited
from redis import Redis
from rq import Queue, SimpleWorker

url = os.environ.get("PADDLEGATE_URL", "redis://localhost:6379/0")
queue = Queue("rq_tasks", connection=Redis.from_url(url))
api = Paddlegate(url).limiter("api", concurrency=2, throttle=0.1, lock_timeout=60)


@limited(api)
def sync(number):
    time.sleep(0.05)  # the work
    return number, time.monotonic()


if __name__ == "__main__":
    try:
        api.peek()
    except UnavailableError as error:
        sys.exit(f"This program needs a Redis, see PADDLEGATE_URL: {error}")
    # RQ imports a function by the name of its module.
    jobs = [queue.enqueue(f"{Path(__file__).stem}.sync", number) for number in range(20)]
    # As `rq worker --with-scheduler rq_tasks` does, until there is nothing to do for 5 seconds.
    worker = SimpleWorker([queue], connection=queue.connection)
    worker.work(with_scheduler=True, max_idle_time=5)
    done = [job.return_value(refresh=True) for job in jobs]
    ends = sorted(end for _, end in done)
    print(f"{len(done)} jobs in {ends[-1] - ends[0]:.1f} s")
    assert [number for number, _ in done] == list(range(20))
    assert ends[-1] - ends[0] > 1.5, "ten a second"
