"""An operator's commands on limiters that a program uses: pause, override, record and plan.

The command is `paddlegate`, which must be on the PATH. Set PADDLEGATE_URL to a Redis.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from paddlegate import Paddlegate


def paddlegate(*words):
    """Run a command of an operator and return what it says, as JSON if asked for."""
    done = subprocess.run(
        ["paddlegate", *words], stdout=subprocess.PIPE, text=True, check="--fail-on" not in words
    )
    return json.loads(done.stdout) if "--json" in words else done


def until(holds):
    """Wait until something holds."""
    end = time.monotonic() + 30
    while not holds():
        if time.monotonic() > end:
            sys.exit("nothing was recorded in 30 s")
        time.sleep(0.1)


redis = os.environ.get("PADDLEGATE_URL") or sys.exit(
    "Set PADDLEGATE_URL to a Redis, such as redis://localhost:6379/0"
)
with (
    Paddlegate(redis) as pg,
    tempfile.TemporaryDirectory() as folder,
):
    partner = pg.window("partner", 10, "hour")
    partner.try_acquire()
    listed = paddlegate("list", "--json")
    print([limiter["name"] for limiter in listed])  # -> ['partner']

    paddlegate("pause", "partner", "--expires-in", "10m")
    print(partner.try_acquire().reason)  # -> paused
    paddlegate("resume", "partner")
    paddlegate("override", "partner", "--limit", "20", "--expires-in", "1h")
    print(partner.peek().remaining)  # -> 19
    paddlegate("restore", "partner")

    # What is called while it is recorded, and what fewer calls an hour would refuse of it.
    record, fewer = pathlib.Path(folder, "record.jsonl"), pathlib.Path(folder, "limits.json")
    recording = subprocess.Popen(
        ["paddlegate", "record", "partner", "--for", "1h", "--out", record]
    )
    try:
        until(lambda: record.exists() and "\n" in record.read_text())
        for _ in range(6):
            partner.try_acquire()
        until(lambda: record.read_text().count('"outcome":"granted"') >= 6)
    finally:
        recording.terminate()
        recording.wait(30)
    fewer.write_text('{"limiters": {"partner": {"window": {"limit": 4, "per": "hour"}}}}')
    plan = ["plan", "--record", record, "--candidate", fewer]
    print(paddlegate(*plan, "--json")["newly_refused"])  # -> 2
    print(paddlegate(*plan, "--fail-on", "newly_refused>0").returncode)  # -> 1
