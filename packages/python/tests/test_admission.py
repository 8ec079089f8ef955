# mypy: allow-untyped-calls
"""Jobs before their limits: run, wait, reschedule, drop or refuse."""

import dataclasses
import pickle

import pytest
from paddlegate import Admission, InvalidError, Paddlegate


@pytest.fixture(params=["sync", "async"])
def admit(request, run):
    """Ask in both ways."""

    def admit(limiter, *arguments, **more):
        if request.param == "sync":
            return limiter.admit(*arguments, **more)

        async def ask():
            return await limiter.aadmit(*arguments, **more)

        return run(ask())

    return admit


def test_every_word_has_its_action(clocked, name, admit):
    limiter = clocked.window(name, 1, 60)
    first = admit(limiter, "a")
    assert (first.action, first.after, first.decision.allowed) == ("run", None, True)
    assert first.permit is None, "there is nothing to release"
    waits = admit(limiter, "b")
    assert (waits.action, waits.after, waits.decision.position) == ("wait", 60, 0)
    later = admit(limiter, "c", "reschedule")
    assert (later.action, later.after, later.decision.position) == ("reschedule", 120, 1)
    dropped = admit(limiter, "d", "drop")
    assert (dropped.action, dropped.after, dropped.decision.ticket) == ("drop", None, None)
    for word in "raise", "ignore":
        refused = admit(limiter, "e", on_limit=word)
        assert (refused.action, refused.after) == ("refuse", refused.decision.retry_after)
    assert limiter.stats().tickets == 2


def test_concurrency_and_rate_are_decided_together(store, name, admit):
    limiter = store.limiter(name, concurrency=1, window=(10, 60))
    first = admit(limiter, "a")
    assert first.action == "run"
    assert [admit(limiter, job, "drop").action for job in "bcdef"] == ["drop"] * 5
    assert limiter.release(first.permit) == "released"
    assert limiter.stats().units == 1, "what was dropped has taken nothing"


def test_a_rescheduled_job_comes_when_the_limit_allows_it(clocked, clock, name, admit):
    limiter = clocked.window(name, 1, 0.7)
    assert admit(limiter, "a", "reschedule").action == "run"
    assert admit(limiter, "b", "reschedule").after == 0.7
    assert admit(limiter, "c", "reschedule").after == 1.4
    clock.advance(0.7)
    assert admit(limiter, "new", "drop").action == "drop", "b is before it"
    assert admit(limiter, "b", "reschedule").action == "run"


def test_a_job_that_is_tried_again_counts_as_a_new_one(store, name, admit):
    limiter = store.window(name, 2, 60)
    actions = [admit(limiter, f"job/{attempt}", "drop").action for attempt in (1, 2, 3)]
    assert actions == ["run", "run", "drop"]


def test_a_job_that_runs_is_asked_about_again_and_takes_nothing(store, name, admit):
    limiter = store.concurrent(name, 1)
    permits = {admit(limiter, "task").permit for _ in range(3)}
    assert len(permits) == 1
    assert limiter.stats().leases == 1
    for _ in range(2):
        other = admit(limiter, "other")
        assert (other.action, other.decision.position) == ("wait", 0)
    limiter.release(permits.pop())
    assert admit(limiter, "other").action == "run"


def test_costs_and_estimates(store, name, admit):
    limiter = store.points(name, 100, 3600)
    first = admit(limiter, "a", estimate=80)
    assert admit(limiter, "b", "drop", cost=30).action == "drop"
    assert limiter.correct(first.permit, 10) == "settled"
    assert admit(limiter, "b", "drop", cost=30).action == "run"


def test_a_pause_has_no_time(store, name, admit):
    paused = admit(store.paused(name), "a")
    assert (paused.action, paused.after, paused.decision.reason) == ("wait", None, "paused")
    assert admit(store.unlimited(), "a").action == "run"


def test_the_document_says_what_happens(store, name, admit):
    window = {"limit": 1, "per": "minute"}
    actions = {"wait": "wait", "reschedule": "reschedule", "drop": "drop", "ignore": "refuse"}
    for on_limit, action in actions.items():
        [limiter] = store.limiters_from_document(
            {"limiters": {f"{name}{on_limit}": {"window": window, "on_limit": on_limit}}}
        ).values()
        assert [admit(limiter, job).action for job in "ab"] == ["run", action]
        assert admit(limiter, "c", "wait").action == "wait", "the call knows better"


def test_an_admission_is_frozen_and_can_be_pickled(store, name, admit):
    limiter = store.concurrent(name, 1)
    for admission in admit(limiter, "a"), admit(limiter, "b", "reschedule"):
        assert pickle.loads(pickle.dumps(admission)) == admission
        assert isinstance(admission, Admission)
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(admission, "action", "run")  # noqa: B010 - types know it too


@pytest.mark.parametrize(
    ("arguments", "more", "argument"),
    [
        (("",), {}, "id"),
        (("x" * 65,), {}, "id"),
        ((5,), {}, "id"),
        ((None,), {}, "id"),
        (("a", "Wait"), {}, "on_limit"),
        (("a", ""), {}, "on_limit"),
        (("a", 5), {}, "on_limit"),
        (("a",), {"cost": -1}, "cost"),
        (("a",), {"cost": 2}, "cost"),
        (("a",), {"cost": 1, "estimate": 1}, "estimate"),
    ],
)
def test_arguments_are_checked(store, name, admit, arguments, more, argument):
    limiter = store.window(name, 1, 60)
    with pytest.raises(InvalidError) as caught:
        admit(limiter, *arguments, **more)
    assert caught.value.argument == argument
    assert limiter.stats().granted == 0


# --- Several -------------------------------------------------------------------------------------


@pytest.fixture(params=["sync", "async"])
def admit_all(request, run):
    def admit_all(limiter, *arguments, **more):
        if request.param == "sync":
            return [it.action for it in limiter.admit_all(*arguments, **more)]

        async def ask():
            return [it.action for it in await limiter.aadmit_all(*arguments, **more)]

        return run(ask())

    return admit_all


def test_of_five_jobs_three_run_or_none(store, name, admit_all):
    limiter = store.window(name, 3, 60)
    assert admit_all(limiter, ["a"]) == ["run"]
    limiter.reset()
    jobs = list("abcde")
    assert admit_all(limiter, jobs, partial=False) == ["wait"] * 5
    assert (limiter.peek().remaining, limiter.stats().tickets) == (3, 0)
    assert admit_all(limiter, iter(jobs), "drop", partial=True) == ["run"] * 3 + ["drop"] * 2
    limiter.reset()
    assert admit_all(limiter, jobs[:3], "raise", partial=False) == ["run"] * 3
    assert admit_all(limiter, []) == admit_all(limiter, (), partial=False) == []


def test_who_runs_already_goes_on(store, name, admit_all):
    limiter = store.concurrent(name, 1)
    limiter.admit("a")
    assert admit_all(limiter, ["a", "b"], "drop", partial=False) == ["drop", "drop"]
    assert limiter.stats().leases == 1


@pytest.mark.parametrize("partial", [True, False])
@pytest.mark.parametrize("bad", ["abc", None, 5, ["a", 5], [b"a"]])
def test_ids_are_checked_before_the_first_is_asked_about(name, admit_all, bad, partial):
    limiter = Paddlegate("memory://").window(name, 3, 60)
    with pytest.raises(InvalidError) as caught:
        admit_all(limiter, bad, partial=partial)
    assert caught.value.argument == "ids"
    assert limiter.stats().granted == 0
