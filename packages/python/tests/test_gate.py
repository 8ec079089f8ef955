# mypy: allow-untyped-calls
"""Gates: which slot of a control of Invantive limits a request."""

import asyncio
import inspect
import time
import uuid

import pytest
from paddlegate import Gate, GateDecision, InvalidError, OverLimit, Paddlegate, UnavailableError

HOUR = 1_780_272_000_000_000
"""The start of an hour in 2026, in microseconds."""


def control(*slots, elements=None):
    elements = elements or [{"SlotName": slot["Name"]} for slot in slots[:1]]
    return {"RateLimitControlList": elements, "RateLimitControlSlotList": list(slots)}


@pytest.fixture(params=["sync", "async"])
def admit(request, run):
    def admit(gate, *facts, **more):
        if request.param == "sync":
            return gate.admit(*facts, **more)

        async def ask():
            return await gate.aadmit(*facts, **more)

        return run(ask())

    return admit


@pytest.fixture(params=["with", "async with", "function", "coroutine", "generator", "agenerator"])
def within(request, run):
    """Run a body within a gate, however Python writes it."""

    def within(door, body):
        async def asynchronous():
            if request.param == "async with":
                async with door:
                    return body()
            if request.param == "coroutine":

                @door
                async def coroutine():
                    return body()

                return await coroutine()

            @door
            async def generator():
                yield body()

            return [item async for item in generator()].pop()

        if request.param == "with":
            with door:
                return body()
        if request.param == "function":
            return door.run(body)
        if request.param == "generator":

            @door
            def generator():
                yield body()

            return next(generator())
        return run(asynchronous())

    return within


def test_config_a(clocked, clock, admit, name):
    slot = {"Name": name, "ActionsPerSecond": 2, "ActionsPerMinute": 5}

    def admitted(*seconds):
        slot["Name"] = uuid.uuid4().hex
        gate = clocked.invantive_gate(control(slot))
        levels = []
        for second in seconds:
            clock.now_us = HOUR + round(second * 1e6)
            levels.append(admit(gate).level)
        return levels

    assert admitted(10, 10, 10) == [None, None, "second"]
    assert admitted(10.9, 10.9, 11, 11) == [None] * 4
    assert admitted(0, 0, 1, 1, 2, 2, 60) == [None] * 5 + ["minute", None]


def test_a_full_level_delays_its_answer(clocked, clock, admit, name):
    clock.now_us = HOUR
    slot = {"ActionsPerSecond": 1, "DelayMsOnOverflowSecond": 250}
    soft = clocked.invantive_gate(control({"Name": name, "FailOnOverflowSecond": False, **slot}))
    assert admit(soft) == GateDecision(True, 0, name, None, 0, None)
    assert admit(soft) == GateDecision(True, 0.25, name, "second", 0, None)
    hard = clocked.invantive_gate(control({"Name": f"{name}-hard", **slot}))
    assert admit(hard)
    clock.advance(0.4)
    refused = admit(hard)
    assert refused == GateDecision(False, 0.25, f"{name}-hard", "second", 0.6, "bucket")
    assert not refused


def test_the_facts_choose_the_slot(clocked, admit, name):
    facts = {
        "context": ("Context", "report*", "reports"),
        "url": ("Url", "https://x/*", "https://x/a"),
        "log_on_code": ("LogOnCode", "ann", "ann"),
        "data_container_id": ("DataContainerId", "db", "db"),
        "ip": ("IpAddressClientCidr", "10.0.0.0/8", "::ffff:10.1.2.3"),
    }
    slots = [{"Name": f"{name}-{fact}", "ActionsPerHour": 1} for fact in facts]
    elements = [
        {"SlotName": slot["Name"], member: text}
        for slot, (member, text, _) in zip(slots, facts.values(), strict=True)
    ]
    gate = clocked.invantive_gate(control(*slots, elements=elements))
    for fact, (_, _, value) in facts.items():
        assert admit(gate, **{fact: value}).slot == f"{name}-{fact}"
        assert not admit(gate, **{fact: value}).allowed
        assert admit(gate, **{fact: "1.1.1.1"}) == GateDecision(True, 0, None, None, 0, None)
    assert list(inspect.signature(Gate.admit).parameters)[1:] == list(facts)


