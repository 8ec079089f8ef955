"""Takes a lease, works and gives it back, again and again, in threads or in tasks.

holder.py threads|tasks NAME LIMIT LOCK_MS HOLD_MS ROUNDS LOOPS, with the server at PADDLEGATE_URL.
LIMIT is a number of leases, or a limit like leaky/5/1, whose grants have no end. Each lease is
three lines, `enter FENCE TICKET NS` (0 for none), `leave FENCE NS` before it is given back and
`answer FENCE ANSWER` after; the clock is the machine's.
"""

import asyncio
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from paddlegate import Paddlegate

way, name, limit, *numbers = sys.argv[1:]
lock_ms, hold_ms, rounds, loops = map(int, numbers)
store = Paddlegate(os.environ["PADDLEGATE_URL"], timeout=10)
if "/" in limit:
    kind, amount, interval = limit.split("/")
    limiter = store.limiter(name, [(kind, int(amount), float(interval))], wait_timeout=120)
else:
    limiter = store.concurrent(name, int(limit), wait_timeout=120, lock_timeout=lock_ms / 1000)


def entered(permit):
    print(
        f"enter {permit.fencing_token or 0} {permit.decision.ticket or 0} {time.monotonic_ns()}\n",
        end="",
        flush=True,
    )


def leaves(permit):
    if permit.fencing_token:
        print(f"leave {permit.fencing_token} {time.monotonic_ns()}\n", end="", flush=True)


def left(permit, answer):
    if permit.fencing_token:
        print(f"answer {permit.fencing_token} {answer}\n", end="", flush=True)


def hold(_):
    for _ in range(rounds):
        permit = limiter.acquire()
        entered(permit)
        time.sleep(hold_ms / 1000)
        leaves(permit)
        left(permit, permit.release())


async def hold_in_task():
    for _ in range(rounds):
        permit = await limiter.aacquire()
        entered(permit)
        await asyncio.sleep(hold_ms / 1000)
        leaves(permit)
        left(permit, await permit.release())


async def main():
    await asyncio.gather(*(hold_in_task() for _ in range(loops)))


if way == "tasks":
    asyncio.run(main())
else:
    with ThreadPoolExecutor(loops) as pool:
        list(pool.map(hold, range(loops)))
