# mypy: allow-untyped-calls
"""Several limiters, one decision."""

import asyncio
import contextlib
import os
import pickle
import re
import threading
from types import MappingProxyType
from typing import Any

import pytest
from paddlegate import (
    SKIPPED,
    InvalidError,
    LimiterInfo,
    OverLimit,
    Paddlegate,
    Permit,
    Points,
    UnavailableError,
    Window,
)

pg = Paddlegate("memory://")


@pytest.fixture
def org(store, name):
    return store.window(f"{name}-org", 5, "hour")


@pytest.fixture
def user(store, name):
    return store.bucket(f"{name}-user", 2, 10**8)


@pytest.fixture
def both(store, org, user):
    return store.together(org, user)


@pytest.fixture
def leases(store, name):
    """Return two limiters of one lease each, and both together."""
    a, b = (store.concurrent(f"{name}-{letter}", 1, wait_timeout=50) for letter in "ab")
    return a, b, store.together(a, b, wait_timeout=50)


@pytest.fixture
def models(store, name):
    """Return a model with two limits, a team, and both together."""
    model = store.limiter(f"{name}-model", rpm=Window(5, "hour"), tpm=Points(1000, "hour"))
    team = store.window(f"{name}-team", 9, "hour")
    return model, team, store.together(model, team)


def left(*limiters):
    return tuple(limiter.peek(0).remaining for limiter in limiters)


def in_use(*limiters):
    stats = [limiter.stats() for limiter in limiters]
    return [(it.leases, it.tickets) for it in stats]


def refused(argument, function, *arguments, **named):
    def call():
        answer = function(*arguments, **named)
        if asyncio.iscoroutine(answer):
            asyncio.run(answer)

    with pytest.raises(InvalidError) as caught:
        call()
    assert caught.value.argument == argument


# --- One decision --------------------------------------------------------------------------------


def test_all_are_charged_or_none(both, org, user):
    granted = both.try_acquire(2)
    assert (granted.allowed, granted.remaining, granted.limiter) == (True, 0, user.name)
    refusal = both.try_acquire()
    assert (refusal.allowed, refusal.reason, refusal.limiter) == (False, "bucket", user.name)
    assert left(org, user) == (3, 0)
    assert [it.stats().units for it in (org, user)] == [2, 2]


def test_a_decision_says_which_limiter_it_describes(both, org, user):
    refusals = [both.peek(2), both.try_acquire(2), both.try_acquire(1), both.peek()]
    for decision in refusals:
        assert decision.limiter == user.name
        assert f"limiter={user.name!r}" in repr(decision)
        again = pickle.loads(pickle.dumps(decision))
        assert again == decision
        assert (again.limiter, hash(again), repr(again)) == (
            decision.limiter,
            hash(decision),
            repr(decision),
        )
    alone = org.try_acquire()
    assert alone.limiter is None
    assert "limiter=" not in repr(alone)
    assert pickle.loads(pickle.dumps(alone)).limiter is None


def test_decisions_of_other_limiters_are_not_equal(name):
    store = Paddlegate("memory://")
    a, b = store.paused(f"{name}a"), store.paused(f"{name}b")
    decisions = [limiter.try_acquire() for limiter in (store.together(a), store.together(b), a)]
    assert [it.limiter for it in decisions] == [a.name, b.name, None]
    assert len(set(decisions)) == 3
    assert decisions[0] == store.together(a).try_acquire()


def test_the_exception_names_the_limiter_that_refused(both, user, run):
    both.try_acquire(2)
    with pytest.raises(OverLimit) as over:
        both.acquire(wait_timeout=0)
    assert (over.value.limiter, over.value.decision.limiter) == (user.name, user.name)
    assert str(over.value).startswith(f"over the limit: limiter={user.name!r} reason=bucket")
    assert str(pickle.loads(pickle.dumps(over.value))) == str(over.value)
    with pytest.raises(OverLimit, match=re.escape(user.name)):
        run(both.aacquire(wait_timeout=0))
    with pytest.raises(OverLimit, match=re.escape(f"limiter={user.name!r}")):
        user.acquire(wait_timeout=0)


