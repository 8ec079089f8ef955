# mypy: allow-untyped-calls
"""Tickets for jobs, which nobody waits for; statistics; the list of limiters."""

import asyncio
import dataclasses
import pickle

import pytest
from paddlegate import LimiterInfo, LimitInfo, Paddlegate, Statistics, Window
from paddlegate._asyncio import run_operation


def test_jobs_take_their_turn(clocked, name):
    limiter = clocked.concurrent(name, 1)
    first = limiter.enqueue("a")
    assert first.allowed
    second, third = (limiter.enqueue(job) for job in "bc")
    assert [second.status, third.status] == ["queued"] * 2
    assert [second.position, third.position] == [0, 1]
    assert second.ticket < third.ticket
    assert (second.retry_after, second.ready_after) == (0.0625, None)
    assert not limiter.try_acquire()
    assert limiter.claim("b").status == "queued"
    assert limiter.release(first.permit) == "released"
    assert not limiter.try_acquire(), "the queue goes first"
    assert limiter.claim("c").status == "queued"
    claimed = limiter.claim("b")
    assert claimed.status == "granted"
    assert claimed.permit
    assert limiter.cancel("c") == "cancelled"
    assert limiter.cancel("c") == "unknown"
    assert limiter.claim("c").status == "no_ticket"
    assert limiter.stats().tickets == 0


def test_a_job_far_behind_one_that_does_not_come_is_told_its_own_time(clocked, clock, name):
    """Otherwise all jobs of a long queue would ask again as soon as others pass the first by."""
    limiter = clocked.window(name, 10, 1)
    assert sum(limiter.allow() for _ in range(10)) == 10
    jobs = [f"job-{number}" for number in range(300)]
    planned = [limiter.admit(job, "reschedule").after for job in jobs]
    assert (planned[0], planned[-1]) == (1, 30)
    clock.advance(1.5)
    # The first ten could run now, and others pass them by from 6 seconds on.
    assert limiter.admit(jobs[20], "reschedule").after == 2
    assert limiter.admit(jobs[60], "reschedule").after == 4.5
    # When 64 have been passed by, 235 are still before it.
    assert limiter.admit(jobs[-1], "reschedule").after == 23
    clock.advance(4.5)
    assert [limiter.admit(job, "reschedule").action for job in jobs[:11]] == ["run"] * 10 + [
        "reschedule"
    ]


def test_a_job_is_told_when_it_is_ready(clocked, clock, name):
    limiter = clocked.points(name, 100, 100)
    assert limiter.enqueue("a", 100).allowed
    ready = [limiter.enqueue(job, estimate=10) for job in "bc"]
    assert [decision.ready_after for decision in ready] == [10, 20]
    assert [decision.retry_after for decision in ready] == [10, 20]
    clock.advance(9.999999)
    early = limiter.claim("b", estimate=10)
    assert (early.status, early.retry_after) == ("queued", 0.000001)
    clock.advance(1e-6)
    claimed = limiter.claim("b", estimate=10)
    assert claimed.allowed
    assert limiter.correct(claimed.permit, 4) == "settled"


def test_a_job_that_is_not_claimed_loses_its_place(clocked, clock, name):
    limiter = clocked.concurrent(name, 1, lock_timeout=3600)
    first = limiter.enqueue("a")
    # They should look after `retry_after`, and have 60 seconds more by default.
    limiter.enqueue("b", claim_timeout=59)
    clock.advance(limiter.enqueue("c").retry_after + 59.999999)
    limiter.release(first.permit)
    assert limiter.claim("b").status == "no_ticket"
    assert limiter.claim("c").status == "granted"
    clock.advance(2e-6)
    assert limiter.stats().lapsed == 1


def test_a_job_that_waits_no_longer_than_it_wants(clocked, clock, name):
    limiter = clocked.window(name, 1, 60)
    limiter.enqueue("a")
    refused = limiter.enqueue("b", wait_timeout=59)
    assert (refused.status, refused.retry_after) == ("refused", 60)
    assert limiter.enqueue("b", wait_timeout=60).status == "queued"
    clock.advance(1e-6)
    assert limiter.claim("b", wait_timeout=0).status == "refused"
    clock.advance(1e-6)
    assert limiter.claim("b").status == "no_ticket"


def test_jobs_on_an_event_loop(store, name, run):
    async def main():
        limiter = store.concurrent(name, 1)
        first = await limiter.aenqueue("a")
        queued = await limiter.aenqueue("b", claim_timeout=60, wait_timeout="hour")
        assert (first.status, queued.status, queued.position) == ("granted", "queued", 0)
        assert (await limiter.aclaim("b")).status == "queued"
        assert await limiter.arelease(first.permit) == "released"
        assert (await limiter.aclaim("b")).status == "granted"
        assert await limiter.acancel("b") == "cancelled"
        assert (await limiter.aclaim("b")).status == "no_ticket"
        assert await limiter.acancel("c") == "unknown"
        assert (await limiter.atry_acquire(id="c")).permit.startswith("c:")

    run(main())


