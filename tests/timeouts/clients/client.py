"""Calls a limiter, with threads or, given `asyncio`, with tasks. See timeouts_test.py."""

import asyncio
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from paddlegate import Paddlegate, UnavailableError


def outcome(error):
    return "unavailable" if isinstance(error, UnavailableError) else type(error).__name__


def said(began, what):
    return f"{(time.monotonic() - began) * 1000:.1f} {what}"


def opened(url, timeout_ms):
    return Paddlegate(url, timeout=int(timeout_ms) / 1000).bucket("timeouts", 1_000_000, "day")


def call(limiter):
    began = time.monotonic()
    try:
        limiter.try_acquire()
    except Exception as error:
        return said(began, outcome(error))
    return said(began, "answered")


async def acall(limiter):
    began = time.monotonic()
    try:
        await limiter.atry_acquire()
    except Exception as error:
        return said(began, outcome(error))
    return said(began, "answered")


def threads():
    # One call comes from the main thread, the one that signals interrupt.
    with ThreadPoolExecutor(32) as pool:
        for line in sys.stdin:
            words = line.split()
            if words[0] == "open":
                limiter = opened(*words[1:])
                print("opened", flush=True)
            elif words[1] == "1":
                print(call(limiter), flush=True)
            else:
                print(*pool.map(call, [limiter] * int(words[1])), flush=True)


async def tasks():
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        words = line.split()
        if words[0] == "open":
            limiter = opened(*words[1:])
            print("opened", flush=True)
        else:
            calls = [acall(limiter) for _ in range(int(words[1]))]
            print(*await asyncio.gather(*calls), flush=True)


signal.signal(signal.SIGUSR2, lambda *_: None)
if sys.argv[1:] == ["asyncio"]:
    asyncio.run(tasks())
else:
    threads()
