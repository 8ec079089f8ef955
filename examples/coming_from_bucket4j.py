"""Two bandwidths in one bucket: a burst of 50, refilled by 10 a second, and 1000 an hour.

Guide: docs/src/guides/coming-from-bucket4j.md
"""

import threading

from paddlegate import OverLimit, Paddlegate

pg = Paddlegate()  # PADDLEGATE_URL, or this process
bucket = pg.limiter("api", leaky=(50, 5), bucket=(1000, "hour"))

print(bucket.try_acquire(40).remaining)  # 10: tryConsumeAndReturnRemaining(40)
probe = bucket.try_acquire(50)
print(probe.allowed, probe.retry_after < 4.1)  # -> False True
try:
    bucket.acquire(40, wait_timeout=0.01)  # asBlocking().tryConsume(40, maxWait)
except OverLimit as over:
    print(over.reason)  # -> leaky

# A compensation: the estimate is replaced by what was needed, once, from any thread or process.
permit = bucket.acquire(estimate=10, wait_timeout=10)
thread = threading.Thread(target=bucket.correct, args=[permit.id, 2])
thread.start()
thread.join()
print(bucket.stats().units)  # 42