def test_nobody_queues_without_a_limit(store, name):
    assert store.unlimited().enqueue("a").allowed
    assert store.paused(name).enqueue("a").status == "refused"
    assert store.paused(name).claim("a").status in {"refused", "no_ticket"}


# --- Statistics ----------------------------------------------------------------------------------


def test_statistics(clocked, clock, name, run):
    limiter = clocked.concurrent(name, 1)
    assert limiter.stats() == Statistics(0, 0, 0, 0.0, 0, 0, 0.0, 0, 0, 0, 0, 0)
    first = limiter.try_acquire()
    assert not limiter.try_acquire()
    limiter.enqueue("b")
    clock.advance(1.5)
    limiter.release(first.permit)
    clock.advance(0.5)
    limiter.claim("b")
    limiter.enqueue("c")
    stats = limiter.stats()
    assert (stats.granted, stats.immediate, stats.waited, stats.refused) == (2, 1, 1, 1)
    assert (stats.wait_time, stats.held_time, stats.units) == (2.0, 1.5, 2)
    assert (stats.leases, stats.tickets) == (1, 1)
    assert run(limiter.astats()) == stats
    assert pickle.loads(pickle.dumps(stats)) == stats
    with pytest.raises(dataclasses.FrozenInstanceError):
        stats.granted = 5
    limiter.reset()
    assert limiter.stats().granted == 0


def test_statistics_of_rates(store, name):
    limiter = store.points(name, 100, 3600)
    limiter.acquire(estimate=50).points_used(20)
    limiter.acquire(30)
    stats = limiter.stats()
    assert (stats.granted, stats.units, stats.corrections, stats.leases) == (2, 50, 1, 0)
    assert store.unlimited().stats().granted == 0


# --- The list of limiters ------------------------------------------------------------------------


def both(store, run):
    """List the limiters in both ways, which must agree."""
    listed = store.limiters()
    assert run(store.alimiters()) == listed
    return listed


def test_the_list_of_limiters(server, run):
    store = Paddlegate(server.url, timeout=20)
    assert both(store, run) == []
    store.concurrent("b", 5, ttl="hour").try_acquire()
    store.bucket("a", 7, "day", 3600).allow()
    store.limiter("c", rpm=Window(100, 60), throttle=0.5).allow()
    store.unlimited("nothing").allow()
    listed = both(Paddlegate(server.url, timeout=20), run)
    assert [(it.name, it.limits) for it in listed] == [
        ("a", (LimitInfo("bucket", "bucket", 7, 86400.0, 3600.0),)),
        ("b", (LimitInfo("concurrency", "concurrency", 5, 30.0, 0.0),)),
        (
            "c",
            (
                LimitInfo("rpm", "window", 100, 60.0, 0.0),
                LimitInfo("throttle", "throttle", 1, 0.5, 0.0),
            ),
        ),
    ]
    assert [it.ttl for it in listed] == [90 * 86400.0, 3600.0, 90 * 86400.0]
    assert all(it.last_used > 1.7e9 for it in listed)


def test_the_list_is_asked_for_in_a_few_parts_at_once(redis, run, monkeypatch):
    asking, most = set(), []

    async def counted(links, start, part, *page):
        asking.add(part)
        most.append(len(asking))
        try:
            return await run_operation(links, start, part, *page)
        finally:
            asking.remove(part)

    monkeypatch.setattr("paddlegate._paddlegate.run_operation", counted)
    run(redis.alimiters())
    assert len(most) >= 256
    assert max(most) == 16


def test_the_list_of_limiters_in_memory(run):
    store = Paddlegate("memory://")
    limiter = store.concurrent("a", 5)
    limiter.try_acquire()
    (listed,) = both(store, run)
    assert listed == LimiterInfo(
        "a", (LimitInfo("concurrency", "concurrency", 5, 30.0, 0.0),), None, 90 * 86400.0
    )


def test_the_list_of_limiters_of_a_loop_that_cannot_watch_sockets(redis, name):
    class Blind(asyncio.SelectorEventLoop):
        add_reader = asyncio.AbstractEventLoop.add_reader

    redis.window(name, 1, 1).allow()
    loop = Blind()
    listed = loop.run_until_complete(redis.alimiters())
    assert name in [it.name for it in listed]
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
