"""A program without the package and one with it share a limit, through `paddlegate serve`.

The server is the command `paddlegate`, which must be on the PATH. Set PADDLEGATE_URL to a Redis.
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

from paddlegate import Paddlegate

LIMITS = {
    "limiters": {
        "mail-api": {"bucket": {"limit": 4, "per": "day"}},
        "erp": {"concurrency": {"limit": 1, "lock_timeout": "30s"}},
    }
}


def call(url, **body):
    """Send a request and return the answer, as any language can."""
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers, method="POST")
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)


redis = os.environ.get("PADDLEGATE_URL") or sys.exit(
    "Set PADDLEGATE_URL to a Redis, such as redis://localhost:6379/0"
)
with tempfile.NamedTemporaryFile("w", suffix=".json") as limits:
    json.dump(LIMITS, limits)
    limits.flush()
    command = ["paddlegate", "serve", "--redis", redis, "--limits", limits.name]
    server = subprocess.Popen(
        [*command, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True
    )
    try:
        address = server.stdout.readline().removeprefix("listening on ").strip()
        if not address:
            sys.exit("The server did not start.")
        limiters = f"{address}/v1/limiters"

        with Paddlegate(redis) as pg:
            mail = pg.bucket("mail-api", 4, "day")
            mail.try_acquire()
            print(call(f"{limiters}/mail-api/acquire", cost=2)["remaining"])  # -> 1
            try:
                call(f"{limiters}/mail-api/acquire?refusal=429", cost=2)
            except urllib.error.HTTPError as refused:
                print(refused.code, "Retry-After" in refused.headers)  # -> 429 True
            print(mail.peek().remaining)  # -> 1

            lease = call(f"{limiters}/erp/acquire", wait_timeout=5)
            print(pg.concurrent("erp", 1).try_acquire().allowed)  # -> False
            released = call(f"{limiters}/erp/release", permit=lease["permit"])
            print(released["settlement"])  # -> released
    finally:
        server.terminate()
        ended = server.wait(30)
    print(ended)  # -> 0
