"""Workers that never hold a thread for a limit: jobs come back at their time, in their order.

Guide: docs/src/guides/jobs.md
"""

import heapq
import itertools
import threading
import time

from paddlegate import Paddlegate

pg = Paddlegate()  # PADDLEGATE_URL, or this process
mail = pg.leaky("mail", 2, 0.2)  # a burst of 2, then 10 a second
lock, order, calls = threading.Lock(), itertools.count(), itertools.count()
jobs = [(0.0, next(order), f"job-{number}") for number in range(10)]
started = []


def work():
    while True:
        with lock:
            if len(started) == 10:
                return
            job = heapq.heappop(jobs) if jobs and jobs[0][0] <= time.monotonic() else None
        if job is None:
            time.sleep(0.01)
            continue
        next(calls)
        admission = mail.admit(job[2], "reschedule")
        if admission.action != "run":
            with lock:
                heapq.heappush(jobs, (time.monotonic() + admission.after, job[1], job[2]))
            continue
        with lock:
            started.append(job[2])
        time.sleep(0.02)  # the work


workers = [threading.Thread(target=work) for _ in range(3)]
for thread in workers:
    thread.start()
for thread in workers:
    thread.join()
print(*started)
print(len(set(started)))  # 10
print(mail.stats().tickets)  # 0
