"""The Python worker with asyncio."""

import asyncio
import json
import random
import sys
import time

from paddlegate import Paddlegate, PaddlegateError, TestClock
from records import Records, failed, shown


class Worker:
    def __init__(self):
        self.limiters = {}

    async def open(self, url, timeout, now_us=None):
        self.clock = None if now_us is None else TestClock(now_us)
        self.store = Paddlegate(url, timeout=timeout, clock=self.clock)

    async def set_clock(self, now_us):
        self.clock.now_us = now_us

    async def limiter(self, name, limits, **key):
        self.limiters[key["as"]] = self.store.limiter(name, [tuple(limit) for limit in limits])

    async def try_acquire(self, on, **request):
        return shown(await self.limiters[on].atry_acquire(**request))

    async def peek(self, on, **request):
        return shown(await self.limiters[on].apeek(**request))

    async def allow(self, on, **request):
        return await self.limiters[on].aallow(**request)

    async def acquire(self, on, **request):
        return shown((await self.limiters[on].aacquire(**request)).decision)

    async def correct(self, on, permit, actual):
        return await self.limiters[on].acorrect(permit, actual)

    async def reset(self, on):
        await self.limiters[on].areset()

    async def hammer(self, until, seed, loops, plan, path):
        records = Records(path)

        async def loop(number):
            dice = random.Random(seed * loops + number)
            while time.time() < until:
                await self.call(dice, dice.choice(plan), records)
                # In memory every answer is there at once, and the others would have no turn.
                await asyncio.sleep(0)

        await asyncio.gather(*map(loop, range(loops)))
        return records.write()

    async def call(self, dice, entry, records):
        key, units = entry["on"], dice.randint(1, entry["most"])
        limiter, request = self.limiters[key], {entry["verb"]: units}
        try:
            decision = await limiter.atry_acquire(**request)
        except PaddlegateError as error:
            records.error(error)
            return
        records.decision(key, units, decision)
        if decision.permit and dice.random() < 0.9:
            for _ in range(1 + (dice.random() < 0.1)):
                actual = dice.randint(0, units * 3 // 2)
                after = await limiter.apeek(cost=0)
                answer = await limiter.acorrect(decision.permit, actual)
                before = await limiter.apeek(cost=0)
                records.settlement(key, decision.permit, actual, answer, after, before)


async def main():
    worker = Worker()
    while line := await asyncio.to_thread(sys.stdin.readline):
        arguments = json.loads(line)
        try:
            answer = {"value": await getattr(worker, arguments.pop("do"))(**arguments)}
        except PaddlegateError as error:
            answer = {"error": failed(error)}
        print(json.dumps(answer), flush=True)


asyncio.run(main())
