# mypy: allow-untyped-calls
"""Concurrency limits: leases, their ends, and what they tell their holders."""

import asyncio
import copy
import os
import pickle
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import paddlegate
import pytest
from paddlegate import SKIPPED, InvalidError, LeaseLostWarning, OverLimit, Paddlegate, Permit

RELEASE_ELSEWHERE = """
import sys
from paddlegate import Paddlegate
url, name, permit = sys.argv[1:]
limiter = Paddlegate(url, timeout=20).concurrent(name, 1)
print(limiter.renew(permit), limiter.release(permit), limiter.release(permit))
"""


@pytest.fixture
def one(store, name):
    """One at a time; nobody waits."""
    return store.concurrent(name, 1, wait_timeout=0)


def test_so_many_at_once(store, name):
    limiter = store.concurrent(name, 2, wait_timeout=0)
    first, second = limiter.acquire(), limiter.try_acquire()
    assert (first.decision.remaining, second.remaining) == (1, 0)
    assert second.allowed
    assert second.lease == 30
    refusal = limiter.try_acquire()
    assert (refusal.status, refusal.reason) == ("refused", "concurrency")
    assert 0 < refusal.retry_after <= 30
    with pytest.raises(OverLimit):
        limiter.acquire()
    assert limiter.release(second.permit) == "released"
    with limiter.within_limit():
        assert limiter.stats().leases == 2
        assert not limiter.try_acquire()
    assert first.release() == "released"
    assert limiter.peek().remaining == 2


def test_leases_last_as_long_as_the_limiter_says(store, name):
    def lease(limiter):
        return limiter.try_acquire().lease

    assert lease(store.concurrent(name, 9)) == 30
    assert lease(store.concurrent(name, 9, lock_timeout=0.5)) == 0.5
    assert lease(store.limiter(name, concurrency=9, lock_timeout="minute")) == 60
    assert lease(store.limiter(name, concurrency=(9, 7))) == 7
    assert lease(store.limiter(name, [("concurrency", 9)])) == 30


def test_what_a_permit_knows(one):
    with one.within_limit() as permit:
        assert isinstance(permit, Permit)
        assert permit.id == permit.decision.permit
        assert permit.expires_in is not None
        assert 25 < permit.expires_in <= 30
        assert permit.lost is False
        fencing_token = permit.fencing_token
    assert permit.lost is False
    with one.within_limit() as permit:
        assert permit.fencing_token > fencing_token


def test_what_a_permit_does_not_know_without_a_lease(store, name):
    for limiter in store.window(name, 9, 60), store.unlimited():
        with limiter.within_limit() as permit:
            assert [permit.fencing_token, permit.expires_in, permit.lost] == [None, None, False]
            assert permit.release() == "unknown"
            assert permit.renew() is False
        assert permit.lost is False


def test_a_release_asks_once(one, monkeypatch):
    permit = one.acquire()
    assert permit.release() == "released"
    monkeypatch.setattr(one, "release", None)
    monkeypatch.setattr(one, "renew", None)
    assert permit.release() == "released"
    assert permit.renew() is False
    assert permit.lost is False


def test_a_release_of_somebody_else(one, store, name):
    permit = one.acquire()
    assert store.concurrent(f"{name}2", 1).release(permit.id) == "unknown"
    nobody = f"nobody:{permit.decision.at_us}:1"
    assert one.release(nobody) == one.release("x") == "unknown"
    assert one.renew(nobody) is None
    assert one.stats().leases == 1
    assert one.release(permit.id) == "released"
    assert permit.release() == "unknown"
    assert permit.lost


def test_asking_again_with_the_same_id_takes_nothing(one):
    first, again = one.acquire(id="job"), one.try_acquire(id="job")
    assert again.allowed
    assert (again.fencing_token, one.stats().leases) == (first.fencing_token, 1)
    with one.within_limit(id="job") as third:
        assert third.fencing_token == first.fencing_token
    assert one.stats().leases == 0