def test_the_store_is_asked_for_the_time(store, clocked, admit, name):
    slots = [{"Name": f"{name}-past", "ActionsPerHour": 0}, {"Name": name, "ActionsPerHour": 9}]
    elements = [{"SlotName": slot["Name"]} for slot in slots]
    elements[0]["ValidToUtc"] = "2001-01-01T00:00:00Z"
    document = control(*slots, elements=elements)
    assert admit(clocked.invantive_gate(document)).slot == f"{name}-past"
    assert admit(store.invantive_gate(document)).slot == name


def test_elements_and_processes_share_a_slot(clocked, admit, name):
    elements = [{"Context": context, "SlotName": name} for context in "ab"]
    document = control({"Name": name, "ActionsPerMinute": 3}, elements=elements)
    gates = [clocked.invantive_gate(document), clocked.invantive_gate(document)]
    assert [admit(gates[n % 2], "ab"[n % 2]).allowed for n in range(4)] == [
        True,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ("{", "at $"),
        ({"RateLimitControlSlotList": [{"Name": 5}]}, "at $.RateLimitControlSlotList[0].Name: "),
        ({"RateLimitControlList": [{"SlotName": "x"}]}, "at $.RateLimitControlList[0].SlotName: "),
        ({"rate": 5}, "at $.rate: "),
        (5, "must be json"),
    ],
)
def test_what_is_wrong_is_said(document, path):
    with pytest.raises(InvalidError, match=path.replace("$", r"\$").replace("[0]", r"\[0\]")) as it:
        Paddlegate("memory://").invantive_gate(document)
    assert it.value.argument == "document"


def test_no_element_matches(store, admit):
    assert admit(store.invantive_gate({})) == GateDecision(True, 0, None, None, 0, None)


@pytest.mark.parametrize("fact", ["context", "url", "log_on_code", "data_container_id", "ip"])
@pytest.mark.parametrize("bad", [5, b"a", ["a"], "\ud800"])
def test_a_fact_that_is_no_text_is_named(admit, fact, bad):
    gate = Paddlegate("memory://").invantive_gate({})
    with pytest.raises(InvalidError) as caught:
        admit(gate, **{fact: bad})
    assert caught.value.argument == fact


def test_an_address_that_is_none_is_refused_and_counts_nothing(admit, name):
    gate = Paddlegate("memory://").invantive_gate(control({"Name": name, "ActionsPerHour": 1}))
    with pytest.raises(InvalidError) as caught:
        admit(gate, ip="10.0.0.1:80")
    assert caught.value.argument == "ip"
    assert admit(gate).allowed


def test_a_store_that_is_away_is_an_error(admit, name):
    gate = Paddlegate("redis://127.0.0.1:1").invantive_gate(
        control({"Name": name, "ActionsPerHour": 1})
    )
    with pytest.raises(UnavailableError):
        admit(gate)


def test_a_body_runs_after_the_delay_or_not_at_all(store, within, name):
    hour = {"ActionsPerHour": 2, "DelayMsOnOverflowHour": 120}
    minute = {"ActionsPerMinute": 0, "DelayMsOnOverflowMinute": 30, "FailOnOverflowMinute": False}
    gate = store.invantive_gate(control({"Name": name, **hour, **minute}))
    ran = []
    start = time.monotonic()
    for _ in range(2):
        within(gate.within_limit(url="a"), lambda: ran.append(1))
    assert time.monotonic() - start >= 0.06
    start = time.monotonic()
    with pytest.raises(OverLimit) as caught:
        within(gate.within_limit(), lambda: ran.append(1))
    assert time.monotonic() - start >= 0.12
    assert (len(ran), caught.value.limiter, caught.value.reason) == (2, name, "bucket")
    assert 0 < (caught.value.retry_after or 0) <= 3600
    assert caught.value.decision.level == "hour"
    assert name in str(caught.value)


def test_an_error_of_the_body_comes_out(within):
    def fail():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        within(Paddlegate("memory://").invantive_gate({}).within_limit(), fail)


def test_tasks_may_share_a_gate(redis, name, run):
    gate = redis.invantive_gate(control({"Name": name, "ActionsPerHour": 7}))

    async def main():
        verdicts = await asyncio.gather(*(gate.aadmit() for _ in range(20)))
        return sum(verdict.allowed for verdict in verdicts)

    assert run(main()) == 7
