"""What a policy lets start, and what a look at its key shows."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import CHECKED
from paddlegate import Paddlegate

RATE = {"limit": 10, "period": "PT1M"}


def fill(ojs, policy, count):
    return [ojs.enqueue(policy)["id"] for _ in range(count)]


def test_a_key_alone_limits_nothing(ojs):
    jobs = fill(ojs, {"key": "free"}, 3)
    assert ojs.fetched(5) == jobs
    assert ojs.key("free") == {"key": "free", "waiting_count": 0}


def test_a_slot_is_free_after_ack_and_after_nack(ojs):
    jobs = fill(ojs, {"key": "two", "concurrency": 2}, 4)
    first, second = ojs.fetch(4)
    ojs.ack(first)
    assert ojs.fetched(4) == [jobs[2]]
    ojs.nack(second, {"type": "failed"})
    assert ojs.key("two")["concurrency"] == {"limit": 2, "active": 1, "available": 1}


def test_concurrency_zero_is_a_pause(ojs):
    jobs = fill(ojs, {"key": "zero", "concurrency": 0}, 2)
    assert ojs.fetch(2) == []
    assert ojs.key("zero")["concurrency"] == {"limit": 0, "active": 0, "available": 0}
    ojs.override("zero", {"concurrency": 1})
    [job] = ojs.fetch(2)
    assert job["id"] == jobs[0]
    ojs.ack(job)
    assert ojs.delete("zero/override") == 204
    assert ojs.fetch(2) == []
    assert ojs.job({"id": jobs[1]})["state"] == "available"


def test_a_sliding_rate_is_half_open(ojs):
    fill(ojs, {"key": "rate", "rate": {"limit": 3, "period": "PT1S"}}, 5)
    for _ in range(3):
        assert len(ojs.fetch()) == 1
        ojs.clock.advance(0.1)
    ojs.clock.advance(0.6)
    assert ojs.fetch() == []
    [exceeded] = ojs.events("rate_limit.exceeded")
    assert exceeded == {"key": "rate", "strategy": "rate", "limit": 3, "current": 3}
    ojs.clock.advance(0.099999)
    assert ojs.fetch() == []
    ojs.clock.advance(0.000001)
    assert len(ojs.fetch(2)) == 1


@pytest.mark.parametrize(
    ("throttle", "shown"),
    [
        ({"interval": "PT0.1S"}, {"limit": 1, "period": "PT0.1S"}),
        ({"limit": 10, "period": "PT1S"}, {"limit": 10, "period": "PT1S"}),
    ],
    ids=["interval", "period"],
)
def test_throttle(ojs, throttle, shown):
    fill(ojs, {"key": "even", "throttle": throttle}, 3)
    assert len(ojs.fetch(3)) == 1
    shown["next_allowed_at"] = "2026-11-21T12:00:00.100Z"
    assert ojs.key("even")["throttle"] == shown
    ojs.clock.advance(0.099)
    assert ojs.fetch(3) == []
    assert ojs.key("even")["throttle"] == shown
    ojs.clock.advance(0.001)
    assert len(ojs.fetch(3)) == 1


def test_what_concurrency_refuses_the_rate_does_not_count(ojs):
    fill(ojs, {"key": "both", "concurrency": 1, "rate": RATE}, 6)
    assert len(ojs.fetch(6)) == 1
    for _ in range(5):
        assert ojs.fetch(6) == []
    shown = ojs.key("both")
    assert shown["concurrency"] == {"limit": 1, "active": 1, "available": 0}
    assert shown["rate"] == {
        "limit": 10,
        "period": "PT1M",
        "current_count": 1,
        "window_resets_at": "2026-11-21T12:01:00.000Z",
    }
    assert shown["waiting_count"] == 5


def test_all_strategies_at_once_are_shown(ojs):
    throttle = {"interval": "PT1S"}
    fill(ojs, {"key": "all", "concurrency": 5, "rate": RATE, "throttle": throttle}, 4)
    for _ in range(2):
        assert len(ojs.fetch(4)) == 1
        ojs.clock.advance(1)
    shown = ojs.key("all")
    assert shown["concurrency"] == {"limit": 5, "active": 2, "available": 3}
    assert shown["rate"]["current_count"] == 2
    assert shown["rate"]["window_resets_at"] == "2026-11-21T12:01:01.000Z"
    assert shown["throttle"]["next_allowed_at"] == "2026-11-21T12:00:02.000Z"
    assert shown["waiting_count"] == 2


def test_a_strategy_is_shown_beside_one_that_refuses_for_longer(ojs):
    rate, throttle = {"limit": 5, "period": "PT10S"}, {"interval": "PT1S"}
    fill(ojs, {"key": "slow", "concurrency": 1, "rate": rate, "throttle": throttle}, 2)
    [job] = ojs.fetch(2)
    shown = ojs.key("slow")
    assert shown["concurrency"]["available"] == 0
    assert shown["rate"]["current_count"] == 1
    assert shown["rate"]["window_resets_at"] == "2026-11-21T12:00:10.000Z"
    assert shown["throttle"]["next_allowed_at"] == "2026-11-21T12:00:01.000Z"
    # Also behind a pause, which lies over everything.
    ojs.nack(job, {"type": "rate_limited", "retry_after": 60})
    shown = ojs.key("slow")
    assert shown["concurrency"] == {"limit": 1, "active": 0, "available": 1}
    assert shown["rate"]["current_count"] == 1
    assert shown["throttle"]["next_allowed_at"] == "2026-11-21T12:00:01.000Z"
    ojs.clock.advance(60)
    assert ojs.key("slow")["rate"]["current_count"] == 0


def test_a_look_changes_nothing(ojs):
    policy = {"key": "look", "concurrency": 3, "rate": RATE, "throttle": {"interval": "PT1S"}}
    fill(ojs, policy, 3)
    ojs.fetch(3)
    before = ojs.key("look")
    assert before["rate"]["current_count"] == 1
    for _ in range(100):
        assert ojs.key("look") == before
    assert ojs.get("/rate-limits")["items"] == [before]


def test_a_late_ack_frees_nobody_elses_slot(ojs):
    jobs = fill(ojs, {"key": "lease", "concurrency": 1}, 2)
    [first] = ojs.fetch(2, worker="late")
    ojs.clock.advance(29.999999)
    assert ojs.fetch(2) == []
    ojs.clock.advance(0.000001)
    [again] = ojs.fetch(2, worker="other")
    assert (again["id"], again["attempt"]) == (jobs[0], 2)
    for _ in range(2):
        error = ojs.ack(first, 409, worker_id="late")["error"]
        assert "another worker has the job" in error["message"]
        assert ojs.key("lease")["concurrency"] == {"limit": 1, "active": 1, "available": 0}
        assert ojs.fetch(2) == []
    ojs.ack(again, worker_id="other")
    assert ojs.key("lease")["concurrency"]["active"] == 0
    assert ojs.fetched(2) == jobs[1:]


def test_a_job_whose_time_is_up_is_available_again_and_its_slot_free(ojs):
    fill(ojs, {"key": "lease", "concurrency": 1}, 1)
    [job] = ojs.fetch()
    ojs.clock.advance(29.999999)
    assert (ojs.job(job)["state"], ojs.key("lease")["concurrency"]["active"]) == ("active", 1)
    ojs.clock.advance(0.000001)
    assert (ojs.job(job)["state"], ojs.key("lease")["concurrency"]["active"]) == ("available", 0)
    assert "state=available" in ojs.ack(job, 409)["error"]["message"]


@pytest.mark.parametrize("most", [2000, 200_000])
def test_a_high_rate_is_not_unlimited(ojs, most):
    jobs = fill(ojs, {"max_per_second": most}, 3)
    assert ojs.key("queue/default")["rate"]["limit"] == most
    assert ojs.fetched(2) == jobs[:2]
    ojs.override("queue%2Fdefault", {"limit": 2, "period": "1s"})
    assert ojs.fetch() == []
    shown = ojs.key("queue/default")["rate"]
    assert (shown["limit"], shown["period"], shown["current_count"]) == (2, "PT1S", 2)
    ojs.delete("queue%2Fdefault/override")
    assert ojs.key("queue/default")["rate"]["current_count"] == 2
    assert ojs.fetched() == jobs[2:]


def test_a_batch_takes_what_is_left(ojs):
    jobs = fill(ojs, {"key": "batch", "rate": {"limit": 3, "period": "PT1M"}}, 5)
    assert ojs.fetched(5) == jobs[:3]
    assert ojs.key("batch")["rate"]["current_count"] == 3


def test_a_retry_counts_like_a_new_job(ojs):
    fill(ojs, {"key": "retry", "rate": {"limit": 2, "period": "PT1M"}}, 1)
    for count in 1, 2:
        [job] = ojs.fetch()
        assert job["attempt"] == count
        assert ojs.key("retry")["rate"]["current_count"] == count
        ojs.nack(job, {"type": "failed"})
    assert ojs.fetch() == []
    assert ojs.job(job)["state"] == "available"


def test_the_latest_definition_of_a_key_rules(ojs):
    jobs = fill(ojs, {"key": "twice", "rate": RATE}, 4)
    assert ojs.fetched(3) == jobs[:3]
    assert ojs.events("rate_limit.redefined") == []
    changed = ojs.enqueue({"key": "twice", "rate": {"limit": 4, "period": "PT1M"}})["id"]
    assert ojs.events("rate_limit.redefined") == [{"key": "twice"}]
    shown = ojs.key("twice")["rate"]
    assert (shown["limit"], shown["current_count"]) == (4, 3)
    assert ojs.fetched(5) == [jobs[3]]
    assert ojs.job({"id": changed})["state"] == "available"


def test_many_servers_at_once_start_no_more_than_the_limit(serve, real):
    servers = [real, *(serve() for _ in range(3))]
    for server in servers:
        fill(server, {"key": "rush", "concurrency": 3}, 5)
    with ThreadPoolExecutor(2 * len(servers)) as threads:
        started = list(threads.map(lambda server: len(server.fetch(5)), servers * 5))
    assert sum(started) == 3
    assert real.key("rush")["concurrency"] == {"limit": 3, "active": 3, "available": 0}


def test_two_servers_share_jobs_and_limits(serve):
    one, other = serve(), serve()
    policy = {"key": "shared", "concurrency": 1}
    [first], second = fill(one, policy, 1), other.enqueue(policy)
    assert other.fetched() == [first]
    assert one.fetch() == []
    assert one.key("shared")["concurrency"]["active"] == 1
    one.ack({"id": first})
    assert one.fetched() == [second["id"]]
    assert one.get("/events") == other.get("/events")


def test_programs_in_other_languages_share_the_limits(serve):
    """The Python package reads the same policy, and takes a slot of the same key."""
    server = serve()
    policy = {"key": "stripe", "concurrency": 2}
    fill(server, policy, 3)
    store = Paddlegate(server.server.url)
    [limiter] = store.limiters_from_document({"rate_limit": policy}).values()
    permit = limiter.acquire()
    assert len(server.fetch(3)) == 1
    assert not limiter.try_acquire()
    assert server.key("stripe")["concurrency"] == {"limit": 2, "active": 2, "available": 0}
    permit.release()
    assert len(server.fetch(3)) == 1
    store.close()


@CHECKED
@pytest.mark.parametrize(
    "policy",
    [
        {},
        {"concurrency": 1},
        {"key": ".dot", "concurrency": 1},
        {"key": "a/b", "concurrency": 1},
        {"key": "a b", "concurrency": 1},
        {"key": "", "concurrency": 1},
        {"key": 5, "concurrency": 1},
        {"key": "k" * 513},
        {"key": "k", "concurrency": -1},
        {"key": "k", "concurrency": 1.5},
        {"key": "k", "rate": {"limit": 1}},
        {"key": "k", "rate": {"limit": 0, "period": "PT1S"}},
        {"key": "k", "rate": {"limit": -1, "period": "PT1S"}},
        {"key": "k", "rate": {"limit": 1, "period": "1s"}},
        {"key": "k", "rate": {"limit": 1, "period": "PT0S"}},
        {"key": "k", "rate": 1},
        {"key": "k", "throttle": {"interval": "PT1S", "limit": 1, "period": "PT1S"}},
        {"key": "k", "on_limit": "explode"},
        {"key": "k", "on_limit": "raise"},
        {"key": "k", "surprise": 1},
        [],
        "k",
        None,
    ],
    ids=repr,
)
def test_policies_are_checked(ojs, policy):
    job = {"type": "t", "args": [], "options": {"rate_limit": policy}}
    error = ojs.post("/jobs", job, 400).body["error"]
    assert error["code"] == "invalid_request"
    assert error["retryable"] is False
    assert error["details"]["argument"] == "document"
    assert ojs.get("/rate-limits")["items"] == []
    assert ojs.fetch(5) == []


def test_a_policy_stands_in_either_place_but_not_two_in_both(ojs):
    one, other = ({"key": "k", "concurrency": most} for most in (1, 2))
    job = {"type": "t", "args": []}
    ojs.post("/jobs", {**job, "rate_limit": one}, 201)
    ojs.post("/jobs", {**job, "rate_limit": one, "options": {"rate_limit": one}}, 201)
    ojs.post("/jobs", {**job, "rate_limit": one, "options": {"rate_limit": other}}, 400)
    assert ojs.key("k")["waiting_count"] == 2
    assert len(ojs.fetch(5)) == 1


@CHECKED
@pytest.mark.parametrize("body", ["", "{", "[]", "5", '{"type": "t"}', '{"type": 1, "args": []}'])
def test_what_is_no_job_is_refused(ojs, body):
    code = ojs.post("/jobs", body, 400).body["error"]["code"]
    assert code == ("invalid_request" if body.startswith('{"') else "invalid_payload")


def test_what_is_not_there(ojs):
    assert ojs.ask("GET", "/rate-limits/none").status == 404
    assert ojs.ask("GET", "/admin/jobs/none").status == 404
    assert ojs.ask("GET", "/none").body["error"]["code"] == "not_found"
    ojs.ack({"id": "none"}, 404)