def test_any_process_may_renew_and_release(redis, url, name, script):
    permit = redis.concurrent(name, 1).acquire()
    assert script(RELEASE_ELSEWHERE, url, name, permit.id).stdout == "30.0 released unknown\n"
    assert permit.renew() is False
    assert permit.lost


def test_a_lost_lease_is_reported(store, name, until):
    limiter = store.concurrent(name, 1, lock_timeout=0.1)
    others = []

    def lose():
        with limiter.within_limit() as permit:
            until(lambda: permit.lost)
            assert permit.expires_in == 0
            others.append(store.concurrent(name, 1).acquire())
        return permit

    with pytest.warns(LeaseLostWarning, match="before the body did") as warned:
        permit = lose()
    assert warned[0].filename == __file__
    (other,) = others
    assert other.fencing_token > permit.fencing_token
    assert permit.lost
    assert permit.release() == "late"
    assert limiter.stats().overages == 1
    assert other.release() == "released"


def test_a_lost_lease_is_reported_on_an_event_loop(store, name, run):
    limiter = store.concurrent(name, 1, lock_timeout=0.1)

    async def lose():
        async with limiter.within_limit() as permit:
            while permit.expires_in:  # noqa: ASYNC110 - it is about time
                await asyncio.sleep(permit.expires_in)
            assert permit.lost
        # By the server's clock it lasted a little longer.
        assert await permit.release() in {"late", "released"}
        assert permit.lost

    with pytest.warns(LeaseLostWarning, match="before the body did") as warned:
        run(lose())
    assert warned[0].filename == __file__


def test_a_lost_lease_is_known_without_a_server(server, name, until):
    limiter = Paddlegate(server.url, timeout=20).concurrent(name, 1, lock_timeout=0.5)

    @limiter.within_limit()
    def lose():
        server.stop()
        permit = Paddlegate("memory://").concurrent(name, 1, lock_timeout=0.5).acquire()
        until(lambda: permit.lost)

    with pytest.warns(LeaseLostWarning):
        lose()


def test_a_body_ends_although_its_lease_cannot_be_released(server, name, run):
    limiter = Paddlegate(server.url, timeout=20).concurrent(name, 1)

    @limiter.within_limit()
    def stop():
        server.stop()
        return "stopped"

    async def main():
        async with limiter.within_limit():
            server.stop()

    assert stop() == "stopped"
    server.start()
    run(main())


def test_renewals(store, name, until):
    limiter = store.concurrent(name, 1, lock_timeout=5)
    permit = limiter.acquire()
    until(lambda: permit.expires_in < 4.9)
    assert permit.renew() is True
    assert permit.expires_in > 4.9 or limiter.renew(permit.id) == 5
    limiter.reset()
    assert permit.renew() is False
    assert permit.lost


def test_a_body_that_raises_releases(one, run):
    with pytest.raises(ZeroDivisionError), one.within_limit():
        _ = 1 / 0

    async def main():
        async with one.within_limit():
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        run(main())
    assert one.stats().leases == 0


def test_permits_on_an_event_loop(store, name, run):
    async def main():
        limiter = store.concurrent(name, 1, wait_timeout=0)
        async with limiter.within_limit() as permit:
            assert not await limiter.atry_acquire()
            assert await permit.renew() is await permit.arenew() is True
            assert 25 < permit.expires_in <= 30
        assert (await limiter.astats()).leases == 0
        permit = await limiter.aacquire()
        assert await permit.release() == await permit.arelease() == "released"
        assert await permit.renew() is False
        permit = await limiter.aacquire(id="job")
        permit.release()  # not awaited, takes effect all the same
        other = await limiter.aacquire(wait_timeout=20)
        assert await limiter.arelease(permit.id) == "unknown"
        assert await limiter.arenew(other.id) == 30
        assert await limiter.arelease(other.id) == "released"
        assert await other.release() == "unknown"
        assert other.lost
        assert await limiter.arenew(other.id) is None
        permit = limiter.acquire()
        assert await permit.arenew() is True
        assert await permit.arelease() == "released"
        unlimited = await store.unlimited().aacquire()
        assert await unlimited.release() == "unknown"
        assert await unlimited.renew() is False

    run(main())


