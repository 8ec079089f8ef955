"""The job server: queues, retries, heartbeats, dead letters, faults; servers that are killed."""

import http.client
import os
import random
import threading
import time

import pytest
import redis
from conftest import CHECKED, SOAK, Client
from server import Server, empty_store

# The test of many workers: how many, the jobs, the kills, and the seconds for a job.
WORKERS, JOBS, KILLS, VISIBILITY = (50, 300, 5, 2) if SOAK else (12, 80, 2, 1)

# A server that was killed gives no answer, or says that it knows nothing of the job's store.
UNANSWERED = (OSError, http.client.HTTPException)


def test_a_queue_has_limits_beside_those_of_a_job(ojs):
    path = "/admin/queues/mail/rate-limit"
    answer = ojs.ask("PUT", path, {"rate": {"limit": 3, "period": "PT1H"}})
    assert (answer.status, answer.body["key"]) == (200, "queue/mail")
    for _ in range(4):
        ojs.enqueue({"key": "smtp", "concurrency": 2}, queue="mail")
    plain = ojs.enqueue(queue="mail")
    started = ojs.fetch(5, queue="mail")
    assert len(started) == 3
    assert started[2]["id"] == plain["id"], "a limited job lets others of its queue pass"
    ojs.ack(started[0])
    assert ojs.fetch(5, queue="mail") == [], "the queue had its three"
    assert ojs.key("smtp")["concurrency"]["active"] == 1, "a refusal of the queue takes no slot"
    assert ojs.key("queue/mail")["rate"]["current_count"] == 3
    exceeded = [(event["key"], event["strategy"]) for event in ojs.events("rate_limit.exceeded")]
    assert exceeded == [("smtp", "concurrency"), ("queue/mail", "rate")]


def test_a_queue_is_configured_whole(ojs):
    config = {"concurrency": 1, "rate_limit": {"limit": 5, "period": "PT1H"}, "retention": {}}
    shown = ojs.ask("PUT", "/admin/queues/mail/config", config).body
    assert (shown["concurrency"]["limit"], shown["rate"]["limit"]) == (1, 5)
    for _ in range(2):
        ojs.enqueue(queue="mail")
    assert len(ojs.fetch(2, queue="mail")) == 1
    for body in {"rate": {"limit": 0, "period": "PT1S"}}, {"key": "k", "concurrency": 1}:
        assert ojs.ask("PUT", "/admin/queues/mail/rate-limit", body).status == 400
    assert ojs.ask("PUT", "/admin/queues/Mail/config", config).status == 400


def test_the_first_queue_of_a_fetch_is_the_most_important(ojs):
    low, high = ojs.enqueue(queue="low"), ojs.enqueue(queue="high")
    body = {"queues": ["high", "low"], "count": 2, "worker_id": "w"}
    assert [job["id"] for job in ojs.post("/workers/fetch", body).body["jobs"]] == [
        high["id"],
        low["id"],
    ]


def test_a_heartbeat_keeps_job_and_slot(ojs):
    for _ in range(2):
        ojs.enqueue({"key": "long", "concurrency": 1}, visibility_timeout_ms=10_000)
    [job] = ojs.fetch(2, worker="w")
    for _ in range(3):
        ojs.clock.advance(9.999999)
        beat = {
            "worker_id": "w",
            "active_jobs": [job["id"], "01961111-aaaa-7bbb-8ccc-dddddddddddd"],
        }
        answer = ojs.post("/workers/heartbeat", beat).body
        assert (answer["state"], answer["jobs_extended"]) == ("running", [job["id"]])
        assert ojs.fetch(2, worker="other") == []
    other = {"worker_id": "other", "active_jobs": [job["id"]]}
    assert ojs.post("/workers/heartbeat", other).body["jobs_extended"] == []
    ojs.clock.advance(10)
    again = ojs.fetch(2, worker="other")
    assert [(it["id"], it["attempt"]) for it in again] == [(job["id"], 2)]


def test_an_execution_that_takes_too_long_has_failed(ojs):
    ojs.enqueue({"key": "slow", "concurrency": 1}, timeout_ms=2_000)
    [job] = ojs.fetch()
    ojs.clock.advance(1.999999)
    assert ojs.job(job)["state"] == "active"
    ojs.clock.advance(0.000001)
    shown = ojs.job(job)
    assert (shown["state"], shown["error"]["code"]) in [
        ("retryable", "timeout"),
        ("available", "timeout"),
    ]
    assert ojs.key("slow")["concurrency"]["active"] == 0


