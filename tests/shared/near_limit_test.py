"""Grants near a limit, and units before corrections, are counted once, whatever the languages."""

import random
import time

from paddlegate import Paddlegate


def test_grants_near_a_limit_count_as_their_answers_say(fleet, url, name, seed):
    rng = random.Random(seed)
    fleet.ask_all("open", url=url, timeout=20)
    api = {"as": "api", "name": f"{name} api", "limits": [("window", 60, 86400)]}
    shop = {"as": "shop", "name": f"{name} shop", "limits": [("points", 1000, 10 * 86400)]}
    for limiter in (api, shop):
        fleet.ask_all("limiter", **limiter)
    workers = list(fleet.values())
    granted = near = estimated = actual = 0
    for _ in range(80):
        decision = rng.choice(workers).ask("try_acquire", on="api", cost=1)
        granted += decision["allowed"]
        near += decision["allowed"] and 5 * decision["remaining"] <= decision["limit"]
    assert (granted, near) == (60, 13), "12, 11, ... 0 were left"
    for worker in workers:
        units, used = rng.randint(1, 50), rng.randint(0, 60)
        permit = worker.ask("try_acquire", on="shop", estimate=units)["permit"]
        worker.ask("correct", on="shop", permit=permit, actual=used)
        estimated, actual = estimated + units, actual + used
    store = Paddlegate(url, timeout=20)
    limiters = (
        store.window(api["name"], 60, 86400),
        store.points(shop["name"], 1000, 10 * 86400),
    )

    def counted():
        # A worker sends what it has counted with its first call a second later.
        fleet.ask_all("peek", on="api", cost=1)
        stats = limiters[0].stats()
        assert stats.near_limit <= near
        return stats.granted, stats.near_limit

    deadline = time.monotonic() + 60
    while counted() != (granted, near):
        assert time.monotonic() < deadline, counted()
        time.sleep(0.1)
    stats = limiters[1].stats()
    assert (stats.estimated_units, stats.units) == (estimated, actual)
