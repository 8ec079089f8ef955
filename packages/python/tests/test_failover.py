# mypy: allow-untyped-calls
"""A real failover by a real Sentinel, while a lease is held and a call waits."""

import asyncio
import threading

import pytest
import redis as client
from paddlegate import AsyncPermit, Paddlegate, Permit, UnavailableError


@pytest.fixture
def replica(server, another):
    """A replica of the server."""
    server_url = server.url
    with client.Redis.from_url(server_url) as asking:
        asking.config_set("repl-diskless-sync-delay", 0)
    replica = another()
    replica.start("--replicaof", "127.0.0.1", str(server.port))
    return replica


@pytest.fixture
def sentinel(server, replica, another, tmp_path, until):
    """A Sentinel that knows both, and takes neither for down by itself."""
    file = tmp_path / "failover.conf"
    lines = [
        f"sentinel monitor main 127.0.0.1 {server.port} 1",
        "sentinel down-after-milliseconds main 600000",
    ]
    file.write_text("\n".join([*lines, ""]))
    sentinel = another(file)
    sentinel.start("--sentinel")
    until(lambda: "slaves=1" in ask(sentinel, "info", "sentinel"), 50)
    return sentinel


def ask(server, *words):
    """Return the answer as text; empty if the connection ends."""
    try:
        with client.Redis(port=server.port, decode_responses=True) as asking:
            # Not redis-py's own form of the answer.
            asking.response_callbacks.clear()
            answer = asking.execute_command(*words)
    except client.RedisError:
        return ""
    return answer if isinstance(answer, str) else str(answer[0])


def offset(server):
    info = ask(server, "info", "replication")
    return next(line for line in info.splitlines() if line.startswith("master_repl_offset"))


@pytest.mark.timeout(180)
@pytest.mark.parametrize("kind", ["thread", pytest.param("asyncio", marks=pytest.mark.soak)])
def test_sentinels_name_the_master_before_and_after_a_failover(
    server, replica, sentinel, until, kind
):
    # A sentinel that is not there is passed over.
    hosts = f"127.0.0.1:1,127.0.0.1:{sentinel.port}"
    slots = Paddlegate(f"redis+sentinel://{hosts}/main", timeout=20).concurrent(
        "slots", 1, lock_timeout=600
    )
    holder = slots.acquire()
    waited: list[Permit | AsyncPermit] = []

    def wait():
        if kind == "thread":
            waited.append(slots.acquire(wait_timeout=100))
        else:
            waited.append(asyncio.run(slots.aacquire(wait_timeout=100)))

    waiting = threading.Thread(target=wait)
    waiting.start()
    until(lambda: slots.stats().tickets == 1)
    until(lambda: offset(server) == offset(replica))
    until(lambda: ask(sentinel, "sentinel", "failover", "main") == "OK", 50)
    until(lambda: ask(replica, "role") == "master" and ask(server, "role") == "slave", 50)

    def released():
        # A call that meets the old master fails without counting.
        try:
            return slots.release(holder) == "released"
        except UnavailableError:
            return False

    until(released)
    waiting.join(100)
    assert slots.release(waited[0]) == "released"
    server.stop()
    stats = slots.stats()
    assert (stats.granted, stats.leases, stats.tickets) == (2, 0, 0)
