"""Promises of the README that need a whole server or whole processes to be shown."""

import random
import re
import struct
import time
from pathlib import Path

import pytest
import redis
from holders import COMMANDS, Holder, build
from paddlegate import Paddlegate
from servers import Redis, free_port

LIMIT, LOOPS = 300, 2
YEAR = 365 * 86_400


@pytest.fixture(scope="module", autouse=True)
def built():
    build()


@pytest.mark.parametrize("kind", ["bucket", "window", "leaky"])
def test_no_rate_is_exceeded_when_workers_are_killed(url, name, seed, kind):
    """A killed worker loses the grants that it had not written down, and nobody gets one more."""
    dice = random.Random(seed)
    numbers = (f"{kind}/{LIMIT}/{YEAR}", 30_000, 20, 10_000, LOOPS)

    def start(language):
        return Holder(language, url, name, *numbers)

    running = {language: start(language) for language in COMMANDS}
    ended, kills = [], 0
    try:
        # The last fifty are left for the count, since a worker that is refused ends with an error.
        while (seen := sum(len(holder.leases) for holder in [*running.values(), *ended])) < 200:
            if seen > 20 * kills:
                language = dice.choice(list(COMMANDS))
                running[language].kill()
                ended.append(running[language])
                running[language] = start(language)
                kills += 1
            time.sleep(0.002)
    finally:
        for holder in running.values():
            holder.kill()
            kills += 1
    entered = sum(len(holder.leases) for holder in [*running.values(), *ended])
    limiter = Paddlegate(url, timeout=30).limiter(name, [(kind, LIMIT, YEAR)])
    left = 0
    while left <= LIMIT and limiter.allow():
        left += 1
    assert entered + left <= LIMIT
    assert entered + left >= LIMIT - kills * LOOPS


def test_a_server_clock_that_jumps_back_grants_nothing_extra(fleet, name, tmp_path):
    """The clock of a Redis is set back by two hours, while all languages use it."""
    clock = tmp_path / "clock"
    clock.write_bytes(struct.pack("q", 0))
    server = Redis(free_port(), clock=clock)
    try:
        limits = [("window", 8, 3600), ("bucket", 8, 3600), ("leaky", 8, 3600)]
        for worker in fleet.values():
            worker.ask("open", url=f"redis://127.0.0.1:{server.port}", timeout=30)
            for kind, *numbers in limits:
                worker.ask("limiter", **{"as": kind}, name=name + kind, limits=[(kind, *numbers)])
            worker.ask("limiter", **{"as": "pace"}, name=name, limits=[("throttle", 0.05)])

        def granted(kind):
            return sum(worker.ask("allow", on=kind) for worker in fleet.values())

        before = server.time()
        first = {kind: granted(kind) for kind, *_ in limits}
        assert set(first.values()) == {len(fleet)}
        # In place, for the server has mapped it.
        with clock.open("r+b") as file:
            file.write(struct.pack("q", -7200))
        assert server.time() < before - 3600
        for kind, *_ in limits:
            assert first[kind] + sum(granted(kind) for _ in range(4)) == 8, kind
        # The limiter goes on at its rate: nobody waits for two hours.
        for worker in [*fleet.values()] * 3:
            assert worker.ask("acquire", on="pace", wait_timeout=30)["allowed"]
    finally:
        server.end()


def acl_commands():
    page = Path(__file__).parents[2] / "docs/src/reference/redis-keys-acl.md"
    section = re.search("^## ACL$.*?^## ", page.read_text(), re.DOTALL | re.MULTILINE)
    return {word for words in re.findall("`([A-Z ]+)`", section[0]) for word in words.split()}


def test_the_page_names_the_commands_of_all_scripts():
    root = Path(__file__).parents[2]
    scripts = [
        *(root / "core/src/engine").rglob("*.lua"),
        *(root / "core/src/store").rglob("*.lua"),
    ]
    called = {
        command
        for script in scripts
        for command in re.findall(r"\b(?:call|pcall|attempt)\('([A-Z]+)'", script.read_text())
    }
    assert len(called) > 30
    assert called <= acl_commands()


def test_the_commands_of_the_page_are_enough(urls, name):
    """A user of Redis who may use those and no others, and our keys only, can use every verb."""
    commands = acl_commands()
    assert {"EVALSHA", "UNLINK"} <= commands
    with redis.Redis.from_url(urls["redis"]) as admin:
        rules = [f"+{command}" for command in sorted(commands)]
        admin.execute_command(
            *("ACL", "SETUSER", name, "on", ">secret"),
            *("~pg2:*", "resetchannels", "&pg2:hints:*", *rules),
        )
    limited = urls["redis"].replace("redis://", f"redis://{name}:secret@")
    with Paddlegate(limited, timeout=30) as store:
        limits = {"window": (10, 60), "points": (100, 60), "bucket": (10, 60)}
        both = store.limiter(name, concurrency=2, **limits)
        permit = both.acquire(estimate=2)
        assert permit.points_used(5) == "settled"
        assert permit.renew() > 0
        assert both.enqueue("first", cost=1).allowed
        assert both.enqueue("second", cost=1).status == "queued"
        assert both.release(permit) == "released"
        assert both.claim("second", cost=1).status in ("granted", "queued")
        assert both.cancel("second") == "cancelled"
        both.pause(0.01)
        both.resume()
        both.override(5, label="window")
        both.restore()
        assert both.report_budget(remaining=3, label="bucket").ignored is not None
        assert both.peek().remaining >= 0
        assert both.stats().granted >= 2
        assert name in [limiter.name for limiter in store.limiters()]
        one = store.concurrent(f"{name}-one", 1)
        with one.within_limit():
            assert not one.try_acquire()
            # The order of the queue is read only by calls that wait with shares or priorities.
            for job, place in {
                "a": {"share": "x"},
                "b": {"priority": 9},
                "c": {"share": "y"},
            }.items():
                assert one.enqueue(job, **place).status == "queued"
        for job in ("b", "a", "c"):
            assert one.claim(job, **({} if job != "b" else {"priority": 9})).allowed, job
            assert one.cancel(job) == "cancelled"
        both.reset()
    with redis.Redis.from_url(urls["redis"]) as admin:
        admin.execute_command("ACL", "DELUSER", name)
