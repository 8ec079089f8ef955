"""A small Shopify and a small GitHub, which keep limits of their own."""

import json
import math
import random
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Shopify:
    """A budget of points that restores all the time; what a query does not need is given back."""

    def __init__(self, size, restore_rate, seed):
        self._size, self._rate, self._dice = size, restore_rate, random.Random(seed)
        self._left, self._began, self._at = size, None, None
        self.spent = self.throttled = 0
        self._lock = threading.Lock()

    @property
    def seconds(self):
        """How long it was asked."""
        return self._at - self._began

    def capacity(self):
        """All that could be spent until the last question."""
        return self._size + self._rate * self.seconds

    def answer(self, body):
        requested = int(body["requested"])
        with self._lock:
            now = time.monotonic()
            self._left = min(self._size, self._left + (now - (self._at or now)) * self._rate)
            self._began = self._began or now
            self._at = now
            if requested > self._left:
                self.throttled += 1
                errors = [{"message": "Throttled", "extensions": {"code": "THROTTLED"}}]
                return 200, {}, {"errors": errors, "extensions": self._cost(requested, None)}
            # Many searches find less than they ask for, and pay only for that.
            actual = self._dice.randint(math.ceil(requested / 2), requested)
            self._left -= actual
            self.spent += actual
            return 200, {}, {"data": {}, "extensions": self._cost(requested, actual)}

    def _cost(self, requested, actual):
        status = {
            "maximumAvailable": float(self._size),
            "currentlyAvailable": math.floor(self._left),
            "restoreRate": float(self._rate),
        }
        return {
            "cost": {
                "requestedQueryCost": requested,
                "actualQueryCost": actual,
                "throttleStatus": status,
            }
        }


class GitHub:
    """So many requests per hour, of which the first ends soon, at a full second."""

    def __init__(self, limit, seconds):
        self._limit = limit
        self._reset = math.ceil(time.time() + seconds)
        self._used = 0
        self.spent = self.throttled = 0
        self._lock = threading.Lock()

    def capacity(self):
        """The rest of the first hour and all of the second."""
        return 2 * self._limit

    def answer(self, _):
        with self._lock:
            now = time.time()
            if now >= self._reset:
                self._reset += 3600
                self._used = 0
            allowed = self._used < self._limit
            self._used += allowed
            self.spent += allowed
            self.throttled += not allowed
            headers = {
                "X-RateLimit-Limit": str(self._limit),
                "X-RateLimit-Remaining": str(self._limit - self._used),
                "X-RateLimit-Reset": str(self._reset),
                "X-RateLimit-Resource": "core",
                "Date": formatdate(now, usegmt=True),
            }
        return (200 if allowed else 403), headers, {}


class Served:
    """An upstream behind HTTP on a free port."""

    def __init__(self, upstream):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, headers, answer = upstream.answer(body)
                text = json.dumps(answer).encode()
                self.send_response_only(status)
                for name, value in {**headers, "Content-Length": str(len(text))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            # All workers come at once; those that find no room are sent away.
            request_queue_size = 100

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
