# mypy: allow-untyped-calls
"""What a limiter answers while its store cannot decide."""

import asyncio
import contextlib
import os
import pickle
import signal
import socket
import threading
import time
from typing import Any
from urllib.parse import urlsplit

import pytest
import redis as client
from paddlegate import InvalidError, OverLimit, Paddlegate, UnavailableError

NOWHERE = "redis://127.0.0.1:1"
"""Nobody listens there."""
MODES: Any = ("fail_closed", "fail_open", "local")
PATIENT = 20
"""Seconds, so that a busy machine fails no test that is not about time."""


class Gate:
    """The way to the server of the tests, which can be shut."""

    def __init__(self, url):
        parts = urlsplit(url)
        self.server = parts.hostname, parts.port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self.listener.getsockname()[1]}"
        self.shut = False
        self.came = 0
        self.open = []
        self.threads = []
        self.accepting = threading.Thread(target=self.accept, daemon=True)
        self.accepting.start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.came += 1
            if self.shut:
                client.close()
                continue
            server = socket.create_connection(self.server)
            self.open += [client, server]
            for ends in (client, server), (server, client):
                thread = threading.Thread(target=self.carry, args=ends, daemon=True)
                self.threads.append(thread)
                thread.start()

    def carry(self, source, target):
        with source, contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        hang_up(target)

    def store(self):
        return Paddlegate(self.url, timeout=PATIENT)

    def close(self):
        """Let nobody through, from now on."""
        self.shut = True
        while self.open:
            hang_up(self.open.pop())


def hang_up(end):
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def gate(url):
    gate = Gate(url)
    yield gate
    gate.shut = True
    hang_up(gate.listener)
    gate.accepting.join()
    gate.listener.close()
    gate.close()
    for thread in gate.threads:
        thread.join()


class Ways:
    """Every verb in one way: on the calling thread, or on an event loop that goes on."""

    def __init__(self, loop):
        self.loop = loop

    def __call__(self, limiter, verb, *arguments, **more):
        if self.loop is None:
            return getattr(limiter, verb)(*arguments, **more)

        async def ask():
            return await getattr(limiter, f"a{verb}")(*arguments, **more)

        return self.loop.run_until_complete(ask())


@pytest.fixture(params=["sync", "async"])
def ask(request):
    if request.param == "sync":
        yield Ways(None)
    else:
        loop = asyncio.new_event_loop()
        yield Ways(loop)
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


def lost(kind="window", *numbers, **more):
    """Make a limiter that finds no server."""
    if kind == "window" and not numbers:
        numbers = 7, 60
    return getattr(Paddlegate(NOWHERE), kind)("lost", *numbers, **more)


# --- Modes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [{}, {"on_unavailable": "raise"}, {"on_unavailable": None}])
def test_raise_is_an_error_and_never_a_refusal(ask, more):
    limiter = lost(**more)
    assert (limiter.on_unavailable, limiter.local_share_percent) == ("raise", None)
    for _ in range(7):
        with pytest.raises(UnavailableError):
            ask(limiter, "try_acquire")


def test_closed_refuses_and_says_so(ask):
    limiter = lost(on_unavailable="fail_closed")
    for _ in range(7):
        decision = ask(limiter, "try_acquire")
        assert (decision.status, decision.reason, decision.degraded) == (
            "refused",
            "unavailable",
            True,
        )
        assert (decision.limit, decision.remaining, decision.permit) == (7, 0, None)
        assert 0 < decision.retry_after <= 1
    assert not ask(limiter, "allow")
    assert ask(limiter, "peek").degraded
    assert ask(limiter, "enqueue", "a").reason == "unavailable"
    with pytest.raises(OverLimit, match="reason=unavailable retry_after=") as caught:
        ask(limiter, "acquire", wait_timeout=50)
    assert caught.value.decision.degraded
    with pytest.raises(InvalidError):
        ask(limiter, "try_acquire", estimate=-1)
    with pytest.raises(UnavailableError):
        ask(limiter, "stats")


