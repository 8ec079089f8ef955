# mypy: allow-untyped-calls
"""Numbered cases that no other file of tests has."""

import os
import threading
import time

import pytest
from paddlegate import OverLimit, Paddlegate


def test_a_wait_is_longer_than_the_time_out_of_a_call(url, name):
    """It is not the client that waits for the server."""
    erp = Paddlegate(url, timeout=2).concurrent(name, 1, wait_timeout=2.5)
    holder = erp.acquire()
    start = time.monotonic()
    with pytest.raises(OverLimit):
        erp.acquire()
    assert time.monotonic() - start >= 2.5
    timer = threading.Timer(0.5, holder.release)
    timer.start()
    with erp.within_limit(wait_timeout=50):
        timer.join()


def test_all_kinds_on_a_cluster_of_three_also_across_the_edge(name):
    pg = Paddlegate(os.environ["PADDLEGATE_TEST_CLUSTER_URL"], timeout=20)
    kinds: list[tuple[object, ...]] = [
        ("concurrency", 5),
        ("bucket", 5, 0.4),
        ("window", 5, 0.4),
        ("leaky", 5, 0.4),
        ("points", 5, 0.4),
        ("throttle", 0.02),
    ]
    policies = [[kind] for kind in kinds] + [kinds]
    limiters = [
        pg.limiter(f"{name}-{number}-{len(policy)}", policy)
        for policy in policies
        for number in range(6)
    ]
    granted = dict.fromkeys(limiters, 0)
    until = time.monotonic() + 30
    # So many need a second interval.
    while min(granted.values()) <= 5 and time.monotonic() < until:
        for limiter in limiters:
            permit = limiter.try_acquire(estimate=1).permit
            if permit:
                granted[limiter] += 1
                assert limiter.correct(permit, 1) == "settled"
                limiter.release(permit)
                assert limiter.stats().leases == 0
    assert min(granted.values()) > 5, granted
