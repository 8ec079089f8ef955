"""A server that is not there, or does not answer: a typed error in time, no grant, recovery."""

import os
import time
from contextlib import suppress

import pytest
from fleet import LANGUAGES, UNAVAILABLE, WorkerError
from servers import Redis, Silent, free_port, repeated

TIMEOUT = 0.3
# A machine that stalls does not do so each time.
TRIES = 3
CALLS = {
    "try_acquire": {"cost": 1},
    "peek": {"cost": 1},
    "allow": {"cost": 1},
    "acquire": {"cost": 1, "wait_timeout": 30},
    "correct": {"permit": f"{'a' * 32}:1:1", "actual": 1},
    "reset": {},
}


class Refused:
    """Nobody listens; then a Redis starts there."""

    may_have_counted = False
    worked_before = False

    def __init__(self, port):
        self.port, self.server = port, None

    def strike(self):
        pass

    def recover(self):
        self.server = Redis(self.port)

    def end(self):
        if self.server:
            self.server.end()


class NeverAnswers(Refused):
    """Connections are taken, and that is all; then a Redis starts there."""

    may_have_counted = True

    def strike(self):
        self.server = Silent(self.port)

    def recover(self):
        self.server.end()
        self.server = Redis(self.port)


class Killed(Refused):
    """A Redis dies after it has answered; then another one starts there."""

    worked_before = True

    def __init__(self, port):
        self.port, self.server = port, Redis(port)

    def strike(self):
        self.server.end()
        self.server = None


class Frozen(Killed):
    """A Redis answers no more, and goes on with what it was sent when nobody waits for it."""

    may_have_counted = True

    def strike(self):
        self.server.freeze()

    def recover(self):
        self.server.thaw()


# A server that was never there is one that has gone, without what the calls before it leave.
CASES = [
    (fault, language)
    for fault in (Refused, NeverAnswers, Killed, Frozen)
    for language in LANGUAGES
    if os.environ.get("PADDLEGATE_SOAK") or fault.worked_before or language == "python"
]


@pytest.fixture
def fault(request):
    fault = request.param(free_port())
    yield fault
    fault.end()


@pytest.mark.parametrize(
    ("fault", "language"),
    CASES,
    indirect=["fault"],
    ids=[f"{fault.__name__}-{language}" for fault, language in CASES],
)
def test_fault(fleet, fault, language, name, tmp_path, seed, soak):
    worker = fleet[language]
    worker.ask("open", url=f"redis://127.0.0.1:{fault.port}", timeout=TIMEOUT)
    worker.ask("limiter", **{"as": "it"}, name=name, limits=[("leaky", 1000, 86400)])
    if fault.worked_before:
        succeed(lambda: worker.ask("allow", on="it"))
    fault.strike()

    for call, arguments in CALLS.items():

        def seconds_to_fail(call=call, arguments=arguments):
            began = time.monotonic()
            with pytest.raises(WorkerError) as raised:
                worker.ask(call, on="it", **arguments)
            took = time.monotonic() - began
            assert raised.value.name == UNAVAILABLE[language], call
            # The first call after a server has died may have been on its way.
            if fault.may_have_counted or not fault.worked_before or call != "try_acquire":
                assert raised.value.may_have_counted == fault.may_have_counted, call
            return took

        if soak:
            assert any(seconds_to_fail() < TIMEOUT + 0.05 for _ in range(TRIES)), call
        else:
            seconds_to_fail()

    records = tmp_path / "records"
    plan = [{"on": "it", "verb": "cost", "most": 1}]
    arguments = {"seed": seed, "loops": 8, "plan": plan, "path": str(records)}
    # On a machine that stalls the time may be over before it begins.
    for _ in range(TRIES):
        errors = worker.ask("hammer", until=time.time() + 0.4, **arguments)["errors"]
        assert list(errors) in ([UNAVAILABLE[language]], [])
        if sum(errors.values()) >= 8:
            break
    assert errors[UNAVAILABLE[language]] >= 8
    assert records.read_text() == ""

    fault.recover()

    # The first call answers, and it is the answer to this call and to none that was given up.
    def check_answers():
        worker.ask("reset", on="it")
        for cost, remaining in ((1, 999), (10, 989), (100, 889)):
            decision = worker.ask("try_acquire", on="it", cost=cost)
            assert (decision["allowed"], decision["remaining"]) == (True, remaining)

    succeed(check_answers)


def succeed(work):
    """Do what a stall of the machine may make longer than the time-out."""
    for _ in range(TRIES - 1):
        with suppress(WorkerError):
            return work()
    return work()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_lost_reply_costs_its_own_charge_at_most_and_once(fleet, language, name, tmp_path, seed):
    server, worker, records = Killed(free_port()), fleet[language], tmp_path / "records"
    url = f"redis://127.0.0.1:{server.port}"
    try:
        worker.ask("open", url=url, timeout=5)
        worker.ask("limiter", **{"as": "it"}, name=name, limits=[("bucket", 10**6, 86400)])
        with repeated("CLIENT KILL TYPE normal SKIPME yes", url):
            plan = [{"on": "it", "verb": "cost", "most": 1}]
            until = time.time() + 2
            answer = worker.ask(
                "hammer", until=until, seed=seed, loops=8, plan=plan, path=str(records)
            )
        counted = 10**6 - worker.ask("peek", on="it", cost=0)["remaining"]
    finally:
        server.end()
    granted = len(records.read_text().splitlines())
    assert list(answer["errors"]) == [UNAVAILABLE[language]]
    assert granted <= counted <= granted + answer["may_have_counted"]
    assert granted > 20