def test_open_grants_and_says_so(ask):
    limiter = lost("concurrent", 1, on_unavailable="fail_open")
    for _ in range(7):
        decision = ask(limiter, "try_acquire")
        assert (decision.allowed, decision.degraded, decision.lease) == (True, True, None)
        assert ask(limiter, "release", decision.permit) == "unknown"
    points = lost("points", 100, 60, on_unavailable="fail_open")
    decision = ask(points, "try_acquire", estimate=1)
    assert ask(points, "correct", decision.permit, 5) == "unknown"
    assert ask(points, "try_acquire", 1).permit is None


def test_local_keeps_its_share_of_the_limit(ask):
    limiter = lost("concurrent", 5, on_unavailable="local", local_share_percent=50)
    assert (limiter.on_unavailable, limiter.local_share_percent) == ("local", 50)
    first, second = (ask(limiter, "try_acquire") for _ in range(2))
    assert (first.allowed, first.degraded, first.limit, first.lease) == (True, True, 2, 30)
    refused = ask(limiter, "try_acquire")
    assert (refused.allowed, refused.degraded, refused.reason) == (False, True, "concurrency")
    assert ask(limiter, "release", first.permit) == "released"
    assert ask(limiter, "release", first.permit) == "unknown"
    assert ask(limiter, "renew", second.permit) == 30
    assert ask(limiter, "try_acquire").allowed
    points = lost("points", 1000, 60, on_unavailable="local")
    assert points.local_share_percent == 100
    decision = ask(points, "try_acquire", estimate=400)
    assert decision.remaining == 600
    assert ask(points, "correct", decision.permit, 100) == "settled"
    assert ask(points, "peek", 0).remaining >= 900
    assert ask(
        lost("window", 1, 60, on_unavailable="local", local_share_percent=50), "try_acquire"
    ).reason == ("unavailable"), "half a unit is none"


def test_a_degraded_decision_can_be_shown_and_pickled():
    for mode in MODES:
        decision = lost(on_unavailable=mode).try_acquire()
        copy = pickle.loads(pickle.dumps(decision))
        assert copy == decision
        assert (copy.degraded, copy.reason) == (True, decision.reason)
        assert repr(copy).endswith(", degraded=True)")
    granted = Paddlegate("memory://").window("a", 1, 60).try_acquire()
    assert not granted.degraded
    assert "degraded" not in repr(granted)


def test_jobs(ask):
    refused = ask(lost(on_unavailable="fail_closed"), "admit", "a")
    assert (refused.action, refused.decision.reason) == ("wait", "unavailable")
    assert 0 < refused.after <= 1
    assert ask(lost(on_unavailable="fail_open"), "admit", "a", "drop").action == "run"
    local = lost("concurrent", 1, on_unavailable="local")
    first = ask(local, "admit", "a")
    assert (first.action, ask(local, "admit", "a").permit) == ("run", first.permit)
    assert ask(local, "admit", "b", "reschedule").action == "reschedule"
    assert ask(local, "release", first.permit) == "released"
    with pytest.raises(UnavailableError):
        ask(lost(), "admit", "a")


# --- Factories -----------------------------------------------------------------------------------


def test_every_factory_takes_it(tmp_path):
    pg = Paddlegate("memory://")
    document = {"limiters": {"doc": {"window": {"limit": 1, "per": "minute"}}}}
    path = tmp_path / "limits.json"
    path.write_text('{"limiters": {"file": {"throttle": {"every": 1}}}}')
    more: Any = {"on_unavailable": "local", "local_share_percent": 50}
    limiters = [
        pg.concurrent("a", 1, **more),
        pg.bucket("a", 1, 1, **more),
        pg.window("a", 1, 1, **more),
        pg.leaky("a", 1, 1, **more),
        pg.points("a", 1, 1, **more),
        pg.throttle("a", 1, **more),
        pg.unlimited(**more),
        pg.paused("a", **more),
        pg.limiter("a", concurrency=1, **more),
        *pg.limiters_from_document(document, **more).values(),
        *pg.load(path, **more).values(),
    ]
    assert len(limiters) == 11
    assert {(limiter.on_unavailable, limiter.local_share_percent) for limiter in limiters} == {
        ("local", 50)
    }