def test_retries_come_later_and_end(ojs):
    retry = {
        "max_attempts": 3,
        "initial_interval": "PT1S",
        "backoff_coefficient": 2,
        "jitter": False,
    }
    ojs.enqueue(retry=retry)
    for delay in 1, 2:
        [job] = ojs.fetch()
        told = ojs.nack(job, {"code": "failed", "message": "no"})
        assert (told["state"], told["retry_delay_ms"]) == ("retryable", delay * 1_000)
        ojs.clock.advance(delay - 0.000001)
        assert ojs.fetch() == []
        ojs.clock.advance(0.000001)
    [job] = ojs.fetch()
    assert ojs.nack(job, {"code": "failed", "message": "no"})["state"] == "discarded"
    shown = ojs.job(job)
    assert [error["attempt"] for error in shown["errors"]] == [1, 2, 3]


def test_dead_letters_are_kept_and_tried_again(ojs):
    policy = {"key": "dead", "rate": {"limit": 2, "period": "PT1M"}}
    ojs.enqueue(policy, retry={"max_attempts": 1, "on_exhaustion": "dead_letter"})
    [job] = ojs.fetch()
    ojs.nack(job, {"code": "failed"})
    ojs.clock.advance(2 * 86_400)
    assert [it["id"] for it in ojs.get("/dead-letter")["jobs"]] == [job["id"]]
    revived = ojs.post(f"/dead-letter/{job['id']}/retry", {}).body["job"]
    assert (revived["state"], revived["attempt"]) == ("available", 0)
    assert ojs.get("/dead-letter")["jobs"] == []
    assert ojs.fetched() == [job["id"]]
    assert ojs.ask("DELETE", f"/dead-letter/{job['id']}").status == 404


def test_ended_jobs_are_forgotten_after_a_day(ojs):
    ojs.enqueue()
    [job] = ojs.fetch()
    ojs.ack(job)
    ojs.clock.advance(86_399)
    assert ojs.job(job)["state"] == "completed"
    ojs.clock.advance(2)
    assert ojs.ask("GET", "/jobs").status == 404
    ojs.fetch()
    assert ojs.ask("GET", f"/jobs/{job['id']}").status == 404


def test_a_job_that_expires_is_not_started(ojs):
    job = ojs.enqueue(expires_at="2026-11-21T12:00:10Z")
    ojs.clock.advance(10)
    assert ojs.fetch() == []
    assert ojs.job(job)["state"] == "discarded"


def test_a_cancelled_job_frees_its_slot_and_its_place(ojs):
    policy = {"key": "one", "concurrency": 1}
    first, second, third = (ojs.enqueue(policy) for _ in range(3))
    assert ojs.fetched(3) == [first["id"]]
    assert ojs.ask("DELETE", f"/jobs/{second['id']}").status == 200
    assert ojs.ask("DELETE", f"/jobs/{first['id']}").status == 200
    assert ojs.key("one")["waiting_count"] == 1
    assert ojs.fetched(3) == [third["id"]]


def test_a_batch_is_whole_or_not_at_all(ojs):
    good = {"type": "t", "args": [], "rate_limit": {"key": "batch", "concurrency": 9}}
    assert ojs.post("/jobs/batch", {"jobs": []}, 201).body["count"] == 0
    first, second = ojs.post("/jobs/batch", {"jobs": [good, good]}, 201).body["jobs"]
    limited = {**good, "rate_limit": {"key": "new", "concurrency": 1}}
    double = {**good, "id": "01961111-aaaa-7bbb-8ccc-dddddddddddd"}
    for jobs, status, message in [
        ([limited, {"type": "t"}], 400, "jobs[1]: args"),
        ([limited, 5], 400, "jobs[1] must be an object"),
        ([limited, {**good, "options": {"unique": {}}}], 422, "jobs[1]: options.unique"),
        ([limited, good, {**good, "id": second["id"]}], 409, "jobs[2]: a job has this id"),
        ([double, double], 409, "jobs[1]: a job has this id"),
    ]:
        error = ojs.post("/jobs/batch", {"jobs": jobs}, status).body["error"]
        assert message in error["message"]
        assert ojs.ask("GET", "/rate-limits/new").status == 404, "nothing is defined"
    assert ojs.key("batch")["waiting_count"] == 2
    enqueued = [event["job_id"] for event in ojs.events("job.enqueued")]
    assert enqueued == [first["id"], second["id"]]
    assert ojs.fetched(9) == enqueued


