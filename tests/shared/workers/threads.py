"""The Python worker with threads."""

import json
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from paddlegate import Paddlegate, PaddlegateError, TestClock
from records import Records, failed, shown


class Worker:
    def __init__(self):
        self.limiters = {}

    def open(self, url, timeout, now_us=None):
        self.clock = None if now_us is None else TestClock(now_us)
        self.store = Paddlegate(url, timeout=timeout, clock=self.clock)

    def set_clock(self, now_us):
        self.clock.now_us = now_us

    def limiter(self, name, limits, **key):
        self.limiters[key["as"]] = self.store.limiter(name, [tuple(limit) for limit in limits])

    def try_acquire(self, on, **request):
        return shown(self.limiters[on].try_acquire(**request))

    def peek(self, on, **request):
        return shown(self.limiters[on].peek(**request))

    def allow(self, on, **request):
        return self.limiters[on].allow(**request)

    def acquire(self, on, **request):
        return shown(self.limiters[on].acquire(**request).decision)

    def correct(self, on, permit, actual):
        return self.limiters[on].correct(permit, actual)

    def reset(self, on):
        self.limiters[on].reset()

    def hammer(self, until, seed, loops, plan, path):
        records = Records(path)

        def loop(number):
            dice = random.Random(seed * loops + number)
            while time.time() < until:
                self.call(dice, dice.choice(plan), records)

        with ThreadPoolExecutor(loops) as pool:
            list(pool.map(loop, range(loops)))
        return records.write()

    def call(self, dice, entry, records):
        key, units = entry["on"], dice.randint(1, entry["most"])
        limiter, request = self.limiters[key], {entry["verb"]: units}
        try:
            decision = limiter.try_acquire(**request)
        except PaddlegateError as error:
            records.error(error)
            return
        records.decision(key, units, decision)
        if decision.permit and dice.random() < 0.9:
            for _ in range(1 + (dice.random() < 0.1)):
                actual = dice.randint(0, units * 3 // 2)
                after = limiter.peek(cost=0)
                answer = limiter.correct(decision.permit, actual)
                before = limiter.peek(cost=0)
                records.settlement(key, decision.permit, actual, answer, after, before)


worker = Worker()
for line in sys.stdin:
    arguments = json.loads(line)
    try:
        answer = {"value": getattr(worker, arguments.pop("do"))(**arguments)}
    except PaddlegateError as error:
        answer = {"error": failed(error)}
    print(json.dumps(answer), flush=True)