@pytest.mark.parametrize(
    ("more", "argument"),
    [
        ({"on_unavailable": "Open"}, "on_unavailable"),
        ({"on_unavailable": ""}, "on_unavailable"),
        ({"on_unavailable": 5}, "on_unavailable"),
        ({"on_unavailable": "local", "local_share_percent": 0}, "local_share_percent"),
        ({"on_unavailable": "local", "local_share_percent": 101}, "local_share_percent"),
        ({"on_unavailable": "local", "local_share_percent": 0.5}, "local_share_percent"),
        ({"on_unavailable": "fail_open", "local_share_percent": 50}, "local_share_percent"),
        ({"local_share_percent": 50}, "local_share_percent"),
    ],
)
def test_arguments_are_checked(more, argument):
    with pytest.raises(InvalidError) as caught:
        Paddlegate("memory://").window("a", 1, 1, **more)
    assert caught.value.argument == argument


# --- Bodies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["fail_open", "local"])
def test_bodies_run_without_the_store(mode):
    limiter = lost("limiter", concurrency=1, points=(100, 60), on_unavailable=mode)
    settled = "unknown" if mode == "fail_open" else "settled"
    released = "unknown" if mode == "fail_open" else "released"
    for _ in range(3):
        with limiter.within_limit(estimate=10) as permit:
            assert permit.decision.degraded
            assert permit.points_used(5) == settled
            assert permit.renew() is (mode == "local")
    with limiter.within_limit(estimate=10) as permit:
        assert permit.release() == released


@pytest.mark.parametrize("mode", ["fail_open", "local"])
def test_bodies_run_on_an_event_loop_without_the_store(mode, run):
    limiter = lost("limiter", concurrency=1, points=(100, 60), on_unavailable=mode)

    async def main():
        for _ in range(3):
            async with limiter.within_limit(estimate=10) as permit:
                assert permit.decision.degraded
                permit.points_used(5)
        async with limiter.within_limit(estimate=10) as permit:
            used, released = await permit.points_used(5), await permit.release()
        assert (used, released) == (
            ("unknown", "unknown") if mode == "fail_open" else ("settled", "released")
        )

    run(main())


def test_a_closed_limiter_skips_or_refuses_at_once(run):
    start = time.monotonic()
    with pytest.raises(OverLimit), lost(on_unavailable="fail_closed").within_limit(wait_timeout=50):
        raise AssertionError
    skipping = lost(on_unavailable="fail_closed", on_limit="ignore")
    assert not skipping.within_limit(wait_timeout=50).run(lambda: True)

    async def main():
        async with lost(on_unavailable="fail_closed").within_limit(wait_timeout=50):
            raise AssertionError

    with pytest.raises(OverLimit):
        run(main())
    assert time.monotonic() - start < PATIENT


# --- Servers that go -----------------------------------------------------------------------------


def test_after_five_failures_the_store_is_asked_once_a_second_until_it_is_back(gate, name, ask):
    limiter = gate.store().window(name, 5000, 60, on_unavailable="fail_open")
    assert not ask(limiter, "try_acquire").degraded
    gate.close()
    for _ in range(5):
        assert ask(limiter, "try_acquire").degraded
    came, start = gate.came, time.monotonic()
    for _ in range(200):
        assert ask(limiter, "try_acquire").degraded
        with limiter.within_limit():
            pass
    assert gate.came - came <= 2 + 2 * int(time.monotonic() - start)

    gate.shut = False
    until = time.monotonic() + PATIENT
    while ask(limiter, "try_acquire").degraded:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert not any(ask(limiter, "try_acquire").degraded for _ in range(20))


def hubs():
    """Find the threads that listen; one may be left from another test."""
    return {thread for thread in threading.enumerate() if thread.name == "paddlegate-hub"}


def test_a_refusal_opens_no_subscription(gate, name, ask):
    limiter = gate.store().window(name, 1, 60, on_unavailable="fail_closed")
    gate.close()
    for _ in range(5):
        assert ask(limiter, "try_acquire").degraded
    came, start, before = gate.came, time.monotonic(), hubs()
    for _ in range(100):
        with pytest.raises(OverLimit):
            ask(limiter, "acquire", wait_timeout=50)
    assert gate.came - came <= 2 + 2 * int(time.monotonic() - start)
    assert hubs() <= before


