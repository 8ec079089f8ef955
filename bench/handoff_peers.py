"""One of two workers that hand one slot to and fro: `handoff_peers.py LIBRARY NAME HOLD_MS ROUNDS`.

Prints the lines of tests/shared/workers/holder.py.
"""

import asyncio
import os
import sys
import time

import redis

library, name, *numbers = sys.argv[1:]
hold_ms, rounds = map(int, numbers)
URL = os.environ["PADDLEGATE_URL"]


def entered(number: int) -> None:
    print(f"enter {number} 0 {time.monotonic_ns()}", flush=True)


def leaves(number: int) -> None:
    print(f"leave {number} {time.monotonic_ns()} done", flush=True)


def blpop() -> None:
    """Hand over a token by hand, the least there is."""
    client = redis.Redis.from_url(URL)
    if client.setnx(f"{name}:made", 1):
        client.rpush(name, "token")
    for number in range(rounds):
        client.blpop([name], timeout=30)
        entered(number)
        time.sleep(hold_ms / 1000)
        leaves(number)
        client.rpush(name, "token")


def redis_rate_limiters() -> None:
    from limiters import SyncSemaphore

    client = redis.Redis.from_url(URL)
    for number in range(rounds):
        with SyncSemaphore(client, name, capacity=1, max_sleep=30):
            entered(number)
            time.sleep(hold_ms / 1000)
            leaves(number)


async def self_limiters() -> None:
    from self_limiters import Semaphore

    for number in range(rounds):
        async with Semaphore(name=name, capacity=1, max_sleep=30, redis_url=URL):
            entered(number)
            await asyncio.sleep(hold_ms / 1000)
            leaves(number)


if library == "blpop":
    blpop()
elif library == "redis-rate-limiters":
    redis_rate_limiters()
else:
    asyncio.run(self_limiters())
    # Its own threads would crash the interpreter at exit.
    os._exit(0)
