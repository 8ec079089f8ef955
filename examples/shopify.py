"""Three workers share the budget of a shop that keeps books of its own. Nobody is throttled.

Guide: docs/src/guides/shopify.md
"""

import json
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from paddlegate import Paddlegate, graphql_cost

SIZE, RATE = 60, 30  # points, points a second
QUERY = "{ products(first: 20) { nodes { id } } }"


class Shop(BaseHTTPRequestHandler):
    """A Shopify that takes what a query returns from a budget of its own."""

    left, since, lock, throttled = float(SIZE), time.monotonic(), threading.Lock(), 0

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        requested, actual = 7, 5
        with Shop.lock:
            now = time.monotonic()
            Shop.left = min(SIZE, Shop.left + (now - Shop.since) * RATE)
            Shop.since = now
            if requested > Shop.left:
                Shop.throttled += 1
                actual = None
            else:
                Shop.left -= actual
            status = {
                "maximumAvailable": SIZE,
                "currentlyAvailable": int(Shop.left),
                "restoreRate": RATE,
            }
        cost = {
            "requestedQueryCost": requested,
            "actualQueryCost": actual,
            "throttleStatus": status,
        }
        body = json.dumps({"data": {}, "extensions": {"cost": cost}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def worker(pg, url):
    shop = pg.points("shopify:store-1", SIZE, SIZE / RATE)
    for _ in range(8):
        with shop.within_limit(estimate=graphql_cost(QUERY)) as permit:
            request = urllib.request.Request(url, json.dumps({"query": QUERY}).encode())
            with urllib.request.urlopen(request) as response:
                permit.learn_from_response(
                    response.headers, response.read(), status=response.status
                )


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Shop)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/graphql.json"
    with Paddlegate() as pg:  # PADDLEGATE_URL, or this process
        workers = [threading.Thread(target=worker, args=[pg, url]) for _ in range(3)]
        for thread in workers:
            thread.start()
        for thread in workers:
            thread.join()
        stats = pg.points("shopify:store-1", SIZE, SIZE / RATE).stats()
    print(stats.granted, "queries,", stats.units, "points")
    print("throttled:", Shop.throttled)  # -> throttled: 0
    server.shutdown()


main()
