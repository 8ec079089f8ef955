"""Leases across languages: never too many, first come first served, nothing lost with who dies."""

import random
import signal
import time

import pytest
import redis
from holders import COMMANDS, KILLED, Holder, Lease, build, inversions, limited, most_at_once
from paddlegate import Paddlegate

LIMIT = 5
LOCK_MS = 2_000


@pytest.fixture(scope="session", autouse=True)
def holder_in_c():
    build()


@pytest.fixture
def server(urls):
    return urls["redis"]


def scripts(url):
    """How many scripts the server has run."""
    with redis.Redis.from_url(url) as client:
        statistics = client.info("commandstats")
    return sum(
        statistics.get(f"cmdstat_{name}", {}).get("calls", 0) for name in ("eval", "evalsha")
    )


def test_the_checker_counts_who_is_inside():
    def lease(entered, left, ticket=0):
        lease = Lease(entered, ticket, entered)
        lease.left = left
        return lease

    assert most_at_once([lease(0, 10), lease(10, 20)]) == 1
    assert most_at_once([lease(0, 11), lease(10, 20), lease(5, 12)]) == 3
    assert inversions([lease(0, 1, 1), lease(1, 2, 2), lease(2, 3, 3)]) == 0
    assert inversions([lease(0, 1, 2), lease(1, 2, 1), lease(2, 3, 3)]) == 1


@pytest.mark.timeout(300)
def test_many_waiters_on_one_slot_in_the_order_they_came(server, name, soak):
    rounds = 50 if soak else 8
    languages = ("python", "node", "ruby", "go", "kotlin", "c")
    waiters = 40 * len(languages)
    before, began = scripts(server), time.monotonic()
    holders = [Holder(language, server, name, 1, 30_000, 0, rounds, 40) for language in languages]
    for holder in holders:
        holder.finish(240)
    leases = [lease for holder in holders for lease in holder.leases]
    assert len(leases) == waiters * rounds
    assert most_at_once(leases) == 1
    assert inversions(leases) == 0
    calls = scripts(server) - before
    print(f"{calls / len(leases):.2f} scripts per grant")
    # A grant costs three: the waiter queues, it is woken, it releases; one that comes just after a
    # release costs one more. Each of the first waiters asks once more when its process has begun to
    # listen, and on a loaded machine they look again by themselves, every five seconds at most.
    looks = waiters * (1 + (time.monotonic() - began) / 5)
    assert calls <= 4 * len(leases) + looks


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("limit", "seconds"), [("leaky/20/1", 4), ("window/25/1", 3)])
def test_a_hundred_waiters_for_a_rate_all_pass_in_the_time_it_allows(
    server, name, limit, seconds, soak
):
    languages = ("python", "asyncio", "node", "ruby", "go")
    started = time.monotonic()
    holders = [Holder(language, server, name, limit, 0, 0, 1, 20) for language in languages]
    for holder in holders:
        holder.finish(100)
    took = time.monotonic() - started
    assert sum(len(holder.leases) for holder in holders) == 100
    assert seconds <= took
    # The time that the limit allows, one interval, and what the programs take to start.
    assert not soak or took <= seconds + 1 + 6


