# mypy: allow-untyped-calls
"""Limiters with a state for each key, and limiters without statistics."""

import asyncio
import contextlib
import gc
import inspect
import os
import threading
import weakref
from typing import Any

import pytest
from paddlegate import (
    SKIPPED,
    Concurrency,
    InvalidError,
    Limiter,
    LimiterInfo,
    OverLimit,
    Paddlegate,
    Permit,
    Points,
    UnavailableError,
    Window,
)

CLUSTER = "PADDLEGATE_TEST_CLUSTER_URL"


@pytest.fixture
def user(store, name):
    """Return a keyed limiter whose calls all verbs can make."""
    limits = {"rpm": Window(5, "hour"), "busy": Concurrency(3, lock_timeout=50)}
    return store.limiter(name, limits, keyed=True, wait_timeout=0)


@pytest.fixture
def points(store, name):
    return store.points(name, 100, "hour", keyed=True)


def done(answer):
    """Return the answer of a verb, which an asynchronous one gives on a loop of its own."""
    return asyncio.run(answer) if asyncio.iscoroutine(answer) else answer


def refused(argument, function, *arguments, **named):
    with pytest.raises(InvalidError) as caught:
        done(function(*arguments, **named))
    assert caught.value.argument == argument


# --- Options -------------------------------------------------------------------------------------


def test_keyed_is_an_option_of_every_limiter(store, name):
    def made(**options):
        return [
            store.concurrent(name, 5, **options),
            store.bucket(name, 5, 60, **options),
            store.window(name, 5, 60, **options),
            store.leaky(name, 5, 60, **options),
            store.points(name, 5, 60, **options),
            store.throttle(name, 60, **options),
            store.unlimited(name, **options),
            store.paused(name, **options),
            store.limiter(name, rpm=Window(5, 60), **options),
            store.conductor_limiter(
                {"name": "a", "rateLimitConfig": {"rateLimitKey": "a", "concurrentExecLimit": 3}},
                {},
                **options,
            ),
        ]

    keyed: list[dict[str, Any]] = [{"keyed": True}]
    keyed += [{"keyed": True, "statistics": False, "group": "acme"}]
    for options in keyed:
        for limiter in made(**options):
            assert limiter.keyed is True
            assert limiter.key is None
            assert limiter.group == options.get("group")
            assert limiter.with_key("alice").group == options.get("group")
            refused("key", limiter.peek)
            assert limiter.peek(key="alice").at_us >= 0
    plain: list[dict[str, Any]] = [{}, {"keyed": False}, {"keyed": None, "statistics": None}]
    for options in [*plain, {"statistics": True}]:
        for limiter in made(**options):
            assert (limiter.keyed, limiter.key) == (False, None)
            refused("key", limiter.peek, key="alice")
            assert limiter.stats().granted == 0
    for limiter in made(statistics=False):
        assert (limiter.keyed, limiter.key) == (False, None)
        assert limiter.peek(cost=0).at_us >= 0
        refused("statistics", limiter.stats)
        refused("statistics", limiter.astats)


def test_words_of_options_are_labels_too(store, name):
    for word in "keyed", "statistics", "key":
        label: Any = {word: Window(5, 60)}
        assert store.limiter(name, label).peek().label == word
    assert store.limiter(name, key=Window(5, 60)).peek().label == "key"
    refused("keyed", store.limiter, name, keyed=Window(5, 60))


@pytest.mark.parametrize("bad", [0, 1, "", "yes", "true", b"", 1.0, [], {}, object()])
def test_flags_are_true_or_false(store, name, bad):
    for make in store.window, store.bucket:
        refused("keyed", make, name, 5, 60, keyed=bad)
        refused("statistics", make, name, 5, 60, statistics=bad)
    with pytest.raises(InvalidError, match="must be True or False: keyed="):
        store.unlimited(keyed=bad)
    assert store.window(name, 5, 60).peek().remaining == 5


