# mypy: allow-untyped-calls
"""Priorities and shares in the queue."""

import asyncio
import threading

import pytest
from paddlegate import InvalidError

BAD = [
    ({"priority": 10}, "priority"),
    ({"priority": -1}, "priority"),
    ({"priority": True}, "priority"),
    ({"priority": 1.5}, "priority"),
    ({"share": ""}, "share"),
    ({"share": "x" * 129}, "share"),
    ({"share": 7}, "share"),
    ({"share": "a", "weight": 0}, "weight"),
    ({"share": "a", "weight": 1001}, "weight"),
    ({"weight": 2}, "weight"),
]


@pytest.fixture
def full(clocked, name):
    """Make a limiter of one, whose lease is held."""
    limiter = clocked.concurrent(name, 1, lock_timeout="hour")
    limiter.held = limiter.acquire()
    return limiter


def next_of(limiter, waiting):
    """Release the lease and return the job that may run now."""
    limiter.held.release()
    for job, order in waiting.items():
        decision = limiter.claim(job, **order)
        if decision:
            limiter.held = limiter.acquire(id=job)
            waiting.pop(job)
            return job
    raise AssertionError("nobody may run")


def test_a_higher_priority_comes_first(full):
    waiting = {"low": {}, "middle": {"priority": 5}, "high": {"priority": 9}}
    for job, order in waiting.items():
        full.enqueue(job, **order)
    assert [next_of(full, waiting) for _ in range(3)] == ["high", "middle", "low"]


def test_shares_take_turns(full):
    acme, globex = {"share": "acme"}, {"share": "globex"}
    waiting = {"a1": acme, "a2": acme, "a3": acme, "b1": globex, "b2": globex}
    positions = [full.enqueue(job, **order).position for job, order in waiting.items()]
    assert positions == [0, 1, 2, 1, 3]
    assert [next_of(full, waiting) for _ in range(5)] == ["a1", "b1", "a2", "b2", "a3"]


def test_a_weight_of_two_gets_twice_as_much(full):
    heavy, light = {"share": "heavy", "weight": 2}, {"share": "light"}
    waiting = {f"light-{i}": light for i in range(2)} | {f"heavy-{i}": heavy for i in range(4)}
    for job, order in waiting.items():
        full.enqueue(job, **order)
    first = [next_of(full, waiting).partition("-")[0] for _ in range(3)]
    assert sorted(first) == ["heavy", "heavy", "light"]


@pytest.mark.parametrize(("order", "argument"), BAD)
def test_a_bad_order_names_its_argument_and_takes_no_ticket(full, run, order, argument):
    limiter = full

    async def asynchronous():
        for call in (
            limiter.aacquire(**order),
            limiter.within_limit(**order).__aenter__(),
            limiter.aenqueue("job", **order),
            limiter.aclaim("job", **order),
            limiter.aadmit("job", **order),
        ):
            with pytest.raises(InvalidError) as caught:
                await call
            assert caught.value.argument == argument

    for call in (
        lambda: limiter.acquire(**order),
        lambda: limiter.acquire(id="job", **order),
        lambda: limiter.within_limit(**order).run(print),
        lambda: limiter.enqueue("job", **order),
        lambda: limiter.claim("job", **order),
        lambda: limiter.admit("job", **order),
        lambda: limiter.admit("job", "drop", **order),
    ):
        with pytest.raises(InvalidError) as caught:
            call()
        assert caught.value.argument == argument
    run(asynchronous())
    stats = limiter.stats()
    assert (stats.leases, stats.tickets, stats.refused) == (1, 0, 0)


@pytest.mark.parametrize("verb", ["acquire", "within_limit", "decorated"])
def test_waiting_threads_come_in_the_order_of_their_priorities(store, name, until, verb):
    limiter = store.concurrent(name, 1, lock_timeout=60, wait_timeout=60)
    came = []

    def note(priority):
        came.append(priority)

    def work(priority):
        if verb == "acquire":
            permit = limiter.acquire(priority=priority)
            note(priority)
            permit.release()
        elif verb == "within_limit":
            with limiter.within_limit(priority=priority, share="acme", weight=3):
                note(priority)
        else:
            limiter.within_limit(priority=priority)(note)(priority)

    held = limiter.acquire()
    threads = [threading.Thread(target=work, args=(priority,)) for priority in (0, 4, 9)]
    for i, thread in enumerate(threads):
        thread.start()
        until(lambda i=i: limiter.stats().tickets == i + 1)
    held.release()
    for thread in threads:
        thread.join()
    assert came == [9, 4, 0]