@CHECKED
@pytest.mark.parametrize(
    ("job", "argument"),
    [
        ({"options": {"unique": {"keys": ["type"]}}}, "options.unique"),
        ({"unique": {"keys": ["type"]}}, "unique"),
        ({"workflow": {"steps": []}}, "workflow"),
        ({"options": {"cron": "* * * * *"}}, "options.cron"),
        ({"cron": "* * * * *"}, "cron"),
        ({"options": {"surprise": 1}}, "options.surprise"),
        ({"options": {"retry": {"surprise": 1}}}, "retry.surprise"),
        ({"options": {"retry": {"backoff_strategy": "polynomial"}}}, "retry.backoff_strategy"),
        ({"options": {"retry": {"on_exhaustion": "page"}}}, "retry.on_exhaustion"),
    ],
)
def test_what_is_not_supported_is_refused(ojs, job, argument):
    error = ojs.post("/jobs", {"type": "t", "args": [], **job}, 422).body["error"]
    assert (error["code"], error["details"]["argument"]) == ("unsupported", argument)
    assert ojs.fetch(9) == []


@CHECKED
def test_options_may_stand_in_the_job_itself_and_others_are_kept(ojs):
    at = "2026-11-21T12:00:10Z"
    job = {"type": "t", "args": [], "scheduled_at": at, "timeout_ms": 1_000, "trace": "x"}
    shown = ojs.post("/jobs", {**job, "unique": None, "options": {"cron": None}}, 201).body["job"]
    assert (shown["state"], shown["trace"]) == ("scheduled", "x")
    assert ojs.fetch() == []
    ojs.clock.advance(10)
    [job] = ojs.fetch()
    ojs.clock.advance(1)
    assert ojs.job(job)["error"]["code"] == "timeout"


@CHECKED
@pytest.mark.parametrize(
    ("body", "argument"),
    [
        ({"type": "T", "args": []}, "type"),
        ({"type": "t", "args": {}}, "args"),
        ({"type": "t", "args": [], "id": "no"}, "id"),
        ({"type": "t", "args": [], "options": []}, "options"),
        ({"type": "t", "args": [], "options": {"queue": "No"}}, "queue"),
        ({"type": "t", "args": [], "options": {"priority": 101}}, "options.priority"),
        ({"type": "t", "args": [], "options": {"priority": "1"}}, "options.priority"),
        ({"type": "t", "args": [], "options": {"delay_until": "soon"}}, "delay_until"),
        ({"type": "t", "args": [], "options": {"timeout_ms": 0}}, "options.timeout_ms"),
        ({"type": "t", "args": [], "options": {"retry": {"jitter": 1}}}, "retry.jitter"),
    ],
)
def test_bad_members_are_named_and_change_nothing(ojs, body, argument):
    error = ojs.post("/jobs", body, 400).body["error"]
    assert error["details"]["argument"] == argument
    assert ojs.fetch(9) == []
    assert ojs.get("/events")["events"] == []


def test_answers_have_their_headers(ojs):
    answer = ojs.ask("GET", "/health")
    assert answer.headers["Content-Type"] == "application/openjobspec+json"
    assert answer.headers["OJS-Version"] == "1.0"
    assert answer.headers["X-Request-Id"].startswith("req_")
    missing = ojs.ask("GET", "/jobs/none")
    assert missing.body["error"]["request_id"] == missing.headers["X-Request-Id"]


def test_jobs_outlive_their_server(serve):
    first = serve()
    first.enqueue({"key": "kept", "concurrency": 1})
    waiting = first.enqueue({"key": "kept", "concurrency": 1})
    [job] = first.fetch(2)
    first.server.kill()
    second = serve()
    assert second.job(job)["state"] == "active"
    assert second.fetch(2) == []
    second.ack(job)
    assert second.fetched(2) == [waiting["id"]]


def test_without_its_store_it_says_so(serve):
    server = serve()
    answer = None
    while answer is None or answer.status == 200:
        # A machine that stalls may ask when the pause is over.
        with redis.Redis.from_url(server.server.url) as client:
            client.execute_command("CLIENT", "PAUSE", 2_500)
        answer = server.ask("GET", "/health")
    assert (answer.status, answer.body["error"]["code"]) == (503, "unavailable")
    assert answer.body["error"]["retryable"] is True
    while server.ask("GET", "/health").status != 200:
        time.sleep(0.1)


