import os
import random
from contextlib import nullcontext
from fractions import Fraction

import pytest
from checker import Grant, History, shares, violations
from hammer import hammer, reasons
from servers import repeated

SOAK = bool(os.environ.get("PADDLEGATE_SOAK"))
KINDS = ("bucket", "window", "leaky", "points", "throttle", "composite")

pytestmark = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="module", params=["cluster", "forgetful", *(["redis"] if SOAK else [])])
def hammered(request, urls, fleet, seed, tmp_path_factory):
    """Hammer a cluster, a Redis that forgets its scripts all the time, and one that does not."""
    url = urls["cluster" if request.param == "cluster" else "redis"]
    flushed = repeated("SCRIPT FLUSH", url) if request.param == "forgetful" else nullcontext()
    with flushed:
        return hammer(fleet, url, seed, 4 if SOAK else 3, tmp_path_factory.mktemp("records"))


@pytest.fixture(scope="module")
def alone(fleet, seed, tmp_path_factory):
    return hammer(fleet, "memory://", seed, 1, tmp_path_factory.mktemp("records"))


def test_nothing_is_exceeded_and_nothing_refused_in_vain(hammered, kind):
    assert list(violations(hammered[kind].limits, hammered[kind].history)) == []


def test_what_the_limits_allow_is_granted(hammered, kind, soak):
    used = [Fraction(*share) for share in shares(hammered[kind].limits, hammered[kind].history)]
    # On a busy machine it happens that nobody asks for a while.
    least = Fraction(95 if soak else 50, 100) * hammered[kind].asked
    assert max(used) >= least, list(map(float, (*used, least)))


def test_every_language_is_granted_and_refused(hammered, kind):
    for language, history in hammered[kind].by_language.items():
        assert history.grants, language
        assert history.refusals, language


def test_every_limit_refuses(hammered, kind):
    assert {refusal.reason for refusal in hammered[kind].history.refusals} == reasons(kind)


def test_a_refusal_that_was_granted_would_be_found(hammered, kind, seed):
    limits, history = hammered[kind].limits, hammered[kind].history
    refusal = random.Random(seed).choice(history.refusals)
    one_more = [*history.grants, Grant(refusal.at, refusal.units)]
    assert list(violations(limits, History(one_more, [], history.settlements)))


def test_workers_that_share_nothing_would_be_found(alone, kind):
    assert any(violations(alone[kind].limits, alone[kind].history))
