"""A WSGI server that answers 429 with Retry-After, and a client that obeys it.

Guide: docs/src/guides/http-429.md
"""

import math
import threading
import time
import urllib.error
import urllib.request
from wsgiref.simple_server import WSGIRequestHandler, make_server

from paddlegate import Paddlegate

pg = Paddlegate()  # PADDLEGATE_URL, or this process
per_address = pg.leaky("http", 2, 4, keyed=True, on_unavailable="fail_open")


def app(environ, start_response):
    decision = per_address.try_acquire(key=environ["REMOTE_ADDR"])
    if not decision:
        retry_after = str(math.ceil(decision.retry_after or 60))
        start_response("429 Too Many Requests", [("Retry-After", retry_after)])
        return [b"too many requests\n"]
    start_response("200 OK", [("X-RateLimit-Remaining", str(decision.remaining))])
    return [b"hello\n"]


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


def get(url):
    try:
        with urllib.request.urlopen(url) as response:
            return response.status, response.headers
    except urllib.error.HTTPError as error:
        return error.code, error.headers


server = make_server("127.0.0.1", 0, app, handler_class=Quiet)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/"

status = 200
while status == 200:
    status, headers = get(url)
    print(status)
time.sleep(int(headers["Retry-After"]))
print(get(url)[0] == 200)  # -> True
server.shutdown()
