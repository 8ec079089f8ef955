# mypy: allow-untyped-calls
"""Event loops and servers that are silent, gone, restarted or forgetful."""

import asyncio
import socket
import threading
import time
from typing import Any

import pytest
from paddlegate import Paddlegate, UnavailableError
from paddlegate._asyncio import send_call


def test_timeouts_of_asyncio_work(silent, run):
    async def main():
        limiter = Paddlegate(silent, timeout=30).window("x", 1, 60)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(limiter.aallow(), 0.2)

    run(main())


def test_a_silent_server_is_given_up(silent, run):
    async def main():
        limiter = Paddlegate(silent, timeout=0.4).window("x", 1, 60)
        start = time.monotonic()
        early = [asyncio.create_task(limiter.aallow()) for _ in range(5)]
        await asyncio.sleep(0.2)
        late = asyncio.create_task(limiter.aallow())
        errors: list[Any] = await asyncio.gather(*early, late, return_exceptions=True)
        assert time.monotonic() - start > 0.35
        assert [type(error) for error in errors] == [UnavailableError] * 6
        assert all(error.may_have_counted for error in errors)
        with pytest.raises(UnavailableError):
            await limiter.aallow()

    run(main())


def test_the_deadline_is_that_of_the_oldest_call(server, name, run):
    """Answers that come keep the link alive beyond the time-out."""

    async def main():
        limiter = Paddlegate(server.url, timeout=2.5).window(name, 100_000, 60)
        start = time.monotonic()
        while time.monotonic() - start < 3.5:
            await limiter.aallow()
        server.stop()
        with pytest.raises(UnavailableError):
            await limiter.aallow()

    run(main())


def test_a_loop_that_was_busy_still_reads_the_answer(url, name, run):
    async def main():
        limiter = Paddlegate(url, timeout=2).window(name, 9, 60)
        # The server may have to get the script of a first call and that of the next.
        await limiter.aallow()
        await limiter.aallow()
        call = asyncio.create_task(limiter.aallow())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        time.sleep(2.5)  # noqa: ASYNC251 - somebody blocks the loop
        assert await call

    run(main())


@pytest.mark.parametrize("connected", [True, False], ids=["connected", "not connected"])
def test_a_loop_that_was_too_busy_to_write_waits_for_the_answer(url, name, run, connected):
    async def main():
        limiter = Paddlegate(url, timeout=2).window(name, 9, 60)
        if connected:
            # The server may have to get the script of a first call and that of the next.
            await limiter.aallow()
            await limiter.aallow()
        calls = [asyncio.create_task(limiter.aallow()) for _ in range(3)]
        await asyncio.sleep(0)
        time.sleep(2.5)  # noqa: ASYNC251 - somebody blocks the loop
        assert await asyncio.gather(*calls) == [True] * 3

    run(main())


def test_a_busy_loop_gives_up_a_silent_server(silent, run):
    async def main():
        limiter = Paddlegate(silent, timeout=0.4).window("x", 1, 60)
        call = asyncio.create_task(limiter.aallow())
        await asyncio.sleep(0)
        time.sleep(0.6)  # noqa: ASYNC251 - somebody blocks the loop
        with pytest.raises(UnavailableError):
            await asyncio.wait_for(call, 20)

    run(main())


def test_a_refused_connection(run):
    async def main():
        limiter = Paddlegate("redis://127.0.0.1:1").window("x", 1, 60)
        errors = await asyncio.gather(*(limiter.aallow() for _ in range(3)), return_exceptions=True)
        for error in errors:
            assert isinstance(error, UnavailableError)
            assert not error.may_have_counted
        with pytest.raises(UnavailableError, match="cannot connect"):
            await limiter.areset()

    run(main())


class NoThreads:
    """While it is entered, no thread can be started."""

    def __enter__(self):
        def start(_):
            raise RuntimeError("can't start new thread")

        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(threading.Thread, "start", start)

    def __exit__(self, *_):
        self.patch.undo()


