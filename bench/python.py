"""The share of Python: `python.py redis` and `python.py memory`."""

import asyncio
import os
import sys
import time
from pathlib import Path

import limits
import redis
import redis.asyncio
from measure import Contestant, compare, fastest
from paddlegate import Paddlegate

URL = os.environ.get("PADDLEGATE_URL", "")
MANY = 64
PATIENCE = 20  # A busy machine may stop for a while; that is no failure here.
HUGE = 10**9  # Nothing is refused: a refusal is less work.
GCRA = Path(__file__).with_name("gcra.lua").read_text()


def with_redis() -> None:
    client = redis.Redis.from_url(URL, single_connection_client=True)
    digest = client.script_load(GCRA)
    limiter = Paddlegate(URL, timeout=PATIENCE).leaky("python", HUGE, 1)

    def reference(calls: int) -> None:
        evalsha = client.evalsha
        for _ in range(calls):
            evalsha(digest, 1, "gcra", 1, 10**12)

    def ours(calls: int) -> None:
        try_acquire = limiter.try_acquire
        for _ in range(calls):
            try_acquire()

    compare("python", "one", "us", reference, ours, cpu="cpu")
    assert limiter.try_acquire()
    with_asyncio(digest)


def with_asyncio(digest: str) -> None:
    loop = asyncio.new_event_loop()
    limiter = Paddlegate(URL, timeout=PATIENCE).leaky("python", HUGE, 1)

    def at_once(tasks: int, call) -> Contestant:
        async def task(calls: int) -> None:
            for _ in range(calls):
                await call()

        async def all_tasks(calls: int) -> None:
            await asyncio.gather(*(task(calls // tasks) for _ in range(tasks)))

        return lambda calls: loop.run_until_complete(all_tasks(calls))

    def by_redis_py(client: redis.asyncio.Redis):
        return lambda: client.evalsha(digest, 1, "gcra", 1, 10**12)

    def pool(size: int) -> redis.asyncio.Redis:
        connections = redis.asyncio.BlockingConnectionPool.from_url(URL, max_connections=size)
        return redis.asyncio.Redis(connection_pool=connections)

    one = redis.asyncio.Redis.from_url(URL, single_connection_client=True)
    pools = {
        "a pool": redis.asyncio.Redis.from_url(URL),
        "a pool of 8": pool(8),
        "a pool of 32": pool(32),
    }
    ours = limiter.atry_acquire
    compare("python asyncio", "one", "us", at_once(1, by_redis_py(one)), at_once(1, ours))
    best = fastest({name: at_once(MANY, by_redis_py(pool)) for name, pool in pools.items()})
    compare("python asyncio", "many", "k/s", best, at_once(MANY, ours))
    assert loop.run_until_complete(ours())
    for client in (one, *pools.values()):
        loop.run_until_complete(client.aclose())


def in_memory() -> None:
    pg = Paddlegate("memory://")
    limiter = pg.leaky("python", HUGE, 1)
    per_user = pg.leaky("users", HUGE, 1, keyed=True)
    fixed_window = limits.strategies.FixedWindowRateLimiter(limits.storage.MemoryStorage())
    item = limits.RateLimitItemPerHour(HUGE)

    def ours(calls: int) -> None:
        allow = limiter.allow
        for _ in range(calls):
            allow()

    def by_limits(calls: int) -> None:
        hit = fixed_window.hit
        for _ in range(calls):
            hit(item, "python")

    def by_hand(calls: int) -> None:
        for _ in range(calls):
            gcra("python")

    def by_key(calls: int) -> None:
        allow = per_user.allow
        for _ in range(calls):
            allow(key="ada")

    compare("python memory", "limits", "ns", by_limits, ours)
    compare("python memory", "by hand", "ns", by_hand, ours)
    compare("python memory", "keyed", "ns", ours, by_key)
    assert limiter.allow()


meters: dict[str, float] = {}


def gcra(key: str, interval: float = 1e-9, burst: float = 1.0) -> bool:
    """What one writes by hand: no threads, no costs, no time to wait, and keys stay for ever."""
    now = time.time()
    empty = meters.get(key, now)
    if empty < now:  # Faster than max.
        empty = now
    empty += interval
    if empty - burst > now:
        return False
    meters[key] = empty
    return True


if __name__ == "__main__":
    {"redis": with_redis, "memory": in_memory}[sys.argv[1]]()