def test_what_it_is(store, org, user, both):
    assert (both.name, repr(both)) == (
        f"{org.name} + {user.name}",
        f"<Limiter '{org.name} + {user.name}'>",
    )
    assert (both.wait_timeout, both.on_limit, both.ttl) == (5, "raise", 90 * 86400)
    assert (both.on_unavailable, both.local_share_percent, both.group) == ("raise", None, None)
    other = store.together(org, user, wait_timeout="minute", on_limit="ignore")
    assert (other.wait_timeout, other.on_limit) == (60, "ignore")
    longer = store.window("longer", 5, 60, ttl=100 * 86400, on_unavailable="fail_closed")
    assert store.together(org, longer).ttl == 100 * 86400
    assert store.together(longer).on_unavailable == "fail_closed"
    assert store.together(longer, org).on_unavailable == "raise"


def test_a_refused_body_is_skipped(store, org, user):
    both = store.together(org, user, on_limit="ignore")
    assert both.within_limit(2).run(lambda: "done") == "done"
    assert both.within_limit(wait_timeout=0).run(print, "never") is SKIPPED
    assert left(org, user) == (3, 0)


def test_limiters_without_a_state_take_part(store, org):
    free, stopped = store.unlimited(), store.paused("stopped")
    assert store.together(free, org).try_acquire().limiter == org.name
    refusal = store.together(org, free, stopped).try_acquire()
    assert (refusal.reason, refusal.limiter) == ("paused", "stopped")
    assert store.together(free).try_acquire().remaining is None
    assert left(org) == (4,)


def test_a_limiter_is_changed_by_itself(both, org, user):
    org.pause(60)
    assert (both.try_acquire().reason, both.try_acquire().limiter) == ("paused", org.name)
    org.resume()
    user.override(1)
    refusal = both.try_acquire(2)
    assert (refusal.reason, refusal.limiter) == ("too_large", user.name)
    assert left(org) == (5,)


# --- The verbs -----------------------------------------------------------------------------------


def decorated(limiter, **named):
    @limiter.within_limit(**named)
    def body(*, permit):
        return permit.decision

    return body()


def guarded(limiter, **named):
    with limiter.within_limit(**named) as permit:
        return permit.decision


def generated(limiter, **named):
    @limiter.within_limit(**named)
    def body(*, permit):
        yield permit.decision

    [decision] = body()
    return decision


async def aguarded(limiter, **named):
    async with limiter.within_limit(**named) as permit:
        return permit.decision


async def adecorated(limiter, **named):
    @limiter.within_limit(**named)
    async def body(*, permit):
        return permit.decision

    return await body()


async def agenerated(limiter, **named):
    @limiter.within_limit(**named)
    async def body(*, permit):
        yield permit.decision

    [decision] = [decision async for decision in body()]
    return decision


async def aacquired(limiter, **named):
    return (await limiter.aacquire(**named)).decision


async def aadmitted(limiter, **named):
    return (await limiter.aadmit("job", **named)).decision


VERBS: dict[str, Any] = {
    "try_acquire": lambda limiter, **named: limiter.try_acquire(**named),
    "acquire": lambda limiter, **named: limiter.acquire(**named).decision,
    "with": guarded,
    "decorator": decorated,
    "generator": generated,
    "enqueue": lambda limiter, **named: limiter.enqueue("job", **named),
    "admit": lambda limiter, **named: limiter.admit("job", **named).decision,
}
ASYNCHRONOUS: dict[str, Any] = {
    "atry_acquire": lambda limiter, **named: limiter.atry_acquire(**named),
    "aacquire": aacquired,
    "async with": aguarded,
    "decorator": adecorated,
    "generator": agenerated,
    "aenqueue": lambda limiter, **named: limiter.aenqueue("job", **named),
    "aadmit": aadmitted,
}