def test_documents_have_keyed_limiters(store, name):
    document = {
        "limiters": {
            name: {
                "concurrency": {"limit": 1},
                "keyed": True,
                "statistics": False,
                "wait_timeout": "2s",
                "on_limit": "drop",
            }
        }
    }
    limiter = store.limiters_from_document(document)[name]
    alice = limiter.with_key("alice")
    for it in limiter, alice:
        assert (it.keyed, it.wait_timeout, it.on_limit) == (True, 2, "drop")
        refused("statistics" if it is limiter else "key", it.stats)
    assert [it.action for it in (alice.admit("1"), alice.admit("2"))] == ["run", "drop"]
    assert [limiter.admit(it, key="bob").action for it in "12"] == ["run", "drop"]


# --- One key -------------------------------------------------------------------------------------


def test_with_key_is_the_same_limiter_with_a_key(name):
    pg = Paddlegate("redis://127.0.0.1:1")
    limiter = pg.window(
        name,
        5,
        60,
        keyed=True,
        wait_timeout=7,
        on_limit="ignore",
        ttl=100,
        group="acme",
        on_unavailable="local",
        local_share_percent=40,
    )
    alice = limiter.with_key("alice")
    assert type(alice) is type(limiter) is Limiter
    attributes = ["name", "keyed", "wait_timeout", "on_limit", "ttl", "group", "on_unavailable"]
    for attribute in [*attributes, "local_share_percent"]:
        assert getattr(alice, attribute) == getattr(limiter, attribute), attribute
    assert (alice.wait_timeout, alice.on_limit, alice.local_share_percent) == (7, "ignore", 40)
    assert (limiter.key, alice.key, alice.with_key("bob").key) == (None, "alice", "bob")
    assert (repr(limiter), repr(alice)) == (
        f"<Limiter {name!r}>",
        f"<Limiter {name!r} key='alice'>",
    )
    with pytest.raises(AttributeError):
        alice.key = "bob"  # type: ignore[misc]


def test_each_key_has_a_state_of_its_own(store, name):
    limiter = store.window(name, 2, "hour", keyed=True)
    assert [limiter.allow(key="alice") for _ in range(3)] == [True, True, False]
    assert limiter.allow(key="bob")
    alice = limiter.with_key("alice")
    assert [it.peek().remaining for it in (alice, limiter.with_key("bob"))] == [0, 1]
    assert alice.allow(key="bob"), "the key of the call"
    assert limiter.peek(key="bob").remaining == 0
    plain = store.window(name, 2, "hour")
    assert plain.allow(2), "a limiter without keys has nothing in common with them"
    assert store.window(name, 2, "hour", keyed=True).peek(key="bob").remaining == 0


def test_later_calls_of_a_key_decide_as_those_of_a_limiter_without_keys_and_count_once(store, name):
    limiter, plain = store.bucket(name, 3, "day", keyed=True), store.bucket(name, 3, "day")
    fields = ["allowed", "limit", "remaining", "label", "reason", "permit", "status"]
    for _ in range(2):
        seen, expected = limiter.try_acquire(key="alice"), plain.try_acquire()
        for field in fields:
            assert getattr(seen, field) == getattr(expected, field), field
        assert limiter.allow(key="alice") == plain.allow()
    assert not limiter.try_acquire(key="alice")
    assert limiter.allow(key="bob")
    assert limiter.try_acquire(2, key="bob").remaining == 0, "the cost of the call"
    assert not limiter.allow(2, key="bob")
    stats = limiter.stats()
    assert (stats.granted, stats.refused, stats.units) == (5, 3, 6)


GOOD = ["a", "\0", " ", "a:b", "{tag}", "\n", "é", "\U0001f600", "x" * 512, "é" * 256]


@pytest.mark.parametrize("good", GOOD, ids=lambda good: repr(good)[:10])
def test_keys_that_work(store, name, good):
    limiter = store.window(name, 2, "hour", keyed=True)
    assert limiter.allow(key=good)
    assert (limiter.with_key(good).key, limiter.peek(key=good).remaining) == (good, 1)
    assert limiter.peek(key=f"{good[1:]}z").remaining == 2


BAD: list[Any] = ["", "x" * 513, "é" * 257, "\ud800", 5, 5.0, True, b"alice", ["alice"], object()]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: repr(bad)[:10])
def test_keys_are_text_of_some_bytes(user, bad):
    refused("key", user.with_key, bad)
    for verb, arguments in {**VERBS, **LEASED}.items():
        named: dict[str, Any] = {**LABELLED.get(verb, {}), "key": bad}
        refused("key", getattr(user, verb), *arguments, **named)
        refused("key", getattr(user, f"a{verb}"), *arguments, **named)
    refused("key", user.within_limit, key=bad)
    assert user.stats().granted == 0


