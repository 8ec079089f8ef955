# mypy: allow-untyped-calls
"""A call that is ended after the server has granted it gives its lease back."""

import asyncio
import contextlib
import signal
import socket
import subprocess
import sys
import threading
from urllib.parse import urlsplit

import pytest
from paddlegate import Limiter, Paddlegate, UnavailableError

ALARMS = """
import signal, sys
from paddlegate import Paddlegate

limiter = Paddlegate(sys.argv[1], timeout=20).concurrent(sys.argv[2], 10000)

class Alarm(Exception):
    pass

def handler(*_):
    raise Alarm

signal.signal(signal.SIGALRM, handler)
granted = alarms = 0
for i in range(600):
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, 2e-5 + i % 300 * 1e-6)
            limiter.try_acquire()
            granted += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except Alarm:
        alarms += 1
print(granted, alarms)
"""

EXIT = """
import sys, time
import paddlegate._cleanup
from paddlegate import Limiter, Paddlegate, UnavailableError

cancel = Limiter.cancel

def slowly(limiter, id):
    # Not before the lease was seen.
    sys.stdin.readline()
    time.sleep(0.3)
    return cancel(limiter, id)

Limiter.cancel = slowly

# So that a stalled machine does not end the process before.
paddlegate._cleanup.EXIT_TIMEOUT = 20
limiter = Paddlegate(sys.argv[1], timeout=float(sys.argv[3])).concurrent(sys.argv[2], 2)
limiter.acquire().release()
print("ready", flush=True)
sys.stdin.readline()
try:
    limiter.acquire()
except UnavailableError:
    print("unavailable", flush=True)
"""


class Interruption(BaseException):
    """What a signal handler raises."""


class Proxy:
    """The way to a server. It can do something before it brings the next answer, or keep that."""

    def __init__(self, url):
        parts = urlsplit(url)
        self.server = parts.hostname, parts.port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self.listener.getsockname()[1]}"
        self.before_answer = None
        self.ends = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(self.server)
                self.ends += [client, server]
                threading.Thread(target=self.ask, args=(client, server), daemon=True).start()
                threading.Thread(target=self.answer, args=(server, client), daemon=True).start()

    def ask(self, client, server):
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                server.sendall(data)
            server.shutdown(socket.SHUT_RDWR)

    def answer(self, server, client):
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                before, self.before_answer = self.before_answer, None
                if before is None or before():
                    client.sendall(data)
            client.shutdown(socket.SHUT_RDWR)

    def hang_up(self):
        """End all connections, so that their calls have no answer."""
        # Not one of a call that follows.
        for end in tuple(self.ends):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        return False

    def close(self):
        for end in (self.listener, *self.ends):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


@pytest.fixture
def proxy(url):
    proxy = Proxy(url)
    yield proxy
    proxy.close()


@pytest.fixture
def when(proxy):
    """Do something when the server has granted and its answer is on the way, not before.

    The state says so, since the process of a call may count it only when it has the answer.
    """

    def when(is_granted, do):
        def before_answer():
            if is_granted():
                return do()
            # Another answer comes before, such as that the server does not have the script yet.
            proxy.before_answer = before_answer
            return True

        proxy.before_answer = before_answer

    return when


@pytest.fixture
def interrupt():
    """Interrupt the main thread from another one; tell when the handler has run."""
    handled = threading.Event()

    def handler(*_):
        handled.set()
        raise Interruption

    def interrupt(waiting):
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGUSR1)
        return handled.wait(20) if waiting else True

    before = signal.signal(signal.SIGUSR1, handler)
    yield interrupt
    signal.signal(signal.SIGUSR1, before)


def enter(limiter, **key):
    with limiter.within_limit(**key):
        pytest.fail("the body ran")


def call(limiter, **key):
    limiter.within_limit(**key).run(pytest.fail)


VERBS = [Limiter.try_acquire, Limiter.acquire, enter, call]


