# mypy: allow-untyped-calls
"""The mode of a limiter, and blocks."""

import pickle

import pytest
from paddlegate import InvalidError, OverLimit, Window


def test_shadow_refuses_nobody_and_says_whom_it_would_refuse(store, name, run):
    limiter = store.window(name, 1, 60, mode="shadow")
    assert limiter.mode == "shadow"
    first = limiter.try_acquire()
    assert (first.allowed, first.would_refuse) == (True, None)
    assert "would_refuse" not in repr(first)
    second = limiter.try_acquire()
    assert (second.allowed, second.reason, second.would_refuse) == (True, None, "window")
    assert second.retry_after > 0
    assert "would_refuse='window'" in repr(second)
    assert pickle.loads(pickle.dumps(second)) == second
    assert limiter.allow()
    with limiter.within_limit(wait_timeout=0) as permit:
        assert permit.decision.would_refuse == "window"
    assert run(limiter.aacquire()).decision.would_refuse == "window"
    stats = limiter.stats()
    assert (stats.granted, stats.refused, stats.shadow_refused) == (1, 0, 4)


def test_a_lease_in_shadow_ends_without_effect(store, name):
    limiter = store.concurrent(name, 1, mode="shadow")
    with limiter.within_limit(), limiter.within_limit() as permit:
        assert permit.decision.would_refuse == "concurrency"
        permit.renew()
    assert not permit.lost
    assert limiter.stats().leases == 0


def test_an_override_of_the_mode_rules_everywhere(store, name, run):
    limiter, other = store.window(name, 1, 60), store.window(name, 1, 60)
    assert limiter.mode == "enforce"
    limiter.allow()
    assert limiter.override(mode="shadow", expires_in=60).mode == "shadow"
    assert other.try_acquire().would_refuse == "window"
    assert run(other.aoverride(mode="enforce")).mode == "enforce"
    assert not limiter.allow()
    assert limiter.runtime_state().mode == "enforce"
    other.override(5)
    restored = limiter.restore(mode=True)
    assert (restored.mode, list(restored.overrides)) == (None, ["window"])
    limiter.override(mode="shadow")
    assert run(limiter.arestore(mode=True)).mode is None
    limiter.override(mode="shadow")
    assert limiter.restore().mode is None


@pytest.mark.parametrize(
    "order",
    [
        lambda limiter: limiter.override(mode="loud"),
        lambda limiter: limiter.override(mode=1),
        lambda limiter: limiter.override(5, mode="shadow"),
        lambda limiter: limiter.override(mode="shadow", limits={"window": Window(1, 1)}),
        lambda limiter: limiter.restore("window", mode=True),
        lambda limiter: limiter.restore(mode=1),
    ],
)
def test_a_bad_mode_names_its_argument_and_changes_nothing(store, name, order):
    limiter = store.window(name, 1, 60)
    with pytest.raises(InvalidError) as caught:
        order(limiter)
    assert caught.value.argument == "mode"
    assert limiter.runtime_state().version == 0


def test_a_block_refuses_one_key(clocked, clock, name, run):
    login = clocked.window(name, 5, 60, keyed=True)
    assert login.block(3600, key="mallory").blocked_for == 3600.0
    refusal = login.try_acquire(key="mallory")
    assert (refusal.reason, refusal.retry_after) == ("blocked", 3600.0)
    assert pickle.loads(pickle.dumps(refusal)) == refusal
    assert login.allow(key="alice")
    with pytest.raises(OverLimit) as caught:
        login.acquire(key="mallory")
    assert caught.value.reason == "blocked"
    assert login.runtime_state(key="mallory").paused_for is None
    assert login.resume(key="mallory").blocked_for is None
    assert login.allow(key="mallory")
    until = clock.now_us / 1e6 + 5
    assert run(login.ablock(until=until, key="mallory")).blocked_for == 5.0
    clock.advance(5)
    assert login.allow(key="mallory")


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [({}, "seconds"), ({"seconds": -1}, "seconds"), ({"seconds": 1, "until": 1}, "until")],
)
def test_a_bad_block_names_its_argument(store, name, arguments, argument):
    limiter = store.window(name, 5, 60)
    with pytest.raises(InvalidError) as block:
        limiter.block(**arguments)
    with pytest.raises(InvalidError) as pause:
        limiter.pause(**arguments)
    assert block.value.argument == pause.value.argument
    assert block.value.argument in {argument, "seconds"}
    assert limiter.allow()