@pytest.mark.parametrize("argument", ["cost", "estimate"])
@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_each_verb_takes_a_cost_by_limiter(models, verb, argument):
    model, team, both = models
    decision = verb(both, **{argument: {model.name: {"tpm": 900}, team.name: 3}})
    assert (decision.allowed, decision.limiter, decision.remaining) == (True, model.name, 4)
    assert (model.peek({"tpm": 0, "rpm": 0}).limiter, left(team)) == (None, (6,))
    assert model.peek({"tpm": 100}).allowed
    assert not model.peek({"tpm": 101}).allowed


@pytest.mark.parametrize("argument", ["cost", "estimate"])
@pytest.mark.parametrize("verb", ASYNCHRONOUS.values(), ids=ASYNCHRONOUS)
def test_each_asynchronous_verb_takes_a_cost_by_limiter(models, verb, argument, run):
    model, team, both = models

    async def main():
        return await verb(both, **{argument: {model.name: {"tpm": 900}, team.name: 3}})

    decision = run(main())
    assert (decision.allowed, decision.limiter, decision.remaining) == (True, model.name, 4)
    assert left(team) == (6,)
    assert model.peek({"tpm": 100}).allowed
    assert not model.peek({"tpm": 101}).allowed


def test_a_key_is_a_limiter_or_a_label(models):
    model, team, both = models
    assert both.allow({"tpm": 100})
    assert both.allow({"tpm": 100, team.name: 2})
    assert both.allow({model.name: {"tpm": 100, "rpm": 0}, "window": 3})
    assert left(team) == (3,)
    assert model.peek({"tpm": 700, "rpm": 3}).allowed
    assert not model.peek({"tpm": 701}).allowed
    assert not both.peek({team.name: MappingProxyType({"window": 4}), "tpm": 0}).allowed
    assert both.peek({team.name: {"window": 3}, "tpm": 700}).allowed


def test_a_name_is_meant_before_a_label(store, name):
    rpm = store.window("rpm", 9, "hour")
    other = store.limiter(name, rpm=Window(9, "hour"), rph=Window(9, "hour"))
    both = store.together(rpm, other)
    rpm.reset()
    assert both.allow({"rpm": 4})
    assert both.allow({"rpm": 4, other.name: {"rph": 2}})
    assert left(rpm) == (1,)
    assert other.peek(6).allowed
    assert not other.peek({"rph": 7}).allowed
    assert other.peek({"rpm": 7}).allowed


def test_corrections_by_limiter(models, run):
    model, team, both = models
    with both.within_limit(estimate={model.name: {"tpm": 600}, team.name: 2}) as permit:
        assert permit.points_used({model.name: {"tpm": 150}, team.name: 4}) == "settled"
        assert permit.points_used({"tpm": 50}) == "already"
    assert left(team) == (5,)
    permit = both.acquire(estimate={"tpm": 100})
    assert both.correct(permit.id, {"tpm": 350}) == "settled"
    assert model.peek({"tpm": 500}).allowed
    assert not model.peek({"tpm": 501}).allowed

    async def main():
        async with both.within_limit(estimate={"tpm": 100}) as permit:
            permit.points_used({model.name: {"tpm": 200}})
        permit = await both.aacquire(estimate={"tpm": 100})
        assert await both.acorrect(permit, {model.name: {"tpm": 50}, team.name: 0}) == "settled"

    run(main())
    assert model.peek({"tpm": 250}).allowed
    assert not model.peek({"tpm": 251}).allowed


def test_a_debit_by_limiter(models, run):
    model, team, both = models
    assert both.debit({model.name: {"tpm": 1500, "rpm": 0}, team.name: 2}).limiter == model.name
    assert left(team) == (7,)
    assert not model.peek({"tpm": 1}).allowed
    assert run(both.adebit({"tpm": 0, team.name: 3})).allowed
    assert left(team) == (4,)


