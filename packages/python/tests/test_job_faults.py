# mypy: allow-untyped-calls
"""What goes wrong with a limited job, in real workers of each job system. See faults_app.py."""

import importlib
import os
import signal
import subprocess
import sys
import uuid
from collections import Counter
from pathlib import Path

import pytest
import redis

pytestmark = pytest.mark.soak
HERE = Path(__file__).parent
# arq needs an older redis than the other job systems, so it lies apart.
ARQ = Path(__file__).parents[3] / ".venv" / "arq"
PATIENT = 50
WORKERS = {
    "celery": [
        [
            *["celery", "-A", "faults_app:app", "worker", "-c", "4", "-l", "ERROR"],
            *["--without-gossip", "--without-mingle", "--without-heartbeat"],
        ]
    ],
    "rq": [["rq.cli", "worker", "-u", "{url}", "--with-scheduler", "--path", ".", "{name}"]] * 2,
    "dramatiq": [["dramatiq", "faults_app", "--processes", "1", "--threads", "4"]],
    "huey": [["huey.bin.huey_consumer", "faults_app.tasks", "-w", "4", "-d", "0.1", "-s", "1"]],
    "taskiq": [
        ["taskiq", "worker", "faults_app:broker", "--workers", "1", "--log-level", "ERROR"],
        ["taskiq", "scheduler", "faults_app:scheduler", "--update-interval", "1"],
    ],
    "arq": [["arq", "faults_app.WorkerSettings"]],
}
# Huey takes SIGTERM for an end at once.
STOP = {"huey": signal.SIGINT}


class Host:
    """A job system with its workers."""

    def __init__(self, name, url):
        self.name = name
        self._url = url
        self.environment = {**os.environ, "TASKS_HOST": name}
        if name == "arq":
            self.environment["PYTHONPATH"] = str(ARQ)
        self._log = importlib.import_module("hosts_log")
        self.pg = self._log.pg
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self, *options):
        for words in WORKERS[self.name]:
            given = [word.format(url=self._url, name=self._log.NAME) for word in words]
            self._running.append(self._run("-m", *given, *options))

    def stop(self, by=None):
        for process in self._running:
            process.send_signal(by or STOP.get(self.name, signal.SIGTERM))
        for process in self._running:
            process.wait(PATIENT)
        self._running = []

    def send(self, job, *numbers):
        words = "-c", "import sys, faults_app; faults_app.main(*sys.argv[1:])", job
        assert self._run(*words, *map(str, numbers)).wait(PATIENT) == 0

    def notes(self, kind):
        return [words for _, what, *words in self._log.notes(self.name) if what == kind]

    def end_recovery(self):
        """End the time after which the taken tasks of Huey run again; return how many they are."""
        key = f"huey.taken.{self._log.NAME}"
        with redis.Redis.from_url(self._url, socket_timeout=PATIENT) as client:
            tasks = client.zrange(key, 0, -1)
            for task in tasks:
                client.zadd(key, {task: 1})
            return len(tasks)

    def limiter(self, job, lock_timeout):
        return self.pg.concurrent(
            f"{self._log.NAME}-{self.name}-{job}", 1, lock_timeout=lock_timeout
        )

    def most_at_once(self, job):
        """Return how many bodies of a job ran at once."""
        running = most = 0
        for _, what, *_words in sorted(self._log.notes(self.name), key=lambda it: int(it[0])):
            running += {f"begin-{job}": 1, f"end-{job}": -1}.get(what, 0)
            most = max(most, running)
        return most

    def _run(self, *words):
        return subprocess.Popen([sys.executable, *words], cwd=HERE, env=self.environment)


@pytest.fixture(params=WORKERS)
def host(request, url, monkeypatch):
    monkeypatch.setenv("TASKS_URL", url)
    monkeypatch.setenv("TASKS_NAME", f"faults{uuid.uuid4().hex}")
    monkeypatch.syspath_prepend(HERE)
    sys.modules.pop("hosts_log", None)
    host = Host(request.param, url)
    host.start()
    yield host
    host.stop()
    sys.modules.pop("hosts_log", None)