def test_a_cancelled_body_releases(store, name, run):
    async def body(limiter, entered):
        async with limiter.within_limit():
            entered.set()
            await asyncio.sleep(60)

    async def main():
        limiter = store.concurrent(name, 1)
        entered = asyncio.Event()
        task = asyncio.create_task(body(limiter, entered))
        await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await limiter.astats()).leases == 0

    run(main())


def test_one_object_may_serve_many_bodies(store, name):
    limiter = store.concurrent(name, 3)
    guard = limiter.within_limit()
    inside, leave = threading.Event(), threading.Event()
    permits = []

    def body():
        with guard as permit:
            permits.append(permit)
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=body)
    thread.start()
    inside.wait(60)
    with guard as outer:
        with guard as inner:
            pass
        assert (inner.release(), inner.renew()) == ("released", False)
        assert permits[0].renew()
        assert outer.renew()
    assert permits[0].renew()
    assert limiter.stats().leases == 1
    leave.set()
    thread.join()
    assert limiter.stats().leases == 0


def test_one_object_may_serve_many_tasks(store, name, run):
    async def main():
        limiter = store.concurrent(name, 9)
        guard = limiter.within_limit()

        async def body(turns):
            async with guard as permit:
                for _ in range(turns):
                    await asyncio.sleep(0.01)
                assert await permit.renew()

        await asyncio.gather(body(3), body(1), body(2))
        assert (await limiter.astats()).leases == 0

    run(main())


async def leave_in_a_task(guard):
    guard.__exit__(None, None, None)


def test_who_has_not_entered_may_leave_only_what_is_clear(store, name, run):
    limiter = store.concurrent(name, 9)
    guard = limiter.within_limit()

    def elsewhere(function, *arguments):
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(function, *arguments).result()

    mine = guard.__enter__()
    elsewhere(guard.__exit__, None, None, None)
    assert limiter.stats().leases == 0
    mine = guard.__enter__()
    elsewhere(guard.__enter__)
    with pytest.raises(InvalidError, match="has not entered"):
        run(leave_in_a_task(guard))
    assert limiter.stats().leases == 2
    guard.__exit__(None, None, None)
    assert mine.release() == "released"
    assert limiter.stats().leases == 1

    async def main():
        limiter = store.concurrent(f"{name}-tasks", 9)
        guard = limiter.within_limit()
        await asyncio.create_task(guard.__aenter__())
        await guard.__aexit__(None, None, None)
        assert (await limiter.astats()).leases == 0
        permits = [await asyncio.create_task(guard.__aenter__()) for _ in range(2)]
        with pytest.raises(InvalidError):
            await guard.__aexit__(None, None, None)
        assert [await permit.renew() for permit in permits] == [True, True]

    run(main())


def test_a_fork_does_not_release_what_it_has_inherited(redis, name):
    limiter = redis.concurrent(name, 1)
    child = None
    try:
        with limiter.within_limit() as permit:
            child = os.fork()
            if child:
                assert os.waitpid(child, 0)[1] == 0
                assert permit.renew()
    finally:
        if child == 0:
            os._exit(0)
    assert limiter.stats().leases == 0


def test_a_limit_of_0_is_a_pause(store, name):
    limiter = store.concurrent(name, 0)
    with pytest.raises(OverLimit) as caught:
        limiter.acquire()
    assert caught.value.decision.reason == "concurrency"
    assert caught.value.retry_after is None


def test_a_policy_of_several_kinds(store, name):
    limiter = store.limiter(name, concurrency=2, window=(3, 60), wait_timeout=0)
    with limiter.within_limit(), limiter.within_limit():
        assert limiter.try_acquire().reason == "concurrency"
    with limiter.within_limit():
        assert limiter.try_acquire().reason == "window"
    assert limiter.stats().leases == 0
    assert limiter.stats().granted == 3