NAMED: list[Any] = [-1, 1.5, True, None, "1", b"1", 2**64, 10**12 + 1, {"tpm": {"tpm": 1}}, [1]]
BAD: list[Any] = [{"model": bad} for bad in NAMED]
BAD += [{"model": {bad: 1}} for bad in ("tokens", 5, None, b"tpm", "\ud800", "team")]
BAD += [{"model": {"tpm": bad}} for bad in (-1, 1.5, True, None, "1", 2**64, 10**12 + 1)]
BAD += [{"model": {"tpm": 1}, bad: 1} for bad in ("tokens", 5, None, "")]
BAD += [{"nobody": {"tpm": 1}}, {5: {"tpm": 1}}, {"team": {"tpm": 1}}, {"model": {"rpm": 1}}]
BAD += [[("model", 1)], "model", {"model"}]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: repr(bad)[:40])
def test_costs_by_limiter_are_checked(name, bad, run):
    store = Paddlegate("memory://")
    model = store.limiter("model", rpm=Window(5, "hour"), tpm=Points(1000, "hour"))
    both = store.together(model, store.window("team", 9, "hour"))
    permit = both.acquire(estimate={"tpm": 5})
    for verb in "try_acquire", "atry_acquire", "peek", "acquire", "aacquire":
        refused("cost", getattr(both, verb), cost=bad)
        refused("estimate", getattr(both, verb), estimate=bad)
    for verb in "enqueue", "claim", "admit", "aadmit":
        refused("cost", getattr(both, verb), "job", cost=bad)
    for verb in "debit", "adebit":
        refused("cost", getattr(both, verb), bad)
    refused("actual", permit.points_used, bad)
    refused("actual", both.acorrect, permit, bad)
    assert model.stats().units == 5
    assert permit.points_used({"tpm": 4}) == "settled"


def test_the_message_names_the_label_and_the_value(models):
    model, _, both = models
    with pytest.raises(InvalidError, match="label=tpm cost=-1"):
        both.try_acquire({model.name: {"tpm": -1}})
    with pytest.raises(InvalidError, match="only one decides"):
        model.try_acquire({model.name: {"tpm": 1}})


def test_jobs(leases):
    a, b, both = leases
    job = both.admit("first")
    assert (job.action, in_use(a, b)) == ("run", [(1, 0)] * 2)
    assert both.admit("first").permit == job.permit, "a repeated call takes no second lease"
    waits = both.admit("second")
    assert (waits.action, waits.decision.limiter, waits.decision.position) == ("wait", a.name, 0)
    assert both.admit("third", "drop").action == "drop"
    assert both.release(job.permit) == "released"
    assert both.claim("second").status == "granted"
    assert both.claim("third").status == "no_ticket"
    assert (both.cancel("second"), both.cancel("second")) == ("cancelled", "unknown")
    assert in_use(a, b) == [(0, 0)] * 2


def test_several_jobs(both, org, user, run):
    assert [job.action for job in both.admit_all(["1", "2", "3"], "drop")] == ["drop"] * 3
    assert left(org, user) == (5, 2)
    jobs = run(both.aadmit_all(["4", "5"], "drop"))
    assert [job.action for job in jobs] == ["run"] * 2
    assert left(org, user) == (3, 0)
    assert [it.action for it in both.admit_all(["6"], "wait", partial=True)] == ["wait"]
    assert both.cancel("6") == "cancelled"


def test_a_lease_of_all(leases, run):
    a, b, both = leases
    refused("allow", both.allow)
    with both.within_limit() as permit:
        assert 29 < permit.expires_in <= 30
        assert permit.fencing_token is not None
        assert permit.renew()
        assert in_use(a, b) == [(1, 0)] * 2
        assert both.try_acquire().limiter in {a.name, b.name}
    assert (permit.lost, permit.release(), both.release(permit.id)) == (
        False,
        "released",
        "unknown",
    )
    assert in_use(a, b) == [(0, 0)] * 2

    async def main():
        decision = await both.atry_acquire()
        assert await both.arenew(decision) == 30
        assert await both.arelease(decision.permit) == "released"
        async with both.within_limit() as permit:
            assert in_use(a, b) == [(1, 0)] * 2
            assert await permit.renew()
        assert not permit.lost

    run(main())
    assert in_use(a, b) == [(0, 0)] * 2