def test_the_message_shows_the_value(points):
    with pytest.raises(InvalidError, match="must be text: key=5"):
        points.allow(1, key=5)
    with pytest.raises(InvalidError, match=r"leave it out or create the limiter keyed: name=other"):
        Paddlegate("memory://").window("other", 1, 1).allow(key="alice")
    refused("key", points.with_key, None)


# --- The verbs -----------------------------------------------------------------------------------

# All verbs but those for a body, each with arguments that it takes.
VERBS: dict[str, tuple[Any, ...]] = {
    "try_acquire": (),
    "acquire": (),
    "peek": (),
    "debit": (1,),
    "refund": (1,),
    "enqueue": ("job",),
    "claim": ("job",),
    "cancel": ("job",),
    "ready": (),
    "inspect": (0, 0),
    "queue": (),
    "admit": ("job",),
    "admit_all": (["job"],),
    "pause": (50,),
    "block": (50,),
    "resume": (),
    "override": (2, "hour"),
    "restore": (),
    "runtime_state": (),
    "report_budget": (1,),
    "learn_from_response": ({"Retry-After": "30"},),
    "apply_ojs_override": ({"throttle": {"limit": 2, "period": "PT1H"}},),
    "apply_ojs_signal": ({"type": "rate_limited", "retry_after": 30},),
    "correct": ("permit", 1),
    "extend": ("permit", 1),
    "reset": (),
}
# What needs a limiter of another kind, or a lease.
LEASED: dict[str, tuple[Any, ...]] = {"release": ("permit",), "renew": ("permit",)}
LABELLED = {verb: {"label": "rpm"} for verb in ("override", "report_budget")}
WITHOUT_KEY = {"stats", "astats", "history", "ahistory", "with_key"}


def test_every_verb_takes_a_key():
    for verb, function in inspect.getmembers(Limiter, inspect.isroutine):
        if verb.startswith("_") or verb in WITHOUT_KEY:
            continue
        key = inspect.signature(function).parameters["key"]
        assert (key.kind, key.default) == (key.KEYWORD_ONLY, None), verb
        known = {*VERBS, *LEASED, "allow", "within_limit", "turns"}
        assert verb in known or verb[1:] in known, f"{verb} is not tested"


def snapshot(limiter):
    state = limiter.runtime_state()
    return limiter.peek(0), state.version, state.paused_for is None, state.overrides


@pytest.mark.parametrize("prefix", ["", "a"], ids=["blocking", "asynchronous"])
@pytest.mark.parametrize("verb", [*VERBS, *LEASED])
def test_a_verb_with_a_key_is_that_of_the_limiter_with_the_key(clocked, name, verb, prefix):
    """It changes the state of the key as the other does, and no other state."""

    def user(what):
        limits = {"rpm": Window(5, "hour"), "busy": Concurrency(3, lock_timeout=50)}
        return clocked.limiter(f"{name}{what}", limits, keyed=True, wait_timeout=0)

    def prepare(limiter):
        limiter.override(4, "hour", label="rpm")
        limiter.pause(10)
        if verb != "resume":
            limiter.resume()
        if verb in {"claim", "cancel"}:
            for i in range(3):
                limiter.acquire(0 if verb == "claim" else 1, id=f"holder {i}")
            limiter.enqueue("job")
        return limiter.try_acquire(estimate=2, id="permit").permit

    named = LABELLED.get(verb, {})
    answers, states = [], []
    for what in "option", "with_key":
        limiter = user(what)
        alice, bob = limiter.with_key("alice"), limiter.with_key("bob")
        permit, _ = prepare(alice), prepare(bob)
        before = [snapshot(it) for it in (alice, bob)]
        arguments = [permit if it == "permit" else it for it in {**VERBS, **LEASED}[verb]]
        if what == "option":
            answer = done(getattr(limiter, prefix + verb)(*arguments, **named, key="alice"))
        else:
            answer = done(getattr(alice, prefix + verb)(*arguments, **named))
        after = [snapshot(it) for it in (alice, bob)]
        assert after[1] == before[1], "the state of another key"
        answers.append(comparable(answer))
        states.append((before[0], after[0], after[0] == before[0]))
    assert answers[0] == answers[1]
    assert states[0] == states[1]