@pytest.mark.parametrize("waiting", [True, False], ids=["before the answer", "with the answer"])
@pytest.mark.parametrize("verb", VERBS, ids=["try_acquire", "acquire", "with", "function"])
def test_an_interrupted_call_leaves_no_lease(
    proxy, redis, name, verb, waiting, interrupt, when, until
):
    limiter = Paddlegate(proxy.url, timeout=20).concurrent(name, 2)
    limiter.acquire().release()
    stats = redis.concurrent(name, 2).stats
    when(lambda: stats().leases == 1, lambda: interrupt(waiting))
    with pytest.raises(Interruption):
        verb(limiter)
    until(lambda: stats().leases == 0)


@pytest.mark.parametrize("verb", VERBS, ids=["try_acquire", "acquire", "with", "function"])
def test_an_interrupted_call_of_a_key_leaves_no_lease(
    proxy, redis, name, verb, interrupt, when, until
):
    limiter = Paddlegate(proxy.url, timeout=20).concurrent(name, 2, keyed=True)
    limiter.acquire(key="alice").release()
    user = redis.concurrent(name, 2, keyed=True)
    when(lambda: user.peek(key="alice").remaining == 1, lambda: interrupt(True))
    with pytest.raises(Interruption):
        verb(limiter, key="alice")
    until(lambda: user.peek(key="alice").remaining == 2)


def test_alarms_at_any_moment_leave_hardly_a_lease(redis, url, name, script):
    granted, alarms = map(int, script(ALARMS, url, name).stdout.split())
    left = redis.concurrent(name, 10_000).stats().leases - granted
    # Between the end of the call and the assignment of its answer nobody can help.
    assert left * 10 <= alarms + 20, (left, alarms)


@pytest.mark.parametrize("key", [{}, {"key": "alice"}], ids=["plain", "keyed"])
@pytest.mark.parametrize("verb", ["atry_acquire", "aacquire"])
def test_a_cancelled_call_leaves_no_lease(proxy, redis, name, verb, key, run, when):
    other = redis.concurrent(name, 2, keyed=bool(key))

    async def main():
        limiter = Paddlegate(proxy.url, timeout=20).concurrent(name, 2, keyed=bool(key))
        (await limiter.aacquire(**key)).release()
        await limiter.apeek(**key)
        loop = asyncio.get_running_loop()
        task = asyncio.create_task(getattr(limiter, verb)(**key))
        done = threading.Event()
        task.add_done_callback(lambda _: done.set())

        def cancel():
            loop.call_soon_threadsafe(task.cancel)
            return done.wait(20)

        when(lambda: other.peek(**key).remaining == 1, cancel)
        with pytest.raises(asyncio.CancelledError):
            await task
        for _ in range(1000):
            if (await other.apeek(**key)).remaining == 2:
                break
            await asyncio.sleep(0.02)
        assert (await other.apeek(**key)).remaining == 2

    run(main())


def test_a_call_with_an_id_of_the_caller_leaves_its_lease(proxy, redis, name, interrupt, when):
    """Another call may have that lease, and whoever has the id can release it."""
    limiter = Paddlegate(proxy.url, timeout=20).concurrent(name, 2)
    limiter.acquire().release()
    other = redis.concurrent(name, 2)
    when(lambda: other.stats().leases == 1, lambda: interrupt(True))
    with pytest.raises(Interruption):
        limiter.try_acquire(id="job")
    [lease] = other.inspect().leases
    again = other.try_acquire(id="job")
    assert again.fencing_token == lease.fencing_token
    assert other.release(again) == "released"


