"""Asks an upstream as fast as the limiter lets it, and learns from every answer.

client.py URL NAME LIMIT LOOPS SECONDS SEED, where LIMIT is [kind, amount, seconds]. Says `ready`,
waits for a line, and at the end says how many calls were answered.
"""

import http.client
import json
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from paddlegate import OverLimit, Paddlegate

url, name, limit, *numbers = sys.argv[1:]
loops, seconds, seed = map(int, numbers)
kind, amount, interval = json.loads(limit)
limiter = Paddlegate(timeout=10).limiter(name, [(kind, amount, interval)])


def work(number):
    dice = random.Random(f"{seed} {number}")
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    answered = 0
    while time.monotonic() < end:
        requested = dice.randint(2, 40)
        estimate = {"estimate": requested} if kind == "points" else {}
        try:
            permit = limiter.acquire(wait_timeout=max(end - time.monotonic(), 0.001), **estimate)
        except OverLimit:
            continue
        connection.request("POST", "/", json.dumps({"requested": requested}))
        response = connection.getresponse()
        permit.learn_from_response(response.headers, response.read(), status=response.status)
        answered += 1
    return answered


print("ready", flush=True)
sys.stdin.readline()
end = time.monotonic() + seconds
with ThreadPoolExecutor(loops) as pool:
    print(json.dumps({"answered": sum(pool.map(work, range(loops)))}))