class Ledger:
    """What workers say that they do: the outside check of the limits."""

    def __init__(self, limits, keys):
        self.limits, self.keys = limits, keys
        self.lock, self.faults = threading.Lock(), []
        self.starts, self.done = set(), set()
        self._active = {key: {} for key in limits}

    def start(self, job, ends):
        """Note a job that a worker has until that time at least."""
        key, start, now = self.keys[job["id"]], (job["id"], job["attempt"]), time.monotonic()
        with self.lock:
            if start in self.starts:
                self.faults.append(f"started twice: {start}")
            self.starts.add(start)
            active = self._active[key]
            if any(other == start[0] and end > now for (other, _), end in active.items()):
                self.faults.append(f"two workers have it: {start}")
            active[start] = ends
            for other in [other for other, end in active.items() if end <= now]:
                del active[other]
            if len(active) > self.limits[key]:
                self.faults.append(f"above the limit of {key}: {active}")

    def end(self, job):
        with self.lock:
            self._active[self.keys[job["id"]]].pop((job["id"], job["attempt"]), None)

    def complete(self, job, is_first):
        with self.lock:
            if is_first and job["id"] in self.done:
                self.faults.append(f"done twice: {job['id']}")
            self.done.add(job["id"])


def work(servers, ledger, name, chance):
    """Fetch and end jobs until all are done; vanish now and then."""
    while len(ledger.done) < len(ledger.keys) and not ledger.faults:
        asked = time.monotonic()
        try:
            jobs = Client(chance.choice(servers)).fetch(2, worker=name)
        except UNANSWERED:
            jobs = []
        if not jobs:
            time.sleep(0.02)
        for job in jobs:
            ledger.start(job, asked + VISIBILITY)
        for job in jobs:
            time.sleep(chance.random() / 100)
            if chance.random() < 0.03:
                continue  # It vanishes; its job is another's after a while.
            ledger.end(job)
            for server in chance.sample(servers, len(servers)) * 2:
                try:
                    body = {"job_id": job["id"], "worker_id": name}
                    answer = Client(server).ask("POST", "/workers/ack", body)
                except UNANSWERED:
                    continue
                # One that was killed may have ended the job without an answer.
                if answer.status == 200 or "state=completed" in answer.body["error"]["message"]:
                    ledger.complete(job, answer.status == 200)
                break


@pytest.mark.timeout(300)
def test_many_workers_and_killed_servers_lose_nothing_and_exceed_nothing():
    """Three servers of which one is killed again and again, and workers of which some vanish."""
    seed = int(os.environ.get("PADDLEGATE_SEED") or (random.randrange(10**9) if SOAK else 1))
    print(f"PADDLEGATE_SEED={seed}")
    chance, url, keys = random.Random(seed), empty_store(), {}
    servers = [Server(url) for _ in range(3)]
    ledger = Ledger({"a": 3, "b": 5}, keys)
    try:
        for n in range(JOBS):
            policy = {"key": "ab"[n % 2], "concurrency": ledger.limits["ab"[n % 2]]}
            more = {"retry": {"max_attempts": 1_000}, "visibility_timeout_ms": VISIBILITY * 1_000}
            keys[Client(servers[n % 3]).enqueue(policy, **more)["id"]] = policy["key"]
        workers = [
            threading.Thread(target=work, args=(servers, ledger, f"w{n}", random.Random(seed + n)))
            for n in range(WORKERS)
        ]
        for worker in workers:
            worker.start()
        for _ in range(KILLS):
            before = len(ledger.done)
            while len(ledger.done) < min(before + JOBS // 8, len(keys)) and not ledger.faults:
                time.sleep(0.02)
            at = chance.randrange(3)
            servers[at].kill()
            servers[at] = Server(url)
        for worker in workers:
            worker.join()
        assert ledger.faults == []
        last = Client(servers[0])
        assert {last.job({"id": job})["state"] for job in keys} == {"completed"}
        shown = [last.key(key)["concurrency"] for key in "ab"]
        assert [it["active"] for it in shown] == [0, 0]
    finally:
        for server in servers:
            server.kill()