@pytest.mark.timeout(300)
def test_sixteen_workers_of_which_one_is_killed_all_the_time(server, name, seed, soak):
    dice = random.Random(seed)
    languages = list(COMMANDS)

    def start(number):
        hold_ms = dice.randint(1, 40)
        return Holder(
            languages[number % len(languages)], server, name, LIMIT, LOCK_MS, hold_ms, 10**6, 1
        )

    holders = [start(number) for number in range(16)]
    ended = []
    while len(ended) < (200 if soak else 20) or not enough(holders + ended):
        time.sleep(0.3)
        victim = dice.randrange(16)
        assert not holders[victim].ended, f"{holders[victim].language} has died by itself"
        holders[victim].kill()
        ended.append(holders[victim])
        holders[victim] = start(victim)
    for holder in holders:
        holder.kill()
        ended.append(holder)

    leases = [lease for holder in ended for lease in holder.leases]
    assert any(lease.answer == KILLED for lease in leases)
    assert most_at_once(limited(leases, LOCK_MS)) <= LIMIT
    fences = [lease.fencing_token for lease in leases]
    assert len(set(fences)) == len(fences)

    # What the killed have left behind ends by itself, and then all of the limit is there.
    store = Paddlegate(server, timeout=10)
    limiter = store.concurrent(name, LIMIT, wait_timeout=20, lock_timeout=30)
    permits = [limiter.acquire() for _ in range(LIMIT)]
    assert not limiter.try_acquire()
    for permit in permits:
        assert permit.release() == "released"
    statistics = limiter.stats()
    assert (statistics.leases, statistics.tickets) == (0, 0)


def enough(holders):
    """Whether all languages have held leases, and many."""
    seen = {holder.language for holder in holders if holder.leases}
    return seen == set(COMMANDS) and sum(len(holder.leases) for holder in holders) > 200


@pytest.mark.timeout(120)
@pytest.mark.parametrize("language", COMMANDS)
def test_a_killed_holders_slot_is_granted_when_its_lease_ends(server, name, language, soak):
    def waited(name):
        # A lease that is held for ever, and one that waits for it.
        first = Holder(language, server, name, 1, LOCK_MS, 60_000, 1, 1)
        wait_for(lambda: first.leases)
        second = Holder(language, server, name, 1, LOCK_MS, 0, 1, 1)
        limiter = Paddlegate(server, timeout=10).concurrent(name, 1)
        wait_for(lambda: limiter.stats().tickets == 1 or second.leases)
        first.kill()
        second.finish(30)
        # A fencing token is when it was granted, by the server's clock.
        return (second.leases[0].fencing_token - first.leases[0].fencing_token) / 1000

    if not soak:
        assert waited(name) >= LOCK_MS
        return
    # A machine that stalls does not do so each time.
    assert any(LOCK_MS <= waited(f"{name}-{attempt}") <= LOCK_MS + 250 for attempt in range(3))


@pytest.mark.timeout(120)
def test_waiters_that_are_killed_or_stopped_delay_the_others_once(server, name, seed, soak):
    dice = random.Random(seed)
    limiter = Paddlegate(server, timeout=10).concurrent(name, 1, wait_timeout=60, lock_timeout=60)
    held = limiter.acquire()
    languages = list(COMMANDS)
    waiters = []
    for number in range(15):
        waiters.append(Holder(languages[number % len(languages)], server, name, 1, 60_000, 0, 1, 1))
        wait_for(lambda number=number: limiter.stats().tickets == number + 1)
    stopped = waiters[0]
    stopped.send_signal(signal.SIGSTOP)
    killed = dice.sample(waiters[1:], 4)
    for waiter in killed:
        waiter.kill()
    released_at = time.monotonic_ns()
    held.release()
    alive = [waiter for waiter in waiters[1:] if waiter not in killed]
    for waiter in alive:
        waiter.finish(60)
    # The killed are known to be gone; the stopped one has two seconds to claim.
    took = (max(waiter.leases[0].entered for waiter in alive) - released_at) / 1e9
    assert not soak or took < 2 + 3, "2 s is the promise"
    order = [waiter.leases[0].fencing_token for waiter in alive]
    # One that a stalled machine kept from its claim lapses too, and comes later.
    assert limiter.stats().lapsed > 1 or order == sorted(order)
    stopped.send_signal(signal.SIGCONT)
    stopped.finish(60)
    # One that was killed before it listened to wake-ups lapses in two seconds, for the next caller.
    limiter.acquire().release()
    assert limiter.stats().tickets == 0


def wait_for(condition):
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until, "never happened"
        time.sleep(0.01)