def comparable(answer):
    """Return an answer without ids and tokens, which are of one call."""
    if isinstance(answer, list):
        return [comparable(it) for it in answer]
    decision = getattr(answer, "decision", answer)
    if not hasattr(decision, "remaining"):
        return answer
    fields = ["status", "remaining", "limit", "retry_after", "reset_after", "position", "lease"]
    return [getattr(decision, field) for field in fields]


@pytest.mark.parametrize("prefix", ["", "a"], ids=["blocking", "asynchronous"])
def test_a_verb_without_its_key_is_refused(store, user, name, prefix):
    plain = store.limiter(f"{name}2", rpm=Window(5, "hour"), busy=Concurrency(3))
    for verb, arguments in {**VERBS, **LEASED}.items():
        named = LABELLED.get(verb, {})
        refused("key", getattr(user, prefix + verb), *arguments, **named)
        refused("key", getattr(plain, prefix + verb), *arguments, **named, key="alice")
    assert user.stats().granted == plain.stats().granted == 0
    assert plain.peek().remaining == 3
    assert not plain.runtime_state().overrides
    window = store.window(f"{name}3", 5, "hour")
    refused("key", getattr(window, f"{prefix}allow"), key="alice")
    keyed = store.window(f"{name}3", 5, "hour", keyed=True)
    refused("key", getattr(keyed, f"{prefix}allow"))
    assert done(getattr(keyed, f"{prefix}allow")(5, key="alice")) is True
    assert done(getattr(keyed, f"{prefix}allow")(key="alice")) is False
    assert window.peek().remaining == 5
    for argument in {"key": None}, {"key": "alice"}:
        refused("allow", getattr(user, f"{prefix}allow"), **argument)


def test_a_key_is_a_keyword(user, points):
    allow: Any = points.allow
    for verb in allow, user.try_acquire, user.peek:
        with pytest.raises(TypeError):
            verb(None, None, None, "alice")


def test_several_jobs_of_a_key(user, run):
    for admit in user.admit_all, lambda *these, **named: run(user.aadmit_all(*these, **named)):
        jobs = admit(["1", "2", "3"], "drop", key="alice")
        assert [it.action for it in jobs] == ["run"] * 3
        assert [it.action for it in admit(["4"], "drop", key="alice")] == ["drop"]
        assert [it.action for it in admit(["4"], "wait", partial=True, key="alice")] == ["wait"]
        assert user.cancel("4", key="alice") == "cancelled"
        assert user.peek(key="bob").remaining == 3
        assert [user.release(it.permit, key="bob") for it in jobs] == ["unknown"] * 3
        assert [user.release(it.permit, key="alice") for it in jobs] == ["released"] * 3
        user.reset(key="alice")


# --- Permits and bodies --------------------------------------------------------------------------


def guarded(limiter, **named):
    with limiter.within_limit(**named) as permit:
        return permit


def decorated(limiter, **named):
    @limiter.within_limit(**named)
    def body(*, permit):
        return permit

    return body()


def generated(limiter, **named):
    @limiter.within_limit(**named)
    def body(*, permit):
        yield permit

    [permit] = body()
    return permit


def given(limiter, **named):
    def body(*, permit):
        return permit

    return limiter.within_limit(**named).run(body)


async def aguarded(limiter, **named):
    async with limiter.within_limit(**named) as permit:
        return permit


async def adecorated(limiter, **named):
    @limiter.within_limit(**named)
    async def body(*, permit):
        return permit

    return await body()


async def agenerated(limiter, **named):
    @limiter.within_limit(**named)
    async def body(*, permit):
        yield permit

    [permit] = [permit async for permit in body()]
    return permit