def test_calls_without_a_thread_to_connect_end_as_without_a_server(url, name, run):
    async def main():
        limiter = Paddlegate(url, timeout=20).concurrent(name, 5)
        with NoThreads():
            calls = [limiter.atry_acquire(), limiter.aacquire(), limiter.areset()]
            errors: list[Any] = await asyncio.gather(*calls, return_exceptions=True)
        for error in errors:
            assert isinstance(error, UnavailableError), error
            assert "can't start new thread" in str(error)
            assert not error.may_have_counted
        # Threads are there again.
        assert await limiter.atry_acquire()
        assert (await limiter.astats()).leases == 1

    run(main())


def test_a_call_without_a_thread_to_connect_has_its_fallback(url, name, run):
    async def main():
        store = Paddlegate(url, timeout=20)
        slots = store.concurrent(name, 5, on_unavailable="fail_open")
        with NoThreads():
            decision = await slots.atry_acquire()
            assert (decision.allowed, decision.degraded) == (True, True)
            async with slots.within_limit() as permit:
                assert permit.decision.degraded

    run(main())


def test_a_release_without_a_thread_to_connect_ends(server, name, run):
    async def main():
        limiter = Paddlegate(server.url, timeout=20).concurrent(name, 5)
        permit = await limiter.aacquire()
        server.stop()
        with NoThreads(), pytest.raises(UnavailableError):
            await asyncio.wait_for(permit.release(), 20)
        server.start()
        assert await asyncio.wait_for(permit.release(), 20) == "unknown"

    run(main())


def test_a_release_that_cannot_be_sent_again_has_its_error(server, name, run, monkeypatch):
    async def main():
        limiter = Paddlegate(server.url, timeout=20).concurrent(name, 5)
        permit = await limiter.aacquire()
        server.stop()
        sent = []

        def send(*arguments):
            sent.append(arguments)
            if len(sent) > 1:
                raise RuntimeError("it cannot be sent")
            return send_call(*arguments)

        monkeypatch.setattr("paddlegate._asyncio.send_call", send)
        with pytest.raises(RuntimeError, match="it cannot be sent"):
            await asyncio.wait_for(permit.release(), 20)

    run(main())


def test_another_server_of_the_url_is_tried(server, name, run):
    async def main():
        urls = f"redis://127.0.0.1:1,127.0.0.1:{server.port}"
        assert await Paddlegate(urls, timeout=20).window(name, 1, 60).aallow()

    run(main())


@pytest.mark.parametrize("idle", [False, True], ids=["watched", "not watched"])
def test_a_server_that_restarts(server, run, idle):
    async def main():
        limiter = Paddlegate(server.url, timeout=20).window("x", 100, 60)
        assert (await limiter.atry_acquire()).remaining == 99
        server.stop()
        if not idle:
            await asyncio.sleep(0.05)
            with pytest.raises(UnavailableError) as caught:
                await limiter.aallow()
            assert not caught.value.may_have_counted
        server.start()
        assert (await limiter.atry_acquire()).remaining == 99

    run(main())


def test_a_server_that_dies_during_a_call(run):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang_up():
            connection, _ = server.accept()
            with connection:
                connection.recv(10_000)

        hanging_up = threading.Thread(target=hang_up)
        hanging_up.start()

        async def main():
            url = f"redis://127.0.0.1:{server.getsockname()[1]}"
            with pytest.raises(UnavailableError) as caught:
                await Paddlegate(url, timeout=5).window("x", 1, 60).aallow()
            assert caught.value.may_have_counted

        run(main())
        hanging_up.join()


def test_a_new_script_cache_is_filled_again(server, run):
    import redis as client

    async def main():
        limiter = Paddlegate(server.url, timeout=20).window("x", 1000, 60)
        with client.Redis(port=server.port) as flusher:
            for left in range(999, 900, -1):
                flusher.script_flush()
                assert (await limiter.atry_acquire()).remaining == left

    run(main())