@pytest.mark.parametrize("verb", ["acquire", "within_limit"])
def test_waiting_tasks_come_in_the_order_of_their_priorities(store, name, run, until, verb):
    limiter = store.concurrent(name, 1, lock_timeout=60, wait_timeout=60)
    came = []

    async def work(priority):
        if verb == "acquire":
            permit = await limiter.aacquire(priority=priority)
            came.append(priority)
            await permit.release()
        else:
            async with limiter.within_limit(priority=priority):
                came.append(priority)

    async def main():
        held = await limiter.aacquire()
        tasks = []
        for i, priority in enumerate((0, 4, 9)):
            tasks.append(asyncio.create_task(work(priority)))
            await asyncio.to_thread(until, lambda i=i: limiter.stats().tickets == i + 1)
        await held.release()
        await asyncio.gather(*tasks)

    run(main())
    assert came == [9, 4, 0]


def test_limiters_that_decide_together_have_an_order_too(clocked, name):
    group = name[:64]
    one = clocked.concurrent(f"{name}-one", 1, lock_timeout="hour", group=group)
    other = clocked.window(f"{name}-other", 100, 60, group=group)
    both = clocked.together(one, other)
    held = both.acquire()
    for job, priority in (("low", 0), ("high", 1)):
        both.enqueue(job, priority=priority)
    held.release()
    assert both.claim("low").status == "queued"
    assert both.claim("high", priority=1).allowed
    with pytest.raises(InvalidError) as caught:
        both.admit("job", priority=10)
    assert caught.value.argument == "priority"


def test_others_pass_by_a_job_that_does_not_come(clocked, clock, name, run):
    limiter = clocked.concurrent(name, 1, lock_timeout="hour")
    held = limiter.acquire()
    assert limiter.admit("slow", "wait", claim_timeout=2).action == "wait"
    assert run(limiter.aadmit("next", "wait", claim_timeout=2)).action == "wait"
    held.release()
    assert limiter.admit("next", "wait").action == "wait"
    clock.advance(2.1)
    assert limiter.admit("next", "wait").action == "run"
    # Its place is kept meanwhile.
    assert limiter.admit("slow", "wait").decision.position == 0


@pytest.mark.parametrize("timeout", [0, -1, "soon", True])
def test_a_bad_claim_timeout_names_its_argument(full, run, timeout):
    for call in (
        lambda: full.admit("job", claim_timeout=timeout),
        lambda: run(full.aadmit("job", claim_timeout=timeout)),
        lambda: full.enqueue("job", claim_timeout=timeout),
    ):
        with pytest.raises(InvalidError) as caught:
            call()
        assert caught.value.argument == "claim_timeout"
    assert full.stats().tickets == 0


def test_a_call_that_waits_rises(clocked, clock, name):
    limiter = clocked.concurrent(name, 1, lock_timeout="hour", aging=60)
    assert limiter.aging == 60
    limiter.acquire()
    queue = {"report": {}, "mail": {"priority": 2}}
    assert [limiter.enqueue(job, **order).position for job, order in queue.items()] == [0, 0]
    clock.advance(50)
    assert [limiter.claim(job, **order).position for job, order in queue.items()] == [1, 0]
    clock.advance(10)
    assert [limiter.claim(job, **order).position for job, order in queue.items()] == [1, 0]
    clock.advance(50)
    assert limiter.claim("report").position == 1
    assert [ticket.priority for ticket in limiter.queue()] == [3, 1]
    limiter.reset()


@pytest.mark.parametrize("aging", [0, 0.5, 7 * 86400 + 1, "soon", True])
def test_the_aging_is_from_a_second_to_a_week(store, name, aging):
    with pytest.raises(InvalidError) as raised:
        store.concurrent(name, 1, aging=aging)
    assert raised.value.argument == "aging"
    assert store.concurrent(name, 1).aging is None
