# mypy: allow-untyped-calls
"""Threads and tasks that wait their turn: one after the other, and nothing is left behind."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
import redis as client
from conftest import SOAK  # type: ignore[import-not-found]
from paddlegate import OverLimit, Paddlegate, Permit, WithinLimit
from paddlegate._waiting import ThreadWaiter

# Seconds, which only a soak judges.
SOON = 4 if SOAK else 40

CTRL_C = """
import signal, sys, time
from paddlegate import Paddlegate

# It may be ignored, as in the background of a shell.
signal.signal(signal.SIGINT, signal.default_int_handler)

limiter = Paddlegate(sys.argv[1], timeout=60).concurrent(sys.argv[2], 1, wait_timeout=60)
print("ready", flush=True)
try:
    with limiter.within_limit():
        print("entered")
except KeyboardInterrupt:
    print("interrupted", time.monotonic())
"""

CTRL_C_OF_A_TASK = """
import asyncio, signal, sys, time
from paddlegate import Paddlegate

# It may be ignored, as in the background of a shell.
signal.signal(signal.SIGINT, signal.default_int_handler)

limiter = Paddlegate(sys.argv[1], timeout=20).concurrent(sys.argv[2], 1, wait_timeout=60)

async def main():
    print("ready", flush=True)
    async with limiter.within_limit():
        print("entered")

try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted", time.monotonic())
"""

ALARM = """
import signal, sys
from paddlegate import Paddlegate

limiter = Paddlegate(sys.argv[1], timeout=20).concurrent(sys.argv[2], 1, wait_timeout=60)

class Alarm(Exception):
    pass

def handler(*_):
    raise Alarm

signal.signal(signal.SIGALRM, handler)
for delay in [0.3] + [i * 1e-4 for i in range(1, 60)]:
    try:
        signal.setitimer(signal.ITIMER_REAL, delay)
        limiter.acquire()
    except Alarm:
        print("alarm")
"""

ALARM_OF_A_BODY = """
import signal, sys, threading, time
from paddlegate import Paddlegate

limiter = Paddlegate(sys.argv[1], timeout=20).concurrent(sys.argv[2], 1, wait_timeout=60)
limiter.reset()

class Alarm(Exception):
    pass

def handler(*_):
    raise Alarm

def with_():
    with limiter.within_limit():
        pass

@limiter.within_limit()
def function():
    pass

@limiter.within_limit()
def generator():
    yield

signal.signal(signal.SIGALRM, handler)
left = alarms = 0
for i in range(int(sys.argv[3])):
    body = (with_, function, lambda: list(generator()))[i % 3]
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, 2e-5 + i % 100 * 8e-6)
            body()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except Alarm:
        alarms += 1
    # It goes back in the background if that takes long.
    for _ in range(200):
        if not limiter.stats().leases:
            break
        time.sleep(0.01)
    else:
        left += 1
        limiter.reset()
# An exception between two instructions of Python can still lose one.
print(alarms > 10, left <= alarms / 20 or (alarms, left))
"""

EXIT = """
import sys, threading, time
from paddlegate import Paddlegate

url, name, silent = sys.argv[1:]
limiter = Paddlegate(url, timeout=20).concurrent(name, 1)
limiter.acquire()
waiting = threading.Thread(target=limiter.acquire, daemon=True)
waiting.start()
opening = Paddlegate(silent, timeout=20).concurrent("x", 1)
threading.Thread(target=opening.acquire, daemon=True).start()
while not limiter.stats().tickets:
    time.sleep(0.01)
