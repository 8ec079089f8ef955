import http.client
import json
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

import pytest
from server import Clock, Server, empty_store

sys.path.append(str(Path(__file__).parents[1] / "shared"))
from servers import own_redis

SOAK = bool(os.environ.get("PADDLEGATE_SOAK"))
# What is refused before a store is asked.
CHECKED = pytest.mark.parametrize("ojs", ["memory", "redis"] if SOAK else ["memory"], indirect=True)

# Jobs that are tried again at once.
AT_ONCE = {"initial_interval_ms": 0}


class Answer:
    def __init__(self, status, headers, text):
        self.status, self.headers = status, headers
        self.body = json.loads(text) if text else None


class Client:
    """Speaks to one server, as its users do."""

    def __init__(self, server):
        self.server, self.clock = server, server.clock

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        try:
            text = body if body is None or isinstance(body, str) else json.dumps(body)
            connection.request(method, f"/ojs/v1{path}", text)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def get(self, path):
        answer = self.ask("GET", path)
        assert answer.status == 200, answer.body
        return answer.body

    def post(self, path, body, status=200):
        answer = self.ask("POST", path, body)
        assert answer.status == status, answer.body
        return answer

    def enqueue(self, policy=None, *, queue="default", kind="test", **options):
        if policy is not None:
            options["rate_limit"] = policy
        options.setdefault("retry", AT_ONCE)
        job = {"type": kind, "args": [], "options": {"queue": queue, **options}}
        return self.post("/jobs", job, 201).body["job"]

    def fetch(self, count=1, *, queue="default", worker="worker"):
        body = {"queues": [queue], "count": count, "worker_id": worker}
        return self.post("/workers/fetch", body).body["jobs"]

    def fetched(self, count=1, **more):
        return [job["id"] for job in self.fetch(count, **more)]

    def ack(self, job, status=200, **more):
        return self.post("/workers/ack", {"job_id": job["id"], **more}, status).body

    def nack(self, job, error, status=200, **more):
        body = {"job_id": job["id"], "error": error, **more}
        return self.post("/workers/nack", body, status).body

    def job(self, job):
        return self.get(f"/admin/jobs/{job['id']}")

    def key(self, name):
        return self.get(f"/rate-limits/{quote(name, safe='')}")

    def override(self, name, body, status=200):
        answer = self.ask("PUT", f"/rate-limits/{name}", body)
        assert answer.status == status, answer.body
        return answer.body

    def delete(self, path):
        return self.ask("DELETE", f"/rate-limits/{path}").status

    def events(self, kind=None):
        """The data of the events of limits, or of one kind."""
        events = self.get("/events?limit=1000")["events"]
        asked = (event["type"].startswith(kind or "rate_limit.") for event in events)
        return [event["data"] for event, is_asked in zip(events, asked, strict=True) if is_asked]


@pytest.fixture(scope="session", autouse=True)
def redis_of_the_worker():
    with own_redis():
        yield


@pytest.fixture
def serve():
    """Start servers on one empty Redis."""
    with ExitStack() as running:
        url = empty_store()
        yield lambda **more: Client(running.enter_context(Server(url, **more)))


@pytest.fixture(params=["redis", "memory"])
def ojs(request):
    """A server whose clock is moved by the test."""
    url = empty_store() if request.param == "redis" else None
    with Server(url, Clock()) as server:
        yield Client(server)


@pytest.fixture
def real(serve):
    """A server by the clock of Redis."""
    return serve()


# The closing line is the one that scripts/tally.sh counts in all languages.
@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    config.pluginmanager.getplugin("terminalreporter").summary_stats = lambda: None


def pytest_unconfigure(config):
    stats = config.pluginmanager.getplugin("terminalreporter").stats
    passed, failed, errors = (len(stats.get(key, ())) for key in ("passed", "failed", "error"))
    print(f"{passed} passed, {failed + errors} failed")