@pytest.mark.timeout(120)
def test_what_is_wrong_fails_its_job_alone(host, until):
    faults = ["wrong_name", "no_limiter", "wrong_cost", "no_key"]
    for fault in faults:
        host.send(fault, 1)
    until(lambda: {words[0] for words in host.notes("ask")} == set(faults), PATIENT)
    host.send("fine", 1, 2)
    until(lambda: len(host.notes("end-fine")) == 2, PATIENT)
    assert not any(host.notes(f"begin-{fault}") for fault in faults), "none of them runs"
    keyed = host.pg.concurrent(f"{os.environ['TASKS_NAME']}-keyed", 1, keyed=True)
    assert (keyed.stats().leases, keyed.stats().tickets, keyed.stats().granted) == (0, 0, 0)
    if host.name == "arq":
        # It has tries left, but not for what failed.
        assert max(Counter(words[0] for words in host.notes("ask")).values()) == 1


@pytest.mark.timeout(120)
def test_a_lease_that_ends_while_its_job_runs_makes_room_once(host, until):
    host.send("long", 1, 2, 3)
    until(lambda: len(host.notes("end-long")) == 3, PATIENT)
    limiter = host.limiter("long", 1)
    until(lambda: limiter.stats().leases == limiter.stats().tickets == 0, PATIENT)
    stats = limiter.stats()
    assert sorted(int(number) for number, _ in host.notes("end-long")) == [1, 2, 3]
    assert stats.granted == 3
    # A late release frees nobody's lease: each job counts at most once as late.
    assert 1 <= stats.reclaimed + stats.overages <= 6


@pytest.mark.timeout(120)
def test_no_job_is_lost_with_a_worker_that_is_stopped(host, until):
    host.send("slow", *range(8))
    until(lambda: host.notes("begin-slow"), PATIENT)
    host.stop()
    host.start()

    def have_ended():
        if host.name == "taskiq":
            # It looks for the messages of another worker when one has come.
            host.send("fine", 1)
        return {int(number) for number, _ in host.notes("end-slow")} == set(range(8))

    until(have_ended, PATIENT)
    limiter = host.limiter("slow", 20)
    until(lambda: limiter.stats().leases == limiter.stats().tickets == 0, PATIENT)
    begun = Counter(int(number) for number, _ in host.notes("begin-slow"))
    assert set(begun) == set(range(8))
    # What a worker gives up when it is stopped runs again.
    assert sum(begun.values()) <= 8 + 4


# A call of a task of Huey sends another one.
@pytest.mark.timeout(120)
@pytest.mark.parametrize("host", [name for name in WORKERS if name != "huey"], indirect=True)
def test_a_job_that_calls_itself_is_not_put_back(host, until):
    host.send("tree", 1)
    until(lambda: host.notes("end-tree"), PATIENT)
    until(lambda: len(host.notes("end-tree")) == 2, PATIENT)
    assert [int(number) for number, _ in host.notes("begin-tree")] == [1, 0]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("host", ["huey"], indirect=True)
@pytest.mark.parametrize("workers", ["thread", "process", "greenlet"])
def test_a_task_of_huey_runs_again_that_is_interrupted(host, until, monkeypatch, workers):
    host.stop()
    if workers == "greenlet":
        monkeypatch.setitem(host.environment, "TASKS_GREENLETS", "1")
    host.start("-k", workers)
    host.send("stopped", 1)
    until(lambda: host.notes("begin-stopped"), PATIENT)
    host.stop(signal.SIGTERM)
    assert host.end_recovery() == 1, "it is kept"
    host.start("-k", workers)
    until(lambda: host.notes("end-stopped"), PATIENT)
    host.stop()
    assert host.end_recovery() == 0, "it has ended"