def test_what_is_of_one_limiter(both):
    alike = "history", "reset", "runtime_state", "resume"
    verbs = {"stats": "statistics", **{it: it for it in alike}}
    for verb, argument in {**verbs, "restore": "restore"}.items():
        refused(argument, getattr(both, verb))
        refused(argument, getattr(both, f"a{verb}"))
    for verb, argument in {
        "pause": "pause",
        "override": "override",
        "report_budget": "learn",
    }.items():
        refused(argument, getattr(both, verb), 5)
        refused(argument, getattr(both, f"a{verb}"), 5)
    for verb in both.override, both.aoverride:
        refused("override", verb, 5, label="bucket")
        refused("override", verb, limits={"bucket": (5, 60)})
    for verb in both.learn_from_response, both.alearn_from_response:
        refused("learn", verb, {"Retry-After": "30"}, status=429)
    refused("runtime_state", both.apply_ojs_override, {"concurrency": 5})
    refused("pause", both.apply_ojs_signal, {"type": "rate_limited", "retry_after": 30})


# --- Waiting -------------------------------------------------------------------------------------


@pytest.fixture
def start():
    """Run a function in a thread, and join it in the end."""
    threads = []

    def start(function):
        threads.append(threading.Thread(target=function))
        threads[-1].start()

    yield start
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("last", ["a", "b"])
def test_a_thread_waits_for_both(leases, start, until, last):
    a, b, both = leases
    holders = {"a": a.acquire(), "b": b.acquire()}
    entered: list[Permit] = []
    start(lambda: entered.append(both.acquire()))
    until(lambda: a.stats().tickets)
    holders.pop("ab".replace(last, "")).release()
    # Where it has its turn it keeps its place, and stops nobody.
    until(lambda: b.stats().tickets or last == "a")
    assert not entered
    holders.pop(last).release()
    until(lambda: entered)
    assert in_use(a, b) == [(1, 0)] * 2
    assert entered[0].decision.ticket is not None
    assert entered[0].release() == "released"


@pytest.mark.parametrize("last", ["a", "b"])
def test_a_task_waits_for_both(leases, run, last):
    a, b, both = leases

    async def main():
        async def tickets(limiter):
            while not (await limiter.astats()).tickets:  # noqa: ASYNC110 - a task changes it
                await asyncio.sleep(0.01)

        holders = {"a": await a.aacquire(), "b": await b.aacquire()}
        waiting = asyncio.create_task(both.aacquire())
        await tickets(a)
        await holders.pop("ab".replace(last, "")).release()
        if last == "b":
            await tickets(b)
        assert not waiting.done()
        await holders.pop(last).release()
        permit = await waiting
        assert in_use(a, b) == [(1, 0)] * 2
        assert await permit.release() == "released"

    run(main())
    assert in_use(a, b) == [(0, 0)] * 2


def test_threads_share_both(leases, start, until):
    a, b, both = leases
    inside, done = {a: 0, b: 0}, []

    def work(limiter, holds):
        for _ in range(20):
            with limiter.within_limit():
                for held in holds:
                    inside[held] += 1
                assert [inside[held] for held in holds] == [1] * len(holds)
                for held in holds:
                    inside[held] -= 1
        done.append(limiter)

    for limiter, holds in (a, [a]), (b, [b]), (both, [a, b]), (both, [a, b]):
        start(lambda limiter=limiter, holds=holds: work(limiter, holds))
    until(lambda: len(done) == 4)
    assert in_use(a, b) == [(0, 0)] * 2