@pytest.mark.parametrize("mode", MODES)
def test_a_server_that_dies_within_a_body(gate, name, mode, run):
    limiter = gate.store().concurrent(name, 1, on_unavailable=mode)
    with limiter.within_limit() as permit:
        assert not permit.decision.degraded
        gate.close()
    with pytest.raises(UnavailableError):
        permit.release()
    gate.shut = False

    async def main():
        limiter = gate.store().concurrent(f"{name}2", 1, on_unavailable=mode)
        async with limiter.within_limit() as permit:
            assert not permit.decision.degraded
            gate.close()
        with pytest.raises(UnavailableError):
            await permit.release()

    run(main())


def queues(gate, url, name):
    """Make a limiter of each mode that has to wait; and tell whether all of them do."""
    full = [Paddlegate(url, timeout=PATIENT).concurrent(name + mode, 1) for mode in MODES]
    for limiter in full:
        limiter.acquire()
    store = gate.store()
    waits = [store.concurrent(name + mode, 1, on_unavailable=mode) for mode in MODES]
    for limiter in waits:
        # The answer to a wait may be lost with the server; this one says what is left, too.
        limiter.peek()
    return waits, lambda: all(limiter.stats().tickets for limiter in full)


def test_threads_that_wait_when_the_server_dies(gate, url, name, until):
    limiters, are_queued = queues(gate, url, name)
    came = {}

    def wait(limiter):
        try:
            came[limiter.on_unavailable] = limiter.acquire(wait_timeout=50).decision
        except OverLimit as over:
            came[limiter.on_unavailable] = over.decision

    threads = [threading.Thread(target=wait, args=(limiter,)) for limiter in limiters]
    for thread in threads:
        thread.start()
    until(are_queued)
    gate.close()
    for thread in threads:
        thread.join(PATIENT)
    assert all(decision.degraded for decision in came.values())
    # The lease that is held counts in this process, too.
    assert [came[mode].allowed for mode in MODES] == [False, True, False]
    assert came["local"].reason == "concurrency"


def test_tasks_that_wait_when_the_server_dies(gate, url, name, until, run):
    async def main():
        limiters, are_queued = queues(gate, url, name)
        tasks = [asyncio.create_task(limiter.aacquire(wait_timeout=50)) for limiter in limiters]
        await asyncio.to_thread(until, are_queued)
        gate.close()
        came: list[Any] = await asyncio.wait_for(
            asyncio.gather(*tasks, return_exceptions=True), PATIENT
        )
        closed, *granted = came
        assert isinstance(closed, OverLimit)
        assert closed.decision.degraded
        assert all(permit.decision.degraded for permit in granted)

    run(main())


def test_a_ticket_is_given_back_when_the_server_is_there_again(server, name, until):
    """The store that made no decision still has the place of the call."""
    holder = Paddlegate(server.url, timeout=PATIENT).concurrent(name, 1)
    permit = holder.acquire()
    limiter = Paddlegate(server.url, timeout=2).concurrent(name, 1, on_unavailable="fail_closed")
    came = []

    def wait():
        try:
            limiter.acquire(wait_timeout=50)
        except OverLimit as over:
            came.append(over.decision.degraded)

    thread = threading.Thread(target=wait)
    thread.start()
    until(lambda: holder.stats().tickets == 1)

    def stops_until_it_came():
        # Again and again, since whoever stalls these tests may let it go on. It gives no answer.
        server.process.send_signal(signal.SIGSTOP)
        return came

    until(stops_until_it_came)
    thread.join(PATIENT)
    server.process.send_signal(signal.SIGCONT)
    assert came == [True]
    until(lambda: holder.stats().tickets == 0)
    assert permit.release() in {"released", "late"}


def test_a_silent_server(silent, ask):
    limiter = Paddlegate(silent, timeout=0.2).window("x", 1, 60, on_unavailable="fail_open")
    assert all(ask(limiter, "try_acquire").degraded for _ in range(50))


