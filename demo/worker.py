"""Asks the shop as fast as the limits allow. Prints its counts as JSON lines."""

import asyncio
import http.client
import json
import math
import os
import random
import sys
import time
from typing import Any
from urllib.parse import urlsplit

from paddlegate import Limiter, OverLimit, Paddlegate

LIMITS = json.loads(os.environ["DEMO_LIMITS"])
WAIT = LIMITS["waitSeconds"]
SHOP = urlsplit(os.environ["DEMO_SHOP"]).netloc
COUNTS: dict[str, Any] = {
    "language": "Python",
    **dict.fromkeys(["granted", "refused", "waited", "estimated", "corrected", "throttled"], 0),
}


def fetch(method: str, path: str, body: str | None = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(SHOP, timeout=5)
    try:
        connection.request(method, path, body)
        response = connection.getresponse()
        return response.status, json.load(response)
    finally:
        connection.close()


async def query(limiter: Limiter) -> None:
    first = random.randint(5, 40)
    estimate = 2 + first
    asked = time.monotonic()
    async with limiter.within_limit(
        estimate=estimate, wait_timeout=LIMITS["waitSeconds"]
    ) as permit:
        granted(asked)
        body = json.dumps({"query": f"{{ products(first: {first}) {{ nodes {{ id }} }} }}"})
        _, answer = await asyncio.to_thread(fetch, "POST", "/graphql", body)
        actual = answer["extensions"]["cost"]["actualQueryCost"]
        COUNTS["estimated"] += estimate
        if actual is None:
            COUNTS["throttled"] += 1
        else:
            COUNTS["corrected"] += estimate - actual
        permit.points_used(math.floor(actual or 0))


async def order(limiter: Limiter) -> None:
    asked = time.monotonic()
    async with limiter.within_limit(wait_timeout=WAIT):
        granted(asked)
        status, _ = await asyncio.to_thread(fetch, "GET", "/orders")
        COUNTS["throttled"] += status == 429


def granted(asked: float) -> None:
    COUNTS["granted"] += 1
    COUNTS["waited"] += time.monotonic() - asked > 0.005


async def loop(task: Any, limiter: Limiter, end: float) -> None:
    while time.monotonic() < end:
        try:
            await task(limiter)
        except OverLimit:
            COUNTS["refused"] += 1
        await asyncio.sleep(LIMITS["pauseSeconds"])


async def report() -> None:
    while True:
        print(json.dumps(COUNTS), flush=True)
        await asyncio.sleep(0.2)


async def main() -> None:
    pg = Paddlegate()
    if LIMITS["on"]:
        queries = pg.points(LIMITS["name"], *LIMITS["points"])
        orders = pg.leaky(LIMITS["name"], *LIMITS["leaky"])
    else:
        queries = orders = pg.unlimited()
    print(json.dumps(COUNTS), flush=True)
    sys.stdin.readline()
    end = time.monotonic() + float(os.environ["DEMO_SECONDS"])
    ticker = asyncio.create_task(report())
    tasks = [(query, queries), (query, queries), (order, orders)]
    await asyncio.gather(*(loop(task, limiter, end) for task, limiter in tasks))
    ticker.cancel()
    print(json.dumps(COUNTS), flush=True)


asyncio.run(main())