def test_a_wait_that_ends_leaves_nothing_behind(leases, run):
    a, b, both = leases
    holder = b.acquire()
    with pytest.raises(OverLimit, match=re.escape(b.name)):
        both.acquire(wait_timeout=0.05)

    async def main():
        waiting = asyncio.create_task(both.aacquire())
        while not (await b.astats()).tickets:  # noqa: ASYNC110 - a task changes it
            await asyncio.sleep(0.01)
        waiting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await waiting
        deciding = asyncio.create_task(both.atry_acquire())
        await asyncio.sleep(0)
        deciding.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await deciding
        while (await b.astats()).tickets:  # noqa: ASYNC110 - it leaves behind
            await asyncio.sleep(0.01)

    run(main())
    assert in_use(a, b) == [(0, 0), (1, 0)]
    holder.release()


def test_a_cancelled_task_returns_the_leases(redis, name, run):
    a, b = (redis.concurrent(f"{name}-{letter}", 1) for letter in "ab")
    both = redis.together(a, b)

    async def main():
        await both.apeek()
        for _ in range(5):
            for verb in both.atry_acquire, both.aacquire:
                task = asyncio.create_task(verb())
                await asyncio.sleep(0)
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
        # The cancellations are under way until then.
        for limiter in a, b:
            while (await limiter.astats()).leases:  # noqa: ASYNC110 - it leaves behind
                await asyncio.sleep(0.01)

    run(main())
    assert in_use(a, b) == [(0, 0)] * 2


# --- Making one ----------------------------------------------------------------------------------


def test_the_limiters_are_checked(store, org, user, both, name):
    for bad in [(), (org, org), (org, store.window(org.name, 5, 60)), (both, user), (both,)]:
        refused("limiters", store.together, *bad)
    others = [store.window(f"{name}{i}", 1, 60) for i in range(5)]
    refused("limiters", store.together, *others)
    assert store.together(*others[:4]).allow()
    refused("limiters", store.together, org, pg.window("elsewhere", 1, 60))
    for wrong in [None, "user", 5, [org, user], store, {"user": user}]:
        with pytest.raises(InvalidError, match="must be limiters: limiters=") as caught:
            store.together(org, wrong)
        assert caught.value.argument == "limiters"
    refused("wait_timeout", store.together, org, wait_timeout=-1)
    refused("on_limit", store.together, org, on_limit="wait")
    with pytest.raises(TypeError):
        store.together(org, ttl=60)


def test_a_group_is_an_option_of_every_limiter(store, name):
    made = [
        store.concurrent(name, 5, group="acme"),
        store.bucket(name, 5, 60, group="acme"),
        store.window(name, 5, 60, group="acme"),
        store.leaky(name, 5, 60, group="acme"),
        store.points(name, 5, 60, group="acme"),
        store.throttle(name, 60, group="acme"),
        store.unlimited(name, group="acme"),
        store.paused(name, group="acme"),
        store.limiter(name, rpm=Window(5, 60), group="acme"),
        store.conductor_limiter(
            {"name": "a", "rateLimitConfig": {"rateLimitKey": "a", "concurrentExecLimit": 3}},
            {},
            group="acme",
        ),
    ]
    assert {limiter.group for limiter in made} == {"acme"}
    assert store.window(name, 5, 60).group is store.window(name, 5, 60, group=None).group is None
    assert store.together(made[2], made[-1]).group == "acme"
    label: Any = {"group": Window(5, 60)}
    assert store.limiter(name, label).try_acquire().label == "group"


def test_a_group_is_checked(store, name, org):
    for bad in ["", "x" * 513, 5, b"acme", "\ud800"]:
        refused("group", store.window, name, 5, 60, group=bad)
    acme = store.window(name, 5, 60, group="acme")
    refused("group", store.together, acme, org)
    refused("group", store.together, acme, store.window("other", 5, 60, group="other"))


