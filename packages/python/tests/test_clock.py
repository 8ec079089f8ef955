"""The time of a call is given in tests only: in Redis one process could end the leases of all."""

import os
import subprocess
import sys

from paddlegate import Paddlegate

GIVE_THE_TIME = """
import sys
from paddlegate import InvalidError, Paddlegate

limiter = Paddlegate(sys.argv[1]).limiter(sys.argv[2], concurrency=5, points=(1000, 3600))
permit = limiter.acquire(estimate=10)
calls = [
    lambda at: limiter.try_acquire(estimate=10, at_us=at),
    lambda at: limiter.peek(at_us=at),
    lambda at: limiter.correct(permit, 5, at_us=at),
    lambda at: limiter.renew(permit, at_us=at),
    lambda at: limiter.release(permit, at_us=at),
    lambda at: limiter.enqueue("job", estimate=10, at_us=at),
    lambda at: limiter.cancel("job", at_us=at),
    lambda at: limiter.stats(at_us=at),
    lambda at: limiter.pause(10, at_us=at),
]
for call in calls:
    try:
        call(1_000_000)
    except InvalidError as error:
        print(error.argument)
"""


def test_a_store_takes_no_time_from_its_callers(url, name):
    environment = {**os.environ}
    del environment["PADDLEGATE_TEST_CLOCK"]
    command = [sys.executable, "-c", GIVE_THE_TIME, url, name]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split() == ["at_us"] * 9, done.stderr
    # Nothing was changed: the grant of the server's own time is all that there is.
    limiter = Paddlegate(url).limiter(name, concurrency=5, points=(1000, 3600))
    assert limiter.stats().leases == 1
    assert limiter.stats().granted == 1
