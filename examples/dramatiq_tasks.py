"""Messages of Dramatiq that share a limit: two at once and ten a second, none of them a retry.

Guide: docs/src/guides/rq-dramatiq-huey.md
"""

import os
import sys
import time

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend
from paddlegate import Paddlegate, UnavailableError
from paddlegate.dramatiq import LimitMiddleware, limited

url = os.environ.get("PADDLEGATE_URL", "redis://localhost:6379/0")
broker = RedisBroker(url=url, namespace="dramatiq_tasks")
broker.add_middleware(LimitMiddleware())
broker.add_middleware(Results(backend=RedisBackend(url=url, namespace="dramatiq_tasks-results")))
dramatiq.set_broker(broker)
api = Paddlegate(url).limiter("api", concurrency=2, throttle=0.1, lock_timeout=60)


@dramatiq.actor(store_results=True, max_retries=0)
@limited(api)
def sync(number):
    time.sleep(0.05)  # the work
    return number, time.monotonic()


if __name__ == "__main__":
    try:
        api.peek()
    except UnavailableError as error:
        sys.exit(f"This program needs a Redis, see PADDLEGATE_URL: {error}")
    worker = dramatiq.Worker(broker, worker_threads=4)  # as `dramatiq dramatiq_tasks` does
    worker.start()
    try:
        messages = [sync.send(number) for number in range(20)]
        done = [message.get_result(block=True, timeout=50_000) for message in messages]
    finally:
        worker.stop()
    ends = sorted(end for _, end in done)
    print(f"{len(done)} messages in {ends[-1] - ends[0]:.1f} s")
    assert [number for number, _ in done] == list(range(20))
    assert ends[-1] - ends[0] > 1.5, "ten a second"
