"""Statistics by label and by time, and that all is counted, however a process ends."""

import pickle

import pytest
from paddlegate import Concurrency, Paddlegate, Window

BURST = """
import sys
from paddlegate import Paddlegate
api = Paddlegate(sys.argv[1], timeout=20).bucket(sys.argv[2], 3, "day")
def burst():
    return [api.allow() for _ in range(5)]
"""

ENDS = {
    "end of the program": "burst()",
    "exit": "burst(); sys.exit(0)",
    "exception": "try:\n    burst()\nfinally:\n    sys.exit('an error')",
    "thread": """
import threading
thread = threading.Thread(target=burst)
thread.start()
thread.join()
""",
    "asyncio": """
import asyncio
async def main():
    return [await api.aallow() for _ in range(5)]
asyncio.run(main())
""",
    "process of a pool": """
import multiprocessing
if __name__ == "__main__":
    process = multiprocessing.get_context("fork").Process(target=burst)
    process.start()
    process.join()
""",
    "fork": """
import os
api.peek()
child = os.fork()
if child == 0:
    burst()
    sys.exit(0)
os.waitpid(child, 0)
""",
}


@pytest.mark.parametrize("end", ENDS)
def test_all_is_counted_at_the_end_of_a_process(script, url, name, end):
    script(BURST + ENDS[end], url, name, ok=end != "exception")
    stats = Paddlegate(url, timeout=20).bucket(name, 3, "day").stats()
    assert (stats.granted, stats.refused, stats.units) == (3, 2, 3)


def test_a_fork_does_not_count_the_calls_of_its_parent(script, url, name):
    script(BURST + "burst()" + ENDS["fork"].replace("burst()", "api.allow()"), url, name)
    stats = Paddlegate(url, timeout=20).bucket(name, 3, "day").stats()
    assert (stats.granted, stats.refused, stats.units) == (3, 3, 3)


def test_refusals_by_label_and_the_histograms_of_waits_and_leases(clocked, clock, name):
    limiter = clocked.limiter(name, rpm=Window(2, 60), workers=Concurrency(1))
    assert (limiter.stats().refused_by, limiter.stats().waits) == ({}, (0,) * 22)
    first = limiter.admit("first").permit
    assert limiter.admit("second").action == "wait"
    clock.advance(0.003)
    limiter.release(first)
    assert limiter.admit("second").action == "run"
    assert limiter.try_acquire().label == "rpm"
    limiter.pause(60)
    assert limiter.try_acquire().reason == "paused"
    stats = limiter.stats()
    assert (stats.refused, stats.refused_by) == (2, {"rpm": 1})
    assert (stats.waited, stats.wait_time) == (1, 0.003)
    assert stats.waits == stats.holds == (0, 0, 1, *[0] * 19)
    assert (stats.near_limit, stats.units, stats.estimated_units) == (2, 2, 2)
    assert pickle.loads(pickle.dumps(stats)) == stats
    limiter.reset()
