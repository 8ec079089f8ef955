"""Celery tasks of two tenants in a real worker: each tenant one at a time, and both ten a second.

Guide: docs/src/guides/celery.md
"""

import os
import subprocess
import sys
import time
from pathlib import Path

from celery import Celery
from paddlegate import Paddlegate, UnavailableError
from paddlegate.celery import limited

url = os.environ.get("PADDLEGATE_URL", "redis://localhost:6379/0")
app = Celery("celery_tasks", broker=url, backend=url)
app.conf.task_default_queue = "celery_tasks"
pg = Paddlegate(url)
api = pg.throttle("api", 0.1)  # ten a second
tenants = pg.concurrent("tenants", 1, lock_timeout=60, keyed=True)
both = {name: pg.together(api, tenants.with_key(name)) for name in ("acme", "globex")}


@app.task(name="sync")
@limited(lambda tenant, number: both[tenant])
def sync(tenant, number):
    time.sleep(0.05)  # the work
    return time.time()


if __name__ == "__main__":
    try:
        api.peek()
    except UnavailableError as error:
        sys.exit(f"This program needs a Redis, see PADDLEGATE_URL: {error}")
    here = Path(__file__)
    words = ["celery", "-A", here.stem, "worker", "-c", "4", "-l", "ERROR", "--without-mingle"]
    worker = subprocess.Popen([sys.executable, "-m", *words], cwd=here.parent)
    try:
        results = [sync.delay(tenant, i) for i in range(10) for tenant in ("acme", "globex")]
        ends = sorted(result.get(50) for result in results)
    finally:
        worker.terminate()
        try:
            worker.wait(10)
        except subprocess.TimeoutExpired:
            worker.kill()
    print(f"{len(ends)} tasks in {ends[-1] - ends[0]:.1f} s")
    assert ends[-1] - ends[0] > 1.5, "ten a second"
