import http.client
import json
import os
from contextlib import ExitStack
from urllib.parse import quote

import pytest
from jobs import Clock
from paddlegate import TestClock
from server import Server

# Saturday, 2026-11-21 12:00:00 UTC.
NOON_US = 1_795_262_400_000_000


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
        events = self.get("/events")["events"]
        return [event["data"] for event in events if kind in (None, event["type"])]


@pytest.fixture(scope="session")
def url():
    return os.environ["PADDLEGATE_TEST_URL"]


@pytest.fixture
def serve(url):
    """Start servers; those with one prefix share their limits."""
    with ExitStack() as running:
        yield lambda **more: Client(running.enter_context(Server(url, **more)))


@pytest.fixture
def ojs(serve):
    """A server whose clock is moved by the test."""
    return serve(clock=Clock(TestClock(NOON_US)))


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
