"""Synchronous calls to a server that is slow, gone or wrong, and signals meanwhile."""

import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from paddlegate import DataError, Paddlegate, UnavailableError

SIGNALS = """
import signal, sys
from paddlegate import Paddlegate

seen = 0
def handler(*_):
    global seen
    seen += 1
limiter = Paddlegate(sys.argv[1], timeout=20).window(sys.argv[2], 1000, 60)
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
left = [limiter.try_acquire().remaining for _ in range(1000)]
while not seen:
    pass
signal.setitimer(signal.ITIMER_REAL, 0)
assert left == list(range(999, -1, -1))
"""

INTERRUPTED = """
import signal, sys
from paddlegate import Paddlegate

# It may be ignored, as in the background of a shell.
signal.signal(signal.SIGINT, signal.default_int_handler)

limiter = Paddlegate(sys.argv[1], timeout=60).window("x", 1, 60)
limiter.allow()
"""


def test_a_silent_server_is_given_up_and_other_threads_run(silent):
    limiter = Paddlegate(silent, timeout=2).window("x", 1, 60)
    ticks = 0
    done = threading.Event()

    def tick():
        nonlocal ticks
        while not done.wait(0.005):
            ticks += 1

    ticking = threading.Thread(target=tick)
    ticking.start()
    start = time.monotonic()
    with pytest.raises(UnavailableError) as caught:
        limiter.allow()
    passed = time.monotonic() - start
    done.set()
    ticking.join()
    assert caught.value.may_have_counted
    assert 1.9 < passed < 10
    assert ticks > 10


def test_a_refused_connection():
    limiter = Paddlegate("redis://127.0.0.1:1").window("x", 1, 60)
    with pytest.raises(UnavailableError, match="cannot connect") as caught:
        limiter.allow()
    assert not caught.value.may_have_counted


def test_a_server_that_is_not_redis():
    with socket.create_server(("127.0.0.1", 0)) as server:

        def talk():
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        talking = threading.Thread(target=talk)
        talking.start()
        url = f"redis://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises((DataError, UnavailableError)):
            Paddlegate(url).window("x", 1, 60).allow()
        talking.join()


def test_a_server_that_restarts(server):
    limiter = Paddlegate(server.url, timeout=20).window("x", 100, 60)
    assert limiter.try_acquire().remaining == 99
    server.stop()
    with pytest.raises(UnavailableError):
        limiter.allow()
    server.start()
    assert limiter.try_acquire().remaining == 99


def test_ctrl_c_ends_a_call():
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"redis://127.0.0.1:{server.getsockname()[1]}"
        with subprocess.Popen(
            [sys.executable, "-c", INTERRUPTED, url], stderr=subprocess.PIPE, text=True
        ) as process:
            connection, _ = server.accept()
            with connection:
                # It is within the call, which lasts a minute.
                assert connection.recv(100)
                process.send_signal(signal.SIGINT)
                _, errors = process.communicate(timeout=50)
    assert process.returncode == -signal.SIGINT
    assert errors.strip().endswith("KeyboardInterrupt")
    assert "UnavailableError" not in errors


def test_other_signals_do_no_harm(url, name, script):
    script(SIGNALS, url, name)


def test_threads_share_a_limiter(store, name):
    limiter = store.window(name, 100, 60)
    granted: list[bool] = []

    def hammer():
        granted.extend(limiter.allow() for _ in range(50))

    threads = [threading.Thread(target=hammer) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(granted), sum(granted)) == (400, 100)
