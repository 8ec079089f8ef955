"""Tasks of Huey that share a limit: two at once and ten a second, none of them a retry.

Guide: docs/src/guides/rq-dramatiq-huey.md
"""

import os
import sys
import time

from huey import RedisHuey
from paddlegate import Paddlegate, UnavailableError
from paddlegate.huey import limited

url = os.environ.get("PADDLEGATE_URL", "redis://localhost:6379/0")
huey = RedisHuey("huey_tasks", url=url)
pg = Paddlegate(url)
api = pg.limiter("api", concurrency=2, throttle=0.1, lock_timeout=60)


@huey.task(context=True)
@limited(api)
def sync(number, *, task):
    time.sleep(0.05)  # the work
    return number, task.retries, time.monotonic()


if __name__ == "__main__":
    try:
        api.peek()
    except UnavailableError as error:
        sys.exit(f"This program needs a Redis, see PADDLEGATE_URL: {error}")
    consumer = huey.create_consumer(workers=4, scheduler_interval=1)
    consumer.start()
    try:
        results = [sync(number) for number in range(20)]
        done = [result.get(blocking=True, timeout=50) for result in results]
    finally:
        consumer.stop(graceful=True)
    ends = sorted(end for _, _, end in done)
    print(f"{len(done)} tasks in {ends[-1] - ends[0]:.1f} s")
    assert [(number, retries) for number, retries, _ in done] == [(i, 0) for i in range(20)]
    assert ends[-1] - ends[0] > 1.5, "ten a second"