BODIES: dict[str, Any] = {
    "with": guarded,
    "decorator": decorated,
    "generator": generated,
    "run": given,
    "async with": aguarded,
    "async decorator": adecorated,
    "async generator": agenerated,
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_bodies_of_a_key(user, points, body):
    refused("key", body, user)
    permit = done(body(user, key="alice"))
    assert permit._limiter.key == "alice"
    assert permit.decision.allowed
    assert not permit.lost
    assert user.peek({"rpm": 4}, key="alice").allowed, "its lease has ended, its unit is taken"
    assert not user.peek({"rpm": 5}, key="alice").allowed
    for _ in range(4):
        done(body(user.with_key("alice")))
    with pytest.raises(OverLimit) as over:
        done(body(user, key="alice", wait_timeout=0))
    assert over.value.limiter == user.name
    assert done(body(user, key="bob")).decision.allowed
    assert done(body(points, estimate=30, key="carol")).decision.remaining == 70


def test_a_body_that_is_skipped(store, name):
    limiter = store.window(name, 1, "hour", keyed=True, on_limit="ignore")
    runs = [limiter.within_limit(wait_timeout=0, key=key).run(str, 5) for key in ("a", "a", "b")]
    assert runs == ["5", SKIPPED, "5"]


def test_one_guard_is_of_one_key(user):
    guard = user.within_limit(key="alice")
    with guard as one, guard as two, guard:
        assert {one.id, two.id} != {one.id}
        assert user.peek(key="alice").remaining == 0
        assert user.peek(key="bob").remaining == 3
    assert user.peek(key="alice").remaining == 2, "three of five an hour are gone"


def test_a_permit_keeps_its_key(store, name):
    user = store.limiter(name, busy=Concurrency(1), tpm=Points(100, "hour"), keyed=True)
    other = user.acquire(estimate=10, key="bob")
    with user.within_limit(estimate=60, key="alice") as permit:
        assert repr(permit).startswith(f"<Permit of {name!r}")
        assert permit.points_used(20) == "settled"
        assert permit.renew()
    assert (permit.release(), permit.lost) == ("released", False)
    assert user.peek({"tpm": 80}, key="alice").allowed
    assert not user.peek({"tpm": 81}, key="alice").allowed
    permit = user.acquire(estimate=60, key="alice")
    assert user.correct(permit, 5, key="bob") == "unknown"
    assert user.release(permit, key="bob") == "unknown"
    assert user.renew(permit, key="bob") is None
    assert user.correct(permit, 5, key="alice") == "settled"
    assert user.renew(permit.decision, key="alice") == 30
    assert user.release(permit.id, key="alice") == "released"
    refused("key", user.release, other)
    assert other.correct(1) == "settled"
    assert other.release() == "released"


def test_a_permit_of_a_task_keeps_its_key(store, name, run):
    user = store.limiter(name, busy=Concurrency(1), tpm=Points(100, "hour"), keyed=True)

    async def main():
        async with user.within_limit(estimate=60, key="alice") as permit:
            permit.points_used(20)
            assert await permit.renew()
        assert (await permit.release(), permit.lost) == ("released", False)
        permit = await user.aacquire(estimate=60, key="alice")
        assert await user.acorrect(permit, 5, key="bob") == "unknown"
        assert await user.arelease(permit, key="bob") == "unknown"
        assert await user.arenew(permit, key="bob") is None
        assert await permit.correct(5) == "settled"
        assert await user.arenew(permit, key="alice") == 30
        assert await permit.arelease() == "released"

    run(main())
    assert user.peek({"tpm": 75}, key="alice").allowed
    assert not user.peek({"tpm": 76}, key="alice").allowed
    assert user.peek({"tpm": 100}, key="bob").allowed


def test_a_response_is_learned_under_its_key(store, name, run):
    shop = store.points(name, 1000, 20, keyed=True)
    cost = {"requestedQueryCost": 500, "actualQueryCost": 12}
    answer = {"extensions": {"cost": cost}}

    async def main():
        async with shop.within_limit(estimate=500, key="bob") as permit:
            assert (await permit.learn_from_response({}, answer)).settlement == "settled"
        permit = await shop.aacquire(estimate=500, key="bob")
        learned = await shop.alearn_from_response({}, answer, permit=permit, key="bob")
        assert learned.settlement == "settled"

    with shop.within_limit(estimate=500, key="alice") as permit:
        assert permit.learn_from_response({}, answer).settlement == "settled"
    permit = shop.acquire(estimate=500, key="alice")
    assert shop.learn_from_response({}, answer, permit=permit, key="bob").settlement == "unknown"
    learned = shop.learn_from_response({}, answer, permit=permit, key="alice")
    assert learned.settlement == "settled"
    run(main())
    assert shop.stats().corrections == 4


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


@pytest.fixture(params=["memory", "redis", "cluster"])
def desk(request, url, name):
    """Return a keyed limiter of one lease for each key, on every store."""
    address = {"memory": "memory://", "redis": url, "cluster": os.environ[CLUSTER]}[request.param]
    return Paddlegate(address, timeout=20).concurrent(name, 1, keyed=True, wait_timeout=50)


def waiting(desk, key):
    """Return whether a call waits for the key: a call behind it is not next."""
    decision = desk.enqueue("behind", wait_timeout=20, key=key)
    desk.cancel("behind", key=key)
    return decision.position == 1


def test_threads_wait_for_their_keys(desk, start, until):
    holders = {key: desk.acquire(key=key) for key in ("alice", "bob")}
    entered: dict[str, Permit] = {}

    def enter(key):
        entered[key] = desk.acquire(key=key)

    for key in holders:
        start(lambda key=key: enter(key))
    until(lambda: all(waiting(desk, key) for key in holders))
    holders["alice"].release()
    until(lambda: entered)
    assert list(entered) == ["alice"]
    holders["bob"].release()
    until(lambda: len(entered) == 2)
    assert [entered[key].release() for key in holders] == ["released"] * 2


def test_tasks_wait_for_their_keys(desk, run):
    async def main():
        keys = [f"user {i}" for i in range(20)]
        holders = [await desk.aacquire(key=key) for key in keys]
        tasks = [asyncio.create_task(desk.aacquire(key=key)) for key in keys]
        for key in keys:
            while not await asyncio.to_thread(waiting, desk, key):  # noqa: ASYNC110 - a task waits
                await asyncio.sleep(0.01)
        for holder in holders:
            await holder.release()
        entered = await asyncio.gather(*tasks)
        assert [permit._limiter.key for permit in entered] == keys
        assert [await permit.release() for permit in entered] == ["released"] * 20

    run(main())
    assert desk.stats().granted == 40


def test_a_task_that_ends_leaves_nothing_under_its_key(desk, run, until):
    holder = desk.acquire(key="alice")

    async def main():
        await desk.apeek(key="alice")
        for verb in desk.aacquire, desk.atry_acquire:
            for key in "alice", "bob":
                task = asyncio.create_task(verb(key=key))
                await asyncio.sleep(0.1 if key == "alice" else 0)
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    # In memory it has ended before.
                    if granted := await task:
                        assert await desk.arelease(granted, key=key) == "released"
        # The cancellations are under way until then.
        while not (await desk.apeek(key="bob")).allowed:  # noqa: ASYNC110 - it leaves behind
            await asyncio.sleep(0.01)

    run(main())
    holder.release()
    until(lambda: desk.peek(key="alice").allowed)


def test_a_thread_gives_up_its_ticket(desk):
    holder = desk.acquire(key="alice")
    for _ in range(2):
        with pytest.raises(OverLimit):
            desk.acquire(wait_timeout=0.05, key="alice")
    assert desk.enqueue("next", key="alice").position == 0
    assert desk.cancel("next", key="alice") == "cancelled"
    assert holder.release() == "released"
    assert desk.peek(key="alice").allowed


def test_a_limiter_without_its_key_does_not_wait(desk, run):
    for verb in desk.acquire, desk.within_limit().__enter__, desk.aacquire:
        refused("key", verb)
    refused("key", desk.within_limit(print))
    assert desk.stats().granted == 0


# --- Together ------------------------------------------------------------------------------------


def test_limiters_with_keys_decide_together(store, name, run):
    org = store.window(f"{name}-org", 3, "hour", keyed=True)
    user = store.window(f"{name}-user", 2, "hour", keyed=True)
    everybody = store.window(f"{name}-all", 9, "hour")

    def of(tenant, key):
        return store.together(org.with_key(tenant), user.with_key(key), everybody)

    assert of("acme", "alice").try_acquire(2).allowed
    refusal = run(of("acme", "bob").atry_acquire(2))
    assert (refusal.allowed, refusal.limiter) == (False, org.name)
    assert of("acme", "bob").try_acquire({user.name: 2}).allowed
    refusal = of("umbrella", "alice").try_acquire()
    assert refusal.limiter == user.name
    left = org.peek(key="acme"), user.peek(key="bob"), user.peek(key="carol"), everybody.peek()
    assert [it.remaining for it in left] == [0, 0, 2, 6]
    assert (of("acme", "alice").keyed, of("acme", "alice").key) == (False, None)
    refused("key", of("acme", "alice").allow, key="alice")
    refused("key", of("acme", "alice").with_key, "alice")
    for limiters in [(org, user.with_key("bob")), (everybody, org)]:
        refused("key", store.together, *limiters)
    two = user.with_key("alice"), user.with_key("bob")
    refused("limiters", store.together, *two)


def test_leases_of_keys_together(store, name):
    a, b = (store.concurrent(f"{name}-{it}", 1, keyed=True) for it in "ab")
    both = store.together(a.with_key("x"), b.with_key("y"), wait_timeout=0)
    with both.within_limit() as permit:
        assert [it.peek(key=key).allowed for it in (a, b) for key in "xy"] == [
            False,
            True,
            True,
            False,
        ]
        assert permit.renew()
        with pytest.raises(OverLimit):
            both.acquire()
    assert both.peek().allowed


# --- Statistics and the list of limiters ---------------------------------------------------------


@pytest.mark.parametrize("place", ["memory", "redis", "cluster"])
@pytest.mark.parametrize("group", [None, "acme"])
def test_statistics_are_of_all_keys(url, name, run, place, group):
    addresses = {"memory": "memory://", "redis": url, "cluster": os.environ[CLUSTER]}
    pg = Paddlegate(addresses[place], timeout=20)
    user = pg.points(name, 10, "hour", keyed=True, group=group)
    assert user.stats() == run(user.astats())
    for i in range(40):
        user.allow(2, key=f"user {i}")
    user.allow(9, key="user 7")
    user.correct(user.acquire(estimate=5, key="eve"), 1, key="eve")

    async def several():
        return await asyncio.gather(*(user.astats() for _ in range(20)))

    for stats in [user.stats(), run(user.astats()), *run(several())]:
        counted = stats.granted, stats.refused, stats.units, stats.corrections
        assert counted == (41, 1, 81, 1)
        assert (stats.leases, stats.tickets) == (0, 0)
    user.reset(key="eve")
    assert user.stats().granted == 41, "a reset is of one key"
    assert pg.points(name, 10, "hour", group=group).stats().granted == 0
    alice = user.with_key("alice")
    refused("key", alice.stats)
    refused("key", alice.astats)


def test_statistics_of_a_loop_that_cannot_watch_sockets(redis, name):
    class Blind(asyncio.SelectorEventLoop):
        add_reader = asyncio.AbstractEventLoop.add_reader

    user = redis.window(name, 5, "hour", keyed=True)
    loop = Blind()
    for i in range(20):
        assert loop.run_until_complete(user.aallow(key=f"user {i}"))
    assert loop.run_until_complete(user.astats()).granted == 20
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


def test_all_statistics_end_in_the_time_of_one_call(silent, name, run):
    user = Paddlegate(silent, timeout=0.2).window(name, 5, 60, keyed=True)
    for stats in user.stats, lambda: run(user.astats()):
        with pytest.raises(UnavailableError):
            stats()


def test_a_limiter_without_statistics_decides_alike(store, name, run):
    made = [store.window(f"{name}{it}", 2, "hour", statistics=it) for it in (True, False)]
    for limiter in made:
        assert [limiter.allow(), limiter.try_acquire().remaining] == [True, 0]
        assert not limiter.allow()
    assert made[0].stats().granted == 2
    for verb in made[1].stats, made[1].astats:
        refused("statistics", verb)
    assert store.window(made[1].name, 2, "hour").peek().remaining == 0, "the state is the same"


def test_the_list_has_one_entry_for_all_keys(server, run):
    pg = Paddlegate(server.url, timeout=20)
    user, plain = pg.window("api", 5, 60, keyed=True, ttl="hour"), pg.window("api", 7, 60)
    uncounted = pg.window("quiet", 5, 60, keyed=True, statistics=False)
    for i in range(50):
        assert user.allow(key=f"user {i}")
        assert uncounted.allow(key=f"user {i}")
    assert pg.window("quiet", 5, 60, statistics=False).allow()
    assert plain.allow()
    for listed in pg.limiters(), run(pg.alimiters()):
        entries = [(it.name, it.keyed, it.limits[0].amount, it.ttl) for it in listed]
        assert entries == [("api", False, 7, 90 * 86400), ("api", True, 5, 3600)]
    assert LimiterInfo("a", (), None, 60).keyed is False


def test_the_list_in_memory(run):
    pg = Paddlegate("memory://")
    user, uncounted = (
        pg.window("api", 5, 60, keyed=True),
        pg.window("quiet", 5, 60, keyed=True, statistics=False),
    )
    for limiter in user, uncounted:
        assert limiter.allow(key="alice")
        assert limiter.allow(key="bob")
    for listed in pg.limiters(), run(pg.alimiters()):
        assert [(it.name, it.keyed) for it in listed] == [("api", True)]


# --- Without the store ---------------------------------------------------------------------------


def test_while_the_store_cannot_decide(name, run):
    pg = Paddlegate("redis://127.0.0.1:1", timeout=0.5)

    def user(mode, **named):
        return pg.window(f"{name}{mode}", 2, 60, keyed=True, on_unavailable=mode, **named)

    def decisions(limiter, key):
        return [limiter.try_acquire(key=key), run(limiter.atry_acquire(key=key))]

    for decision in decisions(user("fail_open"), "alice"):
        assert (decision.allowed, decision.degraded) == (True, True)
    for decision in decisions(user("fail_closed"), "alice"):
        assert (decision.allowed, decision.reason) == (False, "unavailable")
    local = user("local")
    for key in "alice", "bob":
        assert [it.allowed for it in decisions(local, key)] == [True, True]
        assert [it.allowed for it in decisions(local, key)] == [False, False]
        assert not local.with_key(key).peek().allowed
    with pytest.raises(OverLimit):
        local.acquire(key="alice")
    with pytest.raises(UnavailableError):
        user("raise").try_acquire(key="alice")
    for verb in local.try_acquire, local.atry_acquire:
        refused("key", verb)


def test_leases_that_this_process_grants_alone(name, run):
    pg = Paddlegate("redis://127.0.0.1:1", timeout=0.5)
    desk = pg.concurrent(name, 1, keyed=True, on_unavailable="local")
    with desk.within_limit(key="alice") as permit:
        assert permit.decision.degraded
        assert not desk.try_acquire(key="alice")
        assert desk.try_acquire(key="bob")
        assert desk.release(permit, key="bob") == "unknown"
    assert permit.release() == "released"

    async def main():
        async with desk.within_limit(key="alice") as permit:
            assert not await desk.atry_acquire(key="alice")
            assert await permit.renew()
        assert not permit.lost

    run(main())


def test_of_a_closed_store(url, name):
    pg = Paddlegate(url, timeout=20)
    user = pg.concurrent(name, 5, keyed=True)
    alice = user.with_key("alice")
    assert user.try_acquire(key="alice")
    pg.close()
    for verb in user.try_acquire, user.acquire, user.aacquire, user.atry_acquire:
        refused("store", verb, key="alice")
    refused("store", alice.acquire)


# --- Life ----------------------------------------------------------------------------------------


def test_a_limiter_of_a_key_keeps_nothing_alive(store, name):
    user = store.window(name, 5, 60, keyed=True)
    alice = weakref.ref(user.with_key("alice"))
    gc.collect()
    assert alice() is None
    alone = Paddlegate("memory://").window(name, 5, 60, keyed=True).with_key("alice")
    gc.collect()
    assert alone.allow(), "it needs neither the store nor the limiter that it came from"


def test_threads_share_a_keyed_limiter(store, name, start):
    user, granted = store.window(name, 50, "hour", keyed=True), []

    def work():
        for i in range(200):
            if user.allow(key=f"user {i % 2}"):
                granted.append(i % 2)  # noqa: PERF401 - threads share it

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(granted) == [0] * 50 + [1] * 50
    assert user.stats().granted == 100