print("end")
"""


@pytest.fixture
def crowd():
    """Run a function in many threads, and join them in the end."""
    threads = []

    def crowd(count, function, *arguments):
        for _ in range(count):
            threads.append(threading.Thread(target=function, args=arguments))
            threads[-1].start()

    yield crowd
    for thread in threads:
        thread.join()


def is_left(limiter):
    stats = limiter.stats()
    return stats.leases, stats.tickets


# --- Threads -------------------------------------------------------------------------------------


def test_fifty_waiters_and_one_release(store, name, crowd, until):
    limiter = store.concurrent(name, 1, wait_timeout=50)
    entered, leave = [], threading.Semaphore(0)

    def wait():
        with limiter.within_limit() as permit:
            entered.append(permit.fencing_token)
            leave.acquire()

    holder = limiter.acquire()
    crowd(50, wait)
    until(lambda: limiter.stats().tickets == 50)
    holder.release()
    until(lambda: entered)
    time.sleep(0.2)
    assert len(entered) == 1
    assert is_left(limiter) == (1, 49)
    for _ in range(50):
        leave.release()
    until(lambda: len(entered) == 50)
    assert entered == sorted(entered)
    until(lambda: is_left(limiter) == (0, 0))
    assert limiter.stats().waited == 50


def test_first_come_first_served(store, name, crowd, until):
    limiter = store.concurrent(name, 1, wait_timeout=50)
    order = []

    def wait(number):
        with limiter.within_limit():
            order.append(number)

    holder = limiter.acquire()
    for number in range(20):
        crowd(1, wait, number)
        until(lambda number=number: limiter.stats().tickets > number)
    assert not limiter.try_acquire(), "without a ticket it stands behind all"
    holder.release()
    until(lambda: len(order) == 20)
    assert order == list(range(20))


def test_a_wait_that_is_too_long(store, name):
    limiter = store.concurrent(name, 1, wait_timeout=0.05)
    limiter.acquire()
    start = time.monotonic()
    with pytest.raises(OverLimit) as caught:
        limiter.acquire()
    assert time.monotonic() - start >= 0.05
    assert caught.value.decision.status == "refused"
    assert is_left(limiter) == (1, 0)
    assert limiter.stats().refused == 1


def test_a_lease_that_ends_by_itself_lets_the_next_enter(store, name):
    store.concurrent(name, 1, lock_timeout=0.3).acquire()
    assert store.concurrent(name, 1).acquire().release() == "released"


def test_waiting_for_rates(store, name, crowd, until):
    limiter = store.leaky(name, 5, 0.1, wait_timeout=50)
    taken: list[int] = []

    def wait():
        taken.extend(limiter.acquire().decision.at_us for _ in range(5))

    crowd(8, wait)
    until(lambda: len(taken) == 40)
    # 35 more than the burst, each 20 ms after the other.
    assert max(taken) - min(taken) >= 35 * 20_000
    assert limiter.stats().tickets == 0


def test_the_waiters_of_a_process_look_together(server, name):
    limiter = Paddlegate(server.url, timeout=20).concurrent(
        name, 1, wait_timeout=600, lock_timeout=600
    )

    async def wait():
        async with limiter.within_limit():
            pass

    async def all_wait():
        return limiter.stats().tickets == 300

    async def main():
        with client.Redis(port=server.port) as asking:

            def calls():
                return asking.info("commandstats")["cmdstat_evalsha"]["calls"]

            async with limiter.within_limit():
                waiting = [asyncio.create_task(wait()) for _ in range(300)]
                await auntil(all_wait)
                # A process that stalls lets each call by itself once.
                for _ in range(8):
                    before = calls()
                    await asyncio.sleep(5.1)
                    if (looked := calls() - before) <= 30:
                        break
                assert looked <= 30
                assert limiter.stats().tickets == 300
            await asyncio.gather(*waiting)

    asyncio.run(main())
    stats = limiter.stats()
    assert (stats.granted, stats.waited, stats.refused) == (301, 300, 0)


def test_waiting_costs_no_more_than_it_must(server, name, crowd, until):
    limiter = Paddlegate(server.url, timeout=20).concurrent(name, 1, wait_timeout=50)
    with client.Redis(port=server.port) as asking:

        def calls():
            stats = asking.info("commandstats")
            return sum(
                stats.get(f"cmdstat_{it}", {"calls": 0})["calls"] for it in ("evalsha", "eval")
            )

        def listeners():
            return len(asking.client_list(_type="pubsub"))

        # The server gets each script by a further call: that of a limiter's first calls, and
        # those of calls in quick succession.
        for _ in range(2):
            limiter.acquire().release()
        before = calls()
        holder = limiter.acquire()
        assert calls() - before == 1
        assert listeners() == 0
        waited = []

        def wait():
            with limiter.within_limit() as permit:
                waited.append(permit)

        # The first waiter tells its channel by a call of its own.
        crowd(1, wait)
        until(listeners)
        until(lambda: limiter.stats().tickets == 1)
        holder.release()
        until(lambda: is_left(limiter) == (0, 0))
        holder = limiter.acquire()
        before = calls()
        crowd(20, wait)
        until(lambda: calls() - before >= 20)
        assert listeners() == 1
        holder.release()
        until(lambda: len(waited) == 21)
        # One to enqueue, one to claim, one to release; more only if this took over 5 seconds.
        until(lambda: calls() - before >= 61)
        assert calls() - before <= 63


def test_lost_hints(server, name, crowd, until):
    limiter = Paddlegate(server.url, timeout=20).concurrent(name, 1, wait_timeout=50)
    done = []

    def wait():
        for _ in range(5):
            with limiter.within_limit():
                time.sleep(0.01)
        done.append(True)

    with client.Redis(port=server.port) as killer:
        crowd(10, wait)
        while len(done) < 10:
            killer.client_kill_filter(_type="pubsub")
            time.sleep(0.05)
    assert is_left(limiter) == (0, 0)


def test_a_lost_connection_is_made_again(server, name, crowd, until):
    limiter = Paddlegate(server.url, timeout=20).concurrent(name, 1, wait_timeout=50)
    holder = limiter.acquire()
    with client.Redis(port=server.port) as killer:
        crowd(1, limiter.acquire)
        for _ in range(3):
            until(lambda: killer.client_kill_filter(_type="pubsub"))
        until(lambda: killer.client_list(_type="pubsub"))
        # It has told its new channel, so that it is called at once.
        until(lambda: killer.info("commandstats")["cmdstat_subscribe"]["calls"] == 4)
        start = time.monotonic()
        holder.release()
        # Not `waited`: if the wake-up goes to the old channel, the next look counts as a new call.
        until(lambda: limiter.stats().granted == 2)
        assert time.monotonic() - start < SOON


def test_clusters(name, crowd, until):
    store = Paddlegate(os.environ["PADDLEGATE_TEST_CLUSTER_URL"], timeout=20)
    limiters = [store.concurrent(f"{name}-{i}", 1, wait_timeout=50) for i in range(12)]
    holders = [limiter.acquire() for limiter in limiters]
    for limiter in limiters:
        crowd(2, lambda limiter=limiter: limiter.acquire().release())
    until(lambda: all(limiter.stats().tickets == 2 for limiter in limiters))
    for holder in holders:
        holder.release()
    until(lambda: all(is_left(limiter) == (0, 0) for limiter in limiters))
    assert all(limiter.stats().waited == 2 for limiter in limiters)


@pytest.mark.parametrize("code", [CTRL_C, CTRL_C_OF_A_TASK], ids=["thread", "task"])
def test_ctrl_c_leaves_nothing_behind(redis, url, name, code, until):
    limiter = redis.concurrent(name, 1)
    limiter.acquire()
    with subprocess.Popen(
        [sys.executable, "-c", code, url, name],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        until(lambda: limiter.stats().tickets == 1)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=50)
    assert errors == ""
    ready, interrupted = output.splitlines()
    assert ready == "ready"
    word, at = interrupted.split()
    assert word == "interrupted"
    assert float(at) - start < SOON
    until(lambda: is_left(limiter) == (1, 0))


def test_handlers_that_raise_leave_nothing_behind(redis, url, name, script, until):
    limiter = redis.concurrent(name, 1)
    limiter.acquire()
    assert script(ALARM, url, name).stdout == "alarm\n" * 60
    until(lambda: is_left(limiter) == (1, 0))


def test_handlers_that_raise_leave_no_lease_of_a_body_behind(redis, url, name, script):
    times = "1200" if SOAK else "300"
    assert script(ALARM_OF_A_BODY, url, name, times).stdout == "True True\n"


def test_handlers_that_raise_where_a_body_is_left(store, name, monkeypatch):
    limiter = store.concurrent(name, 1)
    release = Permit.release

    def first(call):
        # As a signal handler that is called when Python enters this function.
        raised: list[bool] = []

        def raise_once(*arguments):
            if not raised:
                raised.append(True)
                raise KeyboardInterrupt
            return call(*arguments)

        return raise_once

    @limiter.within_limit()
    def generator():
        yield

    def with_():
        with limiter.within_limit():
            assert limiter.stats().leases == 1

    for body in (with_, limiter.within_limit()(list), lambda: list(generator())):
        monkeypatch.setattr(Permit, "release", first(release))
        with pytest.raises(KeyboardInterrupt):
            body()
        assert limiter.stats().leases == 0
    monkeypatch.setattr(Permit, "release", release)
    for method in ("_exit", "_find_held", "_remove_held"):
        with monkeypatch.context() as patch:
            patch.setattr(WithinLimit, method, first(getattr(WithinLimit, method)))
            with pytest.raises(KeyboardInterrupt):
                with_()
        assert limiter.stats().leases == 0, method
    guard = limiter.within_limit()
    with monkeypatch.context() as patch:
        # It cannot be noted.
        patch.setattr(guard, "_held", ())
        with pytest.raises(AttributeError), guard:
            pytest.fail("it entered")
    assert limiter.stats().leases == 0


def test_ctrl_c_does_not_wait_for_a_silent_server():
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"redis://127.0.0.1:{server.getsockname()[1]}"
        with subprocess.Popen(
            [sys.executable, "-c", CTRL_C, url, "x"], stdout=subprocess.PIPE, text=True
        ) as process:
            connection, _ = server.accept()
            with connection:
                # It is within the call, which lasts a minute.
                assert connection.recv(100)
                process.send_signal(signal.SIGINT)
                output, _ = process.communicate(timeout=50)
    assert "interrupted" in output


def test_processes_end_while_others_wait(url, name, silent, script):
    for i in range(5):
        assert script(EXIT, url, f"{name}-{i}", silent).stdout == "end\n"


def test_threads_of_hubs_end_when_nobody_waits(name, monkeypatch, until):
    monkeypatch.setattr("paddlegate._hub.IDLE_TIMEOUT", 0.01)
    limiter = Paddlegate("memory://").concurrent(name, 1, wait_timeout=0.05)
    holder = limiter.acquire()

    def hubs():
        return [it for it in threading.enumerate() if it.name == "paddlegate-hub"]

    before = len(hubs())
    with pytest.raises(OverLimit):
        limiter.acquire()
    until(lambda: len(hubs()) <= before)
    # And begin again.
    waiting = threading.Thread(target=lambda: limiter.acquire(wait_timeout=50).release())
    waiting.start()
    until(lambda: limiter.stats().tickets == 1)
    holder.release()
    waiting.join()
    assert is_left(limiter) == (0, 0)


# --- Tasks ---------------------------------------------------------------------------------------


async def auntil(condition):
    async with asyncio.timeout(20) if hasattr(asyncio, "timeout") else Forever():
        while not await condition():  # noqa: ASYNC110 - somebody else changes it
            await asyncio.sleep(0.02)


class Forever:
    async def __aenter__(self):
        pass

    async def __aexit__(self, *_):
        pass


async def are_left(limiter, *expected):
    async def so():
        stats = await limiter.astats()
        return (stats.leases, stats.tickets) == expected

    await auntil(so)


def test_fifty_tasks_and_one_release(store, name, run):
    async def main():
        limiter = store.concurrent(name, 1, wait_timeout=50)
        entered, leave = [], asyncio.Semaphore(0)

        async def wait(number):
            async with limiter.within_limit():
                entered.append(number)
                await leave.acquire()

        holder = await limiter.aacquire()
        tasks = []
        for number in range(50):
            tasks.append(asyncio.create_task(wait(number)))
            await are_left(limiter, 1, number + 1)
        await holder.release()
        await are_left(limiter, 1, 49)
        await asyncio.sleep(0.2)
        assert entered == [0]
        for _ in tasks:
            leave.release()
        await asyncio.gather(*tasks)
        assert entered == list(range(50))
        await are_left(limiter, 0, 0)

    run(main())


def test_tasks_wait_no_longer_than_they_want(store, name, run):
    async def main():
        limiter = store.concurrent(name, 1, wait_timeout=0.05)
        await limiter.aacquire()
        start = time.monotonic()
        with pytest.raises(OverLimit):
            await limiter.aacquire()
        assert time.monotonic() - start >= 0.05
        await are_left(limiter, 1, 0)

    run(main())


def test_cancelled_tasks_leave_nothing_behind(store, name, run):
    async def main():
        limiter = store.concurrent(name, 1, wait_timeout=50)
        holder = await limiter.aacquire()
        tasks = [asyncio.create_task(limiter.aacquire()) for _ in range(10)]
        await are_left(limiter, 1, 10)
        start = time.monotonic()
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert time.monotonic() - start < SOON
        assert all(isinstance(it, asyncio.CancelledError) for it in results)
        await are_left(limiter, 1, 0)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(limiter.aacquire(), 0.1)
        await are_left(limiter, 1, 0)
        await holder.release()
        await are_left(limiter, 0, 0)

    run(main())


def test_tasks_that_are_cancelled_at_any_moment_leave_nothing_behind(store, name, run):
    async def main():
        limiter = store.concurrent(name, 1, wait_timeout=50)
        for full in (False, True):
            if full:
                await limiter.aacquire()
            for turns in range(30):
                task = asyncio.create_task(limiter.aacquire())
                for _ in range(turns):
                    await asyncio.sleep(0)
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    assert await (await task).release() == "released"
            await are_left(limiter, int(full), 0)

    run(main())


def test_a_cancelled_call_does_not_end_the_lease_of_another_with_its_id(store, name, run):
    async def main():
        limiter = store.concurrent(name, 1, wait_timeout=50)
        holder = await limiter.aacquire(id="job")
        for turns in range(10):
            task = asyncio.create_task(limiter.aacquire(id="job"))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await are_left(limiter, 1, 0)
        assert await holder.renew()
        # One that has a ticket takes it along.
        task = asyncio.create_task(limiter.aacquire(id="other"))
        await are_left(limiter, 1, 1)
        task.cancel()
        await are_left(limiter, 1, 0)

    run(main())


def test_an_interrupted_call_does_not_end_the_lease_of_another_with_its_id(
    store, name, monkeypatch
):
    limiter = store.concurrent(name, 1)
    holder = limiter.acquire(id="job")

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("paddlegate._waiting.Permit", interrupt)
    with pytest.raises(KeyboardInterrupt):
        limiter.acquire(id="job")
    assert holder.renew()


def test_a_call_that_is_interrupted_when_it_has_a_lease_leaves_none(
    store, name, monkeypatch, until
):
    limiter = store.concurrent(name, 1)
    leave = ThreadWaiter.leave_hub
    interrupts = iter([KeyboardInterrupt])

    def interrupt(waiting):
        for error in interrupts:
            raise error
        leave(waiting)

    monkeypatch.setattr(ThreadWaiter, "leave_hub", interrupt)
    with pytest.raises(KeyboardInterrupt):
        limiter.acquire()
    assert limiter.stats().granted == 1
    until(lambda: is_left(limiter) == (0, 0))


def test_a_loop_that_ends_leaves_nothing_behind(redis, name, run, until):
    limiter = redis.concurrent(name, 1, wait_timeout=50)

    async def main():
        await limiter.aacquire()
        waiting.extend(asyncio.create_task(limiter.aacquire()) for _ in range(3))
        await are_left(limiter, 1, 3)

    waiting = []
    run(main())
    until(lambda: is_left(limiter) == (1, 0))


def test_threads_and_tasks_wait_in_one_queue(store, name, run, crowd, until):
    limiter = store.concurrent(name, 1, wait_timeout=50)
    entered = []

    def wait():
        for _ in range(10):
            with limiter.within_limit() as permit:
                entered.append(permit.fencing_token)

    async def await_():
        for _ in range(10):
            async with limiter.within_limit() as permit:
                entered.append(permit.fencing_token)

    async def main():
        await asyncio.gather(*(await_() for _ in range(4)))

    crowd(4, wait)
    run(main())
    until(lambda: len(entered) == 80)
    assert entered == sorted(entered)
    until(lambda: is_left(limiter) == (0, 0))


def test_lost_hints_of_a_loop(server, name, run):
    async def main():
        limiter = Paddlegate(server.url, timeout=20).concurrent(name, 1, wait_timeout=50)

        async def work():
            for _ in range(5):
                async with limiter.within_limit():
                    await asyncio.sleep(0.01)

        async def kill():
            while True:
                killer.client_kill_filter(_type="pubsub")
                await asyncio.sleep(0.1)

        with client.Redis(port=server.port) as killer:
            killing = asyncio.create_task(kill())
            await asyncio.gather(*(work() for _ in range(10)))
            killing.cancel()
        await are_left(limiter, 0, 0)

    run(main())


def test_one_connection_of_a_loop_tells_all(server, name, run):
    async def main():
        limiter = Paddlegate(server.url, timeout=20).concurrent(name, 1, wait_timeout=50)
        with client.Redis(port=server.port) as asking:
            holder = await limiter.aacquire()
            assert asking.client_list(_type="pubsub") == []
            tasks = [asyncio.create_task(limiter.aacquire()) for _ in range(10)]
            await are_left(limiter, 1, 10)

            async def listening():
                return len(asking.client_list(_type="pubsub")) == 1

            await auntil(listening)
            await holder.release()
            for task in tasks:
                await (await task).release()
            assert await listening()

    run(main())


def test_tasks_of_a_loop_that_cannot_watch_sockets(store, name):
    class Blind(asyncio.SelectorEventLoop):
        add_reader = asyncio.AbstractEventLoop.add_reader

    async def main():
        limiter = store.concurrent(name, 1, wait_timeout=50)
        holder = await limiter.aacquire()
        task = asyncio.create_task(limiter.aacquire())
        await are_left(limiter, 1, 1)
        await holder.release()
        await (await task).release()
        await are_left(limiter, 0, 0)

    loop = Blind()
    loop.run_until_complete(main())
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


def test_tasks_of_a_cluster(name, run):
    async def main():
        store = Paddlegate(os.environ["PADDLEGATE_TEST_CLUSTER_URL"], timeout=20)

        async def use(limiter):
            for _ in range(3):
                async with limiter.within_limit():
                    await asyncio.sleep(0)

        limiters = [store.concurrent(f"{name}-{i}", 1, wait_timeout=50) for i in range(12)]
        await asyncio.gather(*(use(limiter) for limiter in limiters for _ in range(3)))
        for limiter in limiters:
            assert (await limiter.astats()).granted == 9
            await are_left(limiter, 0, 0)

    run(main())
