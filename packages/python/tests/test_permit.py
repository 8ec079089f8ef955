# mypy: allow-untyped-calls
"""Estimates and their corrections."""

import asyncio

import pytest
from paddlegate import InvalidError, Paddlegate, UnavailableError

CORRECT_ELSEWHERE = """
import sys
from paddlegate import Paddlegate
url, name, permit = sys.argv[1:]
print(Paddlegate(url, timeout=20).points(name, 1000, 3600).correct(permit, 50))
"""


def left(limiter):
    return limiter.peek(0).remaining


@pytest.fixture
def shop(store, name):
    return store.points(name, 1000, 3600)


def test_points_used_settles_once(shop):
    with shop.within_limit(estimate=200) as permit:
        assert left(shop) == 800
        assert permit.points_used(50) == "settled"
        assert left(shop) == 950
    assert permit.points_used(50) == "already"
    assert shop.correct(permit.id, 900) == "already"
    assert left(shop) == 950


def test_more_than_the_estimate_is_charged_too(shop):
    assert shop.acquire(estimate=200).points_used(700) == "settled"
    assert left(shop) == 300


def test_unknown_and_late(clocked, clock, name):
    shop = clocked.points(name, 1000, 3600)
    permit = shop.try_acquire(estimate=200).permit
    clock.advance(300)
    assert shop.correct(permit, 50) == "late"
    assert shop.correct("no permit", 50) == "unknown"
    shop.reset()
    clock.now_us = 3_600_000_001
    assert shop.correct(permit, 50) == "unknown"


def test_a_body_that_raises_leaves_the_estimate(shop, run):
    with pytest.raises(ZeroDivisionError), shop.within_limit(estimate=200):
        _ = 1 / 0
    assert left(shop) == 800

    async def main():
        async with shop.within_limit(estimate=100):
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        run(main())
    assert left(shop) == 700


def test_a_final_cost_is_not_corrected(shop, run):
    permit = shop.acquire(200)
    assert permit.id is None
    with pytest.raises(InvalidError) as caught:
        permit.points_used(50)
    assert caught.value.argument == "estimate"

    async def main():
        permit = await shop.aacquire(200)
        with pytest.raises(InvalidError) as caught:
            permit.points_used(50)
        assert caught.value.argument == "estimate"

    run(main())


def test_any_process_may_settle(redis, url, name, script):
    shop = redis.points(name, 1000, 3600)
    permit = shop.acquire(estimate=200)
    assert script(CORRECT_ELSEWHERE, url, name, permit.id).stdout == "settled\n"
    assert left(shop) == 950
    assert permit.points_used(50) == "already"


def test_points_used_takes_effect_without_being_awaited(shop, run):
    async def main():
        async with shop.within_limit(estimate=200) as permit:
            permit.points_used(50)
        assert (await shop.apeek(0)).remaining == 950

    run(main())


def test_points_used_can_be_awaited(shop, run):
    async def main():
        async with shop.within_limit(estimate=200) as permit:
            assert await permit.points_used(50) == "settled"
            assert await permit.apoints_used(50) == "already"
        permit = await shop.aacquire(estimate=200)
        settlement = permit.points_used(100)
        assert await settlement == await settlement == "settled"
        waiting = shop.acquire(estimate=100)
        assert await waiting.apoints_used(0) == "settled"

    run(main())
    assert left(shop) == 850


def test_points_used_refuses_at_once(shop, run):
    async def main():
        async with shop.within_limit(estimate=200) as permit:
            with pytest.raises(InvalidError):
                permit.points_used(-1)
            permit.points_used(50)

    run(main())
    assert left(shop) == 950


def test_a_cancelled_body_still_settles(shop, run):
    async def body(entered):
        async with shop.within_limit(estimate=200) as permit:
            permit.points_used(50)
            entered.set()
            await asyncio.sleep(60)

    async def main():
        entered = asyncio.Event()
        task = asyncio.create_task(body(entered))
        await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await shop.apeek(0)).remaining == 950

    run(main())


def test_a_correction_that_fails_is_raised_at_the_end(server, name, run):
    shop = Paddlegate(server.url, timeout=20).points(name, 1000, 3600)

    async def correct(error=None):
        async with shop.within_limit(estimate=200) as permit:
            server.stop()
            permit.points_used(50)
            if error:
                raise error

    with pytest.raises(UnavailableError):
        run(correct())
    server.start()
    with pytest.raises(ZeroDivisionError):
        run(correct(ZeroDivisionError()))
    server.start()

    async def handled():
        async with shop.within_limit(estimate=200) as permit:
            server.stop()
            with pytest.raises(UnavailableError):
                await permit.points_used(50)

    run(handled())