def test_a_document_gives_groups(store, name):
    window = {"limit": 5, "per": "hour"}
    groups = {f"{name}a": "acme", f"{name}b": "acme", f"{name}c": None}
    limits = {
        name: {"window": window} | ({"group": group} if group else {})
        for name, group in groups.items()
    }
    a, b, alone = store.limiters_from_document({"limiters": limits}).values()
    assert [limiter.group for limiter in (a, b, alone)] == ["acme", "acme", None]
    assert store.together(a, b).allow()
    assert store.window(a.name, 5, "hour", group="acme").peek().remaining == 4
    refused("group", store.together, a, alone)


def test_the_list_shows_the_group(server, run):
    # With a server of its own: the test clocks of others end entries of the list.
    pg = Paddlegate(server.url, timeout=20)
    alone, grouped = pg.window("a", 5, 60), pg.window("b", 5, 60, group="acme")
    assert pg.window("b", 5, 60).allow(5)
    assert alone.allow()
    assert grouped.allow(5), "the state of a group is its own"
    for listed in pg.limiters(), run(pg.alimiters()):
        groups = {(it.name, it.group) for it in listed}
        assert groups == {("a", None), ("b", None), ("b", "acme")}
        assert len(listed) == 3
    assert LimiterInfo("a", (), None, 60).group is None


def test_in_memory_too_the_state_of_a_group_is_its_own(name):
    store = Paddlegate("memory://")
    assert store.window(name, 5, 60, group="acme").allow(5)
    assert store.window(name, 5, 60).allow(5)
    assert [(it.name, it.group) for it in store.limiters()] == [(name, None), (name, "acme")]


def test_a_cluster_needs_a_group(name, run, until, start):
    store = Paddlegate(os.environ["PADDLEGATE_TEST_CLUSTER_URL"], timeout=20)
    made = [store.concurrent(f"{name}{i}", 1) for i in range(4)]
    together = store.together(*made)
    for verb in together.try_acquire, together.aacquire, together.peek:
        refused("group", verb)
    grouped = [store.concurrent(f"{name}{i}", 1, group=f"{name} {{a}}") for i in range(4)]
    together = store.together(*grouped, wait_timeout=50)
    holder = grouped[2].acquire()
    entered: list[Permit] = []
    start(lambda: entered.append(together.acquire()))
    until(lambda: grouped[2].stats().tickets)
    holder.release()
    until(lambda: entered)
    assert in_use(*grouped) == [(1, 0)] * 4
    assert run(together.arelease(entered[0])) == "released"
    assert in_use(*grouped) == [(0, 0)] * 4


# --- Without the store ---------------------------------------------------------------------------


def test_while_the_store_cannot_decide(name, run):
    store = Paddlegate("redis://127.0.0.1:1", timeout=0.5)

    def together(*modes):
        made = [store.window(f"{name}{i}", 5, 60, on_unavailable=it) for i, it in enumerate(modes)]
        return store.together(*made)

    fallen = together("fail_open", "fail_open").try_acquire()
    assert (fallen.allowed, fallen.degraded) == (True, True)
    for modes in [("fail_open", "local"), ("local",), ("fail_closed", "fail_open")]:
        limiter = together(*modes)
        assert limiter.on_unavailable == "fail_closed"
        for refusal in limiter.try_acquire(), run(limiter.atry_acquire()):
            assert (refusal.allowed, refusal.reason) == (False, "unavailable")
        with pytest.raises(OverLimit, match="reason=unavailable"):
            limiter.acquire()
    with pytest.raises(UnavailableError):
        together("raise", "fail_open").try_acquire()


def test_of_a_closed_store(url, name):
    store = Paddlegate(url, timeout=20)
    both = store.together(store.window(f"{name}a", 5, 60), store.window(f"{name}b", 5, 60))
    assert both.allow()
    store.close()
    for verb in both.try_acquire, both.acquire, both.aacquire:
        refused("store", verb)
