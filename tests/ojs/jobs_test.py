"""What becomes of jobs over their limits, and what a worker's signal does."""

import pytest
from conftest import CHECKED

ONE = {"key": "one", "concurrency": 1}
RATE = {"limit": 1, "period": "PT0.7S"}


def test_higher_priorities_start_first(ojs):
    policy = {"key": "p", "rate": {"limit": 1, "period": "PT1S"}}
    ids = {it: ojs.enqueue(policy, priority=it)["id"] for it in (-10, 10, 0)}
    for priority in 10, 0:
        assert ojs.fetched(3) == [ids[priority]]
        ojs.clock.advance(1)
    # One that came later overtakes what has waited since the first fetch.
    late = ojs.enqueue(policy, priority=5)
    assert ojs.fetched(3) == [late["id"]]
    ojs.clock.advance(1)
    assert ojs.fetched(3) == [ids[-10]]


def test_a_limited_job_lets_lower_priorities_of_other_keys_pass(ojs):
    high = [ojs.enqueue(ONE, priority=9)["id"] for _ in range(2)]
    low = ojs.enqueue({"key": "other", "concurrency": 1}, priority=1)["id"]
    free = ojs.enqueue(priority=0)["id"]
    assert ojs.fetched(4) == [high[0], low, free]


def test_drop_discards_and_says_so(ojs):
    kept, dropped = (ojs.enqueue(ONE | {"on_limit": "drop"}, kind="mail.send") for _ in range(2))
    assert ojs.fetched(2) == [kept["id"]]
    assert ojs.job(dropped)["state"] == "discarded"
    assert ojs.events("rate_limit.dropped") == [
        {"key": "one", "job_id": dropped["id"], "job_type": "mail.send"}
    ]
    ojs.ack(kept)
    assert ojs.fetch(2) == []
    assert ojs.key("one")["waiting_count"] == 0


def test_reschedule_comes_when_the_limit_allows_it(ojs):
    policy = {"key": "later", "rate": RATE, "on_limit": "reschedule"}
    first, second, third = (ojs.enqueue(policy) for _ in range(3))
    assert ojs.fetched(3) == [first["id"]]
    for job, time in (second, "00.700"), (third, "01.400"):
        shown = ojs.job(job)
        assert (shown["state"], shown["scheduled_at"]) == ("scheduled", f"2026-11-21T12:00:{time}Z")
    assert ojs.key("later")["waiting_count"] == 2
    ojs.clock.advance(0.699999)
    assert ojs.fetch(3) == []
    ojs.clock.advance(0.000001)
    newer = ojs.enqueue(policy, priority=9)
    assert ojs.fetched(3) == [second["id"]], "its place was kept"
    assert ojs.job(newer)["scheduled_at"] == "2026-11-21T12:00:02.100Z"
    ojs.clock.advance(0.7)
    assert ojs.fetched(3) == [third["id"]]


@pytest.mark.parametrize(
    "error",
    [
        {"type": "rate_limited", "retry_after": 30},
        {"type": "RateLimitExceeded", "rate_limit_until": "2026-11-21T12:00:30Z"},
        {
            "type": "RateLimitExceeded",
            "message": "slow down",
            "retry_after": 7.5,
            "rate_limit_until": "2026-11-21T13:00:30+01:00",
        },
        {"type": "rate_limited"},
    ],
    ids=["seed", "spec", "both, the later holds", "no time"],
)
@pytest.mark.parametrize("limits", [{"concurrency": 5}, {"rate": RATE | {"limit": 9}}, {}], ids=str)
def test_a_signal_pauses_the_key_and_no_other(ojs, limits, error):
    signalled, shorter, waiting = (ojs.enqueue({"key": "api", **limits}) for _ in range(3))
    other = ojs.enqueue({"key": "other", **limits})
    assert ojs.fetched(2) == [signalled["id"], shorter["id"]]
    assert ojs.nack(signalled, error)["job"]["state"] == "retryable"
    assert ojs.fetched(5) == [other["id"]]
    assert ojs.key("api")["paused_until"] == "2026-11-21T12:00:30.000Z"
    assert ojs.events("rate_limit.dynamic_adjusted") == [
        {
            "key": "api",
            "until": "2026-11-21T12:00:30.000Z",
            "reason": error.get("message", error["type"]),
        }
    ]
    [exceeded] = ojs.events("rate_limit.exceeded")
    assert (exceeded["key"], exceeded["strategy"]) == ("api", "dynamic")
    ojs.clock.advance(5)
    ojs.nack(shorter, {"type": "rate_limited", "retry_after": 10})
    ojs.clock.advance(24.999999)
    assert ojs.fetch(5) == []
    ojs.clock.advance(0.000001)
    # The lease of the other key's job has ended by now, too.
    assert {job["id"] for job in ojs.fetch(5)} >= {it["id"] for it in (signalled, shorter, waiting)}
    assert "paused_until" not in ojs.key("api")


@CHECKED
@pytest.mark.parametrize(
    "error",
    [
        {"type": "rate_limited", "retry_after": "30"},
        {"type": "rate_limited", "retry_after": -1},
        {"type": "rate_limited", "retry_after": True},
        {"type": "rate_limited", "retry_after": 1e12},
        {"type": "RateLimitExceeded", "rate_limit_until": "soon"},
        {"type": "RateLimitExceeded", "rate_limit_until": "2026-11-21T12:00:30"},
        "rate_limited",
    ],
    ids=repr,
)
def test_signals_are_checked(ojs, error):
    job = ojs.enqueue(ONE)
    ojs.fetch()
    assert ojs.nack(job, error, 400)["error"]["code"] == "invalid_request"
    assert ojs.job(job)["state"] == "active"
    assert ojs.key("one")["concurrency"]["active"] == 1
    assert "paused_until" not in ojs.key("one")


def test_another_failure_is_no_signal(ojs):
    job = ojs.enqueue(ONE)
    for attempt in 1, 2, 3:
        assert [it["attempt"] for it in ojs.fetch()] == [attempt]
        ojs.nack(job, {"type": "Timeout", "retry_after": 30})
    assert ojs.job(job)["state"] == "discarded"
    assert ojs.events() == []


def test_events_tell_changes_and_not_every_look(ojs):
    jobs = [ojs.enqueue(ONE) for _ in range(3)]
    for _ in range(4):
        ojs.fetch(3)
    assert ojs.events() == [{"key": "one", "strategy": "concurrency", "limit": 1, "current": 1}]
    ojs.ack(jobs[0])
    ojs.fetch(3)
    told = ojs.get("/events")["events"]
    told = [event for event in told if event["type"].startswith("rate_limit.")]
    assert [event["type"] for event in told] == [
        "rate_limit.exceeded",
        "rate_limit.released",
        "rate_limit.exceeded",
    ]
    assert told[1].pop("id").startswith("evt_")
    assert told[1] == {
        "specversion": "1.0",
        "type": "rate_limit.released",
        "source": "/ojs/v1",
        "subject": "one",
        "time": "2026-11-21T12:00:00.000Z",
        "data": {"key": "one", "strategy": "concurrency", "job_id": jobs[1]["id"]},
    }