def test_corrections_and_releases_of_one_permit(store, name, run):
    limiter = store.limiter(name, concurrency=1, points=(100, 3600))
    with limiter.within_limit(estimate=50) as permit:
        assert permit.points_used(20) == "settled"
    assert limiter.peek(0).remaining == 1
    assert permit.release() == "released"

    async def main():
        async with limiter.within_limit(estimate=50) as permit:
            permit.points_used(20)
        assert (await permit.release(), await permit.points_used(1)) == ("released", "already")

    run(main())
    assert limiter.stats().units == 40


# --- on_limit="ignore" ---------------------------------------------------------------------------


@pytest.fixture
def full(store, name):
    """A limiter that ignores refusals, and has no room."""
    limiter = store.concurrent(name, 1, wait_timeout=0, on_limit="ignore")
    limiter.acquire()
    return limiter


def test_ignored_functions_are_skipped(full):
    assert full.on_limit == "ignore"

    @full.within_limit()
    def body(x):
        return x

    assert body(1) is SKIPPED
    assert full.within_limit().run(body.__wrapped__, 1) is SKIPPED
    full.reset()
    assert body(1) == 1
    assert full.within_limit().run(body.__wrapped__, x=2) == 2
    assert full.stats().leases == 0


def test_ignored_coroutines_and_generators_are_skipped(full, run):
    @full.within_limit()
    async def coroutine():
        return 1

    @full.within_limit()
    def generator():
        yield 1
        return 2

    @full.within_limit()
    async def asynchronous_generator():
        yield 1

    async def main(results):
        assert await coroutine() == results[0]
        assert await full.within_limit().run(coroutine.__wrapped__) == results[0]
        assert [item async for item in asynchronous_generator()] == results[1]
        assert list(generator()) == results[1]

    run(main([SKIPPED, []]))
    full.reset()
    run(main([1, [1]]))
    assert full.stats().leases == 0


def test_with_cannot_skip(store, name, run):
    limiter = store.concurrent(name, 1, on_limit="skip")

    async def main():
        async with limiter.within_limit():
            pytest.fail("the body ran")

    with pytest.raises(InvalidError) as caught, limiter.within_limit():
        pytest.fail("the body ran")
    assert caught.value.argument == "on_limit"
    with pytest.raises(InvalidError):
        run(main())
    assert limiter.stats().granted == 0


def test_acquire_is_never_ignored(full, run):
    with pytest.raises(OverLimit):
        full.acquire()
    with pytest.raises(OverLimit):
        run(full.aacquire())


def test_every_maker_takes_a_policy(store, name):
    made = [
        store.concurrent(name, 0, on_limit="ignore", wait_timeout=0),
        store.bucket(name, 1, "day", on_limit="ignore", wait_timeout=0),
        store.window(name, 1, 60, on_limit="ignore", wait_timeout=0),
        store.leaky(name, 1, 60, on_limit="ignore", wait_timeout=0),
        store.points(name, 1, 60, on_limit="ignore", wait_timeout=0),
        store.throttle(name, 60, on_limit="ignore", wait_timeout=0),
        store.paused(name, on_limit="ignore"),
        store.unlimited(name, on_limit="ignore"),
        store.limiter(name, paused=(), on_limit="ignore"),
    ]
    for limiter in made:
        assert limiter.on_limit == "ignore"
        limiter.try_acquire(1)
        result = limiter.within_limit(1).run(str)
        assert result == "" if limiter.try_acquire(1) else result is SKIPPED


def test_skipped():
    assert repr(SKIPPED) == str(SKIPPED) == "paddlegate.SKIPPED"
    assert not SKIPPED
    assert pickle.loads(pickle.dumps(SKIPPED)) is copy.deepcopy(SKIPPED) is SKIPPED
    assert paddlegate.SKIPPED is SKIPPED


def test_a_warning_as_an_error(store, name, until):
    limiter = store.concurrent(name, 1, lock_timeout=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(LeaseLostWarning), limiter.within_limit() as permit:
            until(lambda: permit.lost)
