"""Four workers share requests and tokens of a model that keeps books of its own. Nobody is refused.

Guide: docs/src/guides/requests-and-tokens.md
"""

import json
import random
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from paddlegate import Leaky, Paddlegate, Points

LIMITS = {"requests": 1_200, "tokens": 180_000}  # a minute; the limiter is told less
PROMPT, MOST = 400, 800


class Model(BaseHTTPRequestHandler):
    """A provider that refills requests and tokens all the time, as OpenAI does."""

    taken, since, lock = dict.fromkeys(LIMITS, 0.0), time.monotonic(), threading.Lock()
    spent = refused = 0

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        written = random.randint(1, asked["max_tokens"])
        with Model.lock:
            allowed = self.take({"requests": 1, "tokens": PROMPT + written})
            headers = {"openai-version": "2020-10-01"}
            for name, limit in LIMITS.items():
                headers[f"x-ratelimit-limit-{name}"] = str(limit)
                headers[f"x-ratelimit-remaining-{name}"] = str(int(limit - self.taken[name]))
                reset = round(self.taken[name] * 60_000 / limit)
                headers[f"x-ratelimit-reset-{name}"] = f"{reset}ms"
        usage = {"prompt_tokens": PROMPT, "completion_tokens": written}
        body = {"usage": {**usage, "total_tokens": PROMPT + written}} if allowed else {}
        self.send_response(200 if allowed else 429)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def take(self, cost):
        now = time.monotonic()
        drained, Model.since = now - self.since, now
        for name, limit in LIMITS.items():
            self.taken[name] = max(0, self.taken[name] - drained * limit / 60)
        if any(self.taken[name] + cost[name] > limit for name, limit in LIMITS.items()):
            Model.refused += 1
            return False
        for name, units in cost.items():
            self.taken[name] += units
        Model.spent += cost["tokens"]
        return True

    def log_message(self, *_):
        pass


def limiter(pg):
    return pg.limiter("model", rpm=Leaky(600, 60), tpm=Points(60_000, 60))


def worker(pg, url):
    llm = limiter(pg)
    question = json.dumps({"messages": [], "max_tokens": MOST}).encode()
    for _ in range(58):
        estimate = {"tpm": PROMPT + MOST}
        with (
            llm.within_limit(estimate=estimate, wait_timeout=30) as permit,
            urllib.request.urlopen(url, question) as response,
        ):
            permit.learn_from_response(response.headers, response.read(), status=response.status)


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1/chat/completions"
    with Paddlegate() as pg:  # PADDLEGATE_URL, or this process
        workers = [threading.Thread(target=worker, args=[pg, url]) for _ in range(4)]
        for thread in workers:
            thread.start()
        for thread in workers:
            thread.join()
        learned = limiter(pg).runtime_state().learned
        print(learned["rpm"].amount, learned["tpm"].amount)  # -> 1200 180000
    print(Model.spent, "tokens")
    print("refused:", Model.refused)  # -> refused: 0
    server.shutdown()


main()