@pytest.mark.parametrize("key", [{}, {"key": "alice"}], ids=["plain", "keyed"])
@pytest.mark.parametrize("verb", VERBS, ids=["try_acquire", "acquire", "with", "function"])
def test_a_call_without_an_answer_leaves_no_lease(proxy, redis, name, verb, key, when, until):
    limiter = Paddlegate(proxy.url, timeout=20).concurrent(name, 2, keyed=bool(key))
    other = redis.concurrent(name, 2, keyed=bool(key))
    when(lambda: other.peek(**key).remaining == 1, proxy.hang_up)
    with pytest.raises(UnavailableError) as caught:
        verb(limiter, **key)
    assert caught.value.may_have_counted
    until(lambda: other.peek(**key).remaining == 2)


@pytest.mark.parametrize("key", [{}, {"key": "alice"}], ids=["plain", "keyed"])
@pytest.mark.parametrize("verb", ["atry_acquire", "aacquire"])
def test_a_call_of_a_loop_without_an_answer_leaves_no_lease(
    proxy, redis, name, verb, key, run, when
):
    other = redis.concurrent(name, 2, keyed=bool(key))

    async def main():
        limiter = Paddlegate(proxy.url, timeout=20).concurrent(name, 2, keyed=bool(key))
        when(lambda: other.peek(**key).remaining == 1, proxy.hang_up)
        with pytest.raises(UnavailableError) as caught:
            await getattr(limiter, verb)(**key)
        assert caught.value.may_have_counted
        for _ in range(1000):
            if (await other.apeek(**key)).remaining == 2:
                break
            await asyncio.sleep(0.02)
        assert (await other.apeek(**key)).remaining == 2

    run(main())


def test_a_call_without_an_answer_with_an_id_of_the_caller_leaves_its_lease(
    proxy, redis, name, run, when
):
    """The caller can ask again with it."""
    limiter = Paddlegate(proxy.url, timeout=20).concurrent(name, 2)
    other = redis.concurrent(name, 2)

    async def main():
        await limiter.atry_acquire(id="task")

    for leases, call in [
        (1, lambda: limiter.try_acquire(id="job")),
        (2, lambda: run(main())),
    ]:
        when(lambda leases=leases: other.stats().leases == leases, proxy.hang_up)
        with pytest.raises(UnavailableError):
            call()
    tokens = {lease.fencing_token for lease in other.inspect().leases}
    again = limiter.try_acquire(id="job"), limiter.try_acquire(id="task")
    assert {decision.fencing_token for decision in again} == tokens


@pytest.mark.parametrize("verb", VERBS, ids=["try_acquire", "acquire", "with", "function"])
def test_a_call_without_an_answer_does_not_wait_for_its_cancellation(silent, monkeypatch, verb):
    waiting, cancelled = threading.Event(), []

    def cancel(*_):
        waiting.wait(20)
        cancelled.append(True)

    monkeypatch.setattr(Limiter, "cancel", cancel)
    # Should it be joined, then to its end.
    monkeypatch.setattr("paddlegate._waiting.INTERRUPT_CANCEL_TIMEOUT", 30)
    with pytest.raises(UnavailableError):
        verb(Paddlegate(silent, timeout=0.1).concurrent("x", 1))
    assert not cancelled
    waiting.set()


def test_a_dropped_store_sends_its_counts_while_other_threads_run(proxy, redis, name):
    """The proxy is a thread of this process."""
    limiter = Paddlegate(proxy.url, timeout=20).bucket(name, 3, "day")
    assert [limiter.allow() for _ in range(4)] == [True] * 3 + [False]
    del limiter
    stats = redis.bucket(name, 3, "day").stats()
    assert (stats.granted, stats.refused) == (3, 1)


def test_a_process_that_ends_has_cancelled_before(proxy, redis, name, when, until):
    stats = redis.concurrent(name, 2).stats
    with subprocess.Popen(
        [sys.executable, "-c", EXIT, proxy.url, name, "0.5"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        # Its answer is lost.
        when(lambda: stats().leases == 1, lambda: False)
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "unavailable\n"
        until(lambda: stats().leases == 1)
        output, _ = process.communicate("\n", timeout=40)
    assert output == ""
    assert stats().leases == 0
