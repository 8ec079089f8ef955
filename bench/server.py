"""What a decision costs the server: the time of the script by its own count, and memory."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from random import random

import limits
import redis
from measure import ROUNDS, SECONDS, emit
from paddlegate import Paddlegate

URL = os.environ["PADDLEGATE_URL"]
HUGE = 10**9
GCRA = Path(__file__).with_name("gcra.lua").read_text()
BATCH = 200
EVENTS = 10_000
KEYS = 10_000

Command = list[object]

client = redis.Redis.from_url(URL, single_connection_client=True)
pg = Paddlegate(URL, timeout=20)


def is_granted(reply: bytes | list[int]) -> bool:
    """Tell whether a plain script has granted; a refusal has the time behind the state."""
    return isinstance(reply, bytes) and re.search(rb" \.\d", reply) is None


def script_times() -> None:
    digest = client.script_load(GCRA)
    granted: Command = ["EVALSHA", digest, 1, "granted", 1, 10**12]
    refused: Command = ["EVALSHA", digest, 1, "refused", 10**12, 10**12]

    # A window is measured in its steady state: as much expires as comes.
    window = (10_000, 0.02)
    points = pg.points("points", HUGE, 1)
    policy = pg.limiter("policy", window=window, leaky=(HUGE, 1), bucket=(HUGE, "day"))
    cases: dict[str, tuple[Command, Callable[[], object]]] = {
        "leaky granted": (granted, pg.leaky("leaky", HUGE, 1).try_acquire),
        "bucket granted": (granted, pg.bucket("bucket", HUGE, "day").try_acquire),
        "window granted": (granted, pg.window("window", *window).try_acquire),
        "points granted": (granted, lambda: points.try_acquire(estimate=1)),
        "policy granted": (granted, policy.try_acquire),
        "leaky refused": (refused, pg.leaky("empty-leaky", 1, "day").try_acquire),
        "bucket refused": (refused, pg.bucket("empty-bucket", 1, "day").try_acquire),
        "window refused": (refused, pg.window("empty-window", 1, "day").try_acquire),
    }
    run(refused, 1)
    for case, (reference, call) in cases.items():
        ours = sent_by(call)
        for _ in range(ROUNDS):
            emit("script", case, "us", script_time(reference), script_time(ours))
        assert is_granted(run(ours, 1)[0]) == case.endswith("granted")
    lease_times(granted)


def lease_times(reference: Command) -> None:
    leases = pg.concurrent("erp", 100_000, lock_timeout=3_600)
    # Each grant has an id of its own, the last word, and each release also the time of the grant.
    *acquire, _ = sent_by(leases.try_acquire)
    held = [leases.try_acquire() for _ in range(3)]
    *release, _, _ = sent_by(lambda: leases.release(held.pop()))
    ids = [f"{i:032}" for i in range(calls())]
    for _ in range(ROUNDS):
        leases.reset()
        before = script_time(reference)
        client.config_resetstat()
        replies = send([[*acquire, id_] for id_ in ids])
        emit("script", "lease granted", "us", before, used())
        assert all(reply[0] == 1 for reply in replies)
        client.config_resetstat()
        replies = send([[*release, id_, reply[5]] for id_, reply in zip(ids, replies, strict=True)])
        emit("script", "lease released", "us", before, used())
        assert all(reply[0] == 1 for reply in replies)


def sent_by(call: Callable[[], object]) -> Command:
    """Listen to the server for what our client sends, to send it again in batches."""
    for _ in range(2):
        call()  # Loads the scripts.
    with client.monitor() as monitor:
        call()
        words: Command = []
        # What the process has counted is sent before, as EVAL.
        while words[:1] != ["EVALSHA"]:
            words = re.findall(r'"((?:[^"\\]|\\.)*)"', monitor.connection.read_response().decode())
        return words


def calls() -> int:
    return max(BATCH, int(SECONDS * 20_000))


def script_time(command: Command) -> float:
    client.config_resetstat()
    run(command, calls())
    return used()


def used() -> float:
    return client.info("commandstats")["cmdstat_evalsha"]["usec_per_call"]


def run(command: Command, times: int) -> list[list[int]]:
    return send([command] * times)


def send(commands: list[Command]) -> list[list[int]]:
    """Send commands in batches, so that little but the script is at work."""
    connection = client.connection
    replies = []
    for first in range(0, len(commands), BATCH):
        batch = commands[first : first + BATCH]
        packed = [b"".join(connection.pack_command(*command)) for command in batch]
        connection.send_packed_command([b"".join(packed)])
        replies += [connection.read_response() for _ in batch]
    return replies


def memory() -> None:
    # One that has counted nothing, which its calls would send.
    pg = Paddlegate(URL, timeout=20)
    meter = memory_after(lambda: client.eval(GCRA, 1, "shopify-42", 1, 10**12))
    ours = memory_after(pg.leaky("shopify-42", HUGE, 1).try_acquire)
    emit("bytes", "leaky", "bytes", meter, ours)

    # As an API limits its users: one key for each, in a server with many keys.
    minute = 60_000_000
    meters = used_by(lambda i: client.eval(GCRA, 1, f"api:user-{i}", minute, 10**12))
    users = pg.leaky("api", HUGE, 1, keyed=True, statistics=False)
    emit("bytes", "keyed", "bytes", meters, used_by(lambda i: users.allow(key=f"user-{i}")))

    window = pg.window("shopify-42", EVENTS, "day")
    ours = memory_after(lambda: [window.try_acquire() for _ in range(EVENTS)]) / EVENTS
    assert not window.try_acquire()

    moving = limits.strategies.MovingWindowRateLimiter(limits.storage.RedisStorage(URL))
    item = limits.RateLimitItemPerDay(EVENTS)
    in_list = memory_after(lambda: [moving.hit(item, "shopify-42") for _ in range(EVENTS)])
    emit("bytes", "event in list", "bytes", in_list / EVENTS, ours)

    # As the usual script does it: a random part tells two events of one time apart.
    times = {f"{time}-{random()}": time for time in range(EVENTS)}
    in_set = memory_after(lambda: client.zadd("shopify-42", times))
    emit("bytes", "event in set", "bytes", in_set / EVENTS, ours)


def used_by(call: Callable[[int], object]) -> float:
    client.flushall()
    before = client.info("memory")["used_memory"]
    for i in range(KEYS):
        call(i)
    used = client.info("memory")["used_memory"] - before
    assert client.dbsize() == KEYS
    return used / KEYS


def memory_after(action: Callable[[], object]) -> int:
    client.flushall()
    action()
    return sum(client.memory_usage(key, samples=0) for key in client.scan_iter())


if __name__ == "__main__":
    script_times()
    memory()