def test_a_loop_that_cannot_watch_sockets():
    class Blind(asyncio.SelectorEventLoop):
        add_reader = asyncio.AbstractEventLoop.add_reader

    loop = Blind()
    assert loop.run_until_complete(lost(on_unavailable="fail_open").atry_acquire()).degraded
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


def test_many_tasks_at_once(gate, name, run):
    async def main():
        limiter = gate.store().window(name, 5000, 60, on_unavailable="local")
        assert not (await limiter.atry_acquire()).degraded
        gate.close()
        decisions = await asyncio.gather(*(limiter.atry_acquire() for _ in range(500)))
        assert all(decision.allowed for decision in decisions)
        assert decisions[-1].degraded
        gate.shut = False
        until = time.monotonic() + PATIENT
        while (await limiter.atry_acquire()).degraded:
            assert time.monotonic() < until
            await asyncio.sleep(0.05)

    run(main())


def test_calls_that_a_cluster_redirects_keep_their_mode(name, run):
    async def main():
        store = Paddlegate(os.environ["PADDLEGATE_TEST_CLUSTER_URL"], timeout=PATIENT)
        limiters = [
            store.window(f"{name}{i}", 1, 60, on_unavailable="fail_open") for i in range(30)
        ]
        for allowed in True, False:
            decisions = await asyncio.gather(*(limiter.atry_acquire() for limiter in limiters))
            assert {(it.allowed, it.degraded) for it in decisions} == {(allowed, False)}

    run(main())


def test_nobody_is_left_behind_a_call_that_nobody_awaits(gate, name, run):
    async def main():
        limiter = gate.store().window(name, 5000, 60, on_unavailable="fail_closed")
        gate.close()
        for _ in range(9):
            asyncio.create_task(limiter.atry_acquire()).cancel()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(limiter.atry_acquire(), 0)
        assert (await limiter.atry_acquire()).degraded

    run(main())


@pytest.mark.soak
@pytest.mark.timeout(120)
@pytest.mark.parametrize("verb", ["try_acquire", "acquire", "stats"])
@pytest.mark.parametrize("kind", ["threads", "tasks"])
def test_a_thousand_calls_at_a_silent_server_end_in_time(silent, kind, verb):
    """They do not queue for each other: one time-out is that of all."""
    timeout, took = 4, []
    limiter = Paddlegate(silent, timeout=timeout).concurrent("x", 5)

    def call():
        began = time.monotonic()
        with pytest.raises(UnavailableError):
            getattr(limiter, verb)()
        took.append(time.monotonic() - began)

    async def acall():
        began = time.monotonic()
        with pytest.raises(UnavailableError):
            await getattr(limiter, f"a{verb}")()
        took.append(time.monotonic() - began)

    async def acalls():
        await asyncio.gather(*(acall() for _ in range(1000)))

    if kind == "tasks":
        asyncio.run(acalls())
    else:
        threads = [threading.Thread(target=call) for _ in range(1000)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(took) == 1000
    assert max(took) < 1.5 * timeout


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("login", "said"), [("app:secret", "NOPERM"), ("app:other", "WRONGPASS")])
def test_a_wrong_login_and_a_missing_right_are_logged_once(server, caplog, mode, login, said):
    with client.Redis(port=server.port) as admin:
        rights = "on", ">secret", "~pg2:*", "&*", "+@all", "-eval", "-evalsha"
        admin.execute_command("ACL", "SETUSER", "app", *rights)
    pg = Paddlegate(f"redis://{login}@127.0.0.1:{server.port}", timeout=PATIENT)
    limiter = pg.bucket("api", 5, "minute", on_unavailable=mode)
    for _ in range(7):
        assert limiter.try_acquire().degraded

    async def call():
        assert (await limiter.atry_acquire()).degraded

    asyncio.run(call())
    (record,) = [record for record in caplog.records if record.name == "paddlegate"]
    message = record.getMessage()
    assert record.levelname == "WARNING"
    for word in (said, f"on_unavailable={mode}", 'limiter="api"'):
        assert word in message
    assert "secret" not in message