def test_refusals_lead_to_a_block(clocked, clock, name):
    login = clocked.window(name, 1, 60, keyed=True, block_after=(2, "minute", 3600))
    assert login.block_after == (2, 60.0, 3600.0)
    assert login.with_key("mallory").block_after == (2, 60.0, 3600.0)
    assert login.allow(key="mallory")
    reasons = [login.try_acquire(key="mallory").reason for _ in range(3)]
    assert reasons == ["window", "window", "blocked"]
    assert login.allow(key="alice")
    clock.advance(3600)
    assert login.allow(key="mallory")
    assert clocked.window(f"{name}-2", 1, 60).block_after is None


@pytest.mark.parametrize(
    "rule",
    [
        (0, 60, 3600),
        (1_000_001, 60, 3600),
        (10, 0.5, 3600),
        (10, 60, 8 * 86_400),
        (10, 60),
        (10, 60, 3600, 1),
        (True, 60, 3600),
        (10, "soon", 3600),
        100,
        "100",
    ],
)
def test_a_bad_rule_names_its_argument(store, name, rule):
    with pytest.raises(InvalidError) as caught:
        store.window(name, 1, 60, block_after=rule)
    assert caught.value.argument == "block_after"


def test_a_message_has_its_times_in_seconds(store, name):
    with pytest.raises(InvalidError, match=r"within=0\.5"):
        store.window(name, 1, 60, block_after=(10, 0.5, 3600))


@pytest.mark.parametrize("mode", ["loud", "", 1])
def test_a_limiter_has_a_known_mode(store, name, mode):
    with pytest.raises(InvalidError) as caught:
        store.limiter(name, window=(1, 60), mode=mode)
    assert caught.value.argument == "mode"


def test_limiters_that_decide_together_have_modes_of_their_own(store, name):
    group = name[:64]
    org = store.window(f"{name}-org", 1, 60, group=group, mode="shadow")
    user = store.window(f"{name}-user", 5, 60, group=group)
    both = store.together(org, user)
    assert both.try_acquire()
    decision = both.try_acquire()
    assert (decision.allowed, decision.would_refuse, decision.limiter) == (True, "window", org.name)
    for order in (lambda: both.override(mode="shadow"), lambda: both.block(1)):
        with pytest.raises(InvalidError) as caught:
            order()
        assert caught.value.argument in {"override", "block"}


def test_the_run_of_a_workflow_may_be_in_shadow(store):
    definition = {"name": "order", "rateLimitConfig": {"concurrentExecLimit": 1}}
    config = {"rateLimitKey": "${workflow.input.shop}", "concurrentExecLimit": 1}
    definition["rateLimitConfig"] = config
    limiter = store.conductor_limiter(
        definition, {"input": {"shop": "a"}}, mode="shadow", block_after=(5, 60, 60)
    )
    assert (limiter.mode, limiter.block_after) == ("shadow", (5, 60.0, 60.0))


@pytest.mark.parametrize("mode", ["enforce", "shadow"])
def test_the_list_has_the_mode(store, name, mode):
    store.window(name, 1, 60, mode=mode, keyed=True).allow(key="a")
    store.window(f"{name}-one", 1, 60, mode=mode).allow()
    assert [(it.keyed, it.mode) for it in store.limiters(name)] == [(True, mode), (False, mode)]
