"""What one language does, all see: counts, settlements, other numbers, resets."""

import random

import pytest
from fleet import LANGUAGES

MINUTE = 60_000_000
NOW = 1_000_000 * MINUTE
ALL = len(LANGUAGES)
# Of every kind one that lets a unit of each language pass and is whole again after a minute.
ONE_EACH = {
    "bucket": [("bucket", ALL, 60)],
    "window": [("window", ALL, 60)],
    "leaky": [("leaky", ALL, 60)],
    "points": [("points", ALL, 60)],
    "composite": [("window", ALL, 60), ("points", ALL, 60), ("bucket", ALL, 3600)],
}


@pytest.fixture
def opened(fleet, url):
    """Give the workers, all on the same server, each with a test clock."""
    for worker in fleet.values():
        worker.ask("open", url=url, timeout=5, now_us=NOW)
    return fleet


@pytest.fixture
def ask(opened, name):
    """Ask the worker of a language for something on the one limiter of the test."""

    def ask(language, do, now_us=None, **arguments):
        if now_us is not None:
            opened[language].ask("set_clock", now_us=now_us)
        if do == "limiter":
            return opened[language].ask(do, **{"as": "it"}, name=name, **arguments)
        return opened[language].ask(do, on="it", **arguments)

    return ask


@pytest.fixture
def order(seed):
    """Give the languages in some order."""
    return random.Random(seed).sample(list(LANGUAGES), len(LANGUAGES))


@pytest.mark.parametrize("kind", ONE_EACH)
def test_one_count(ask, order, kind):
    for language in order:
        ask(language, "limiter", limits=ONE_EACH[kind])
    for number, language in enumerate(order):
        decision = ask(language, "try_acquire", cost=1, now_us=NOW + number)
        assert (decision["allowed"], decision["remaining"]) == (True, ALL - 1 - number), language
    refusals = [ask(language, "try_acquire", cost=1, now_us=NOW + ALL) for language in order]
    assert refusals == [refusals[0]] * ALL
    assert not refusals[0]["allowed"]
    later = NOW + ALL + refusals[0]["retry_us"]
    for language in order:
        assert not ask(language, "allow", cost=1, now_us=later - 1)
    assert ask(order[0], "allow", cost=1, now_us=later)


@pytest.mark.parametrize("first", LANGUAGES)
def test_one_throttle(ask, first):
    for language in LANGUAGES:
        ask(language, "limiter", limits=[("throttle", 0.25)])
    assert ask(first, "allow")
    for language in LANGUAGES:
        refusal = ask(language, "try_acquire", now_us=NOW + 50_000)
        assert (refusal["reason"], refusal["retry_us"]) == ("throttle", 200_000), language


@pytest.mark.parametrize("kind", ["points", "window", "bucket", "leaky"])
@pytest.mark.parametrize("owner", LANGUAGES)
def test_a_permit_is_settled_once_whoever_settles_it(opened, ask, seed, owner, kind):
    dice = random.Random(seed)
    for language in LANGUAGES:
        ask(language, "limiter", limits=[(kind, 1000, 60)])
    for _ in range(5):
        estimate = dice.randint(1, 100)
        permit = ask(owner, "try_acquire", estimate=estimate)["permit"]
        before = ask(owner, "peek", cost=0)["remaining"]
        actuals = {language: dice.randint(0, 100) for language in LANGUAGES}
        for language, worker in opened.items():
            worker.send("correct", on="it", permit=permit, actual=actuals[language])
        answers = {language: worker.receive() for language, worker in opened.items()}
        assert sorted(answers.values()) == ["already"] * (ALL - 1) + ["settled"]
        winner = next(language for language in answers if answers[language] == "settled")
        for language in LANGUAGES:
            after = ask(language, "peek", cost=0)["remaining"]
            assert after == before + estimate - actuals[winner], language
        ask(dice.choice(list(LANGUAGES)), "reset")


@pytest.mark.parametrize("owner", LANGUAGES)
def test_other_numbers_resize_for_all(ask, order, owner):
    for language in order:
        ask(language, "limiter", limits=[("leaky", 10, 10)])
    assert ask(order[0], "try_acquire", cost=8)["remaining"] == 2
    ask(owner, "limiter", limits=[("leaky", 4, 4)])
    smaller = ask(owner, "try_acquire", cost=1)
    assert (smaller["limit"], smaller["remaining"], smaller["retry_us"]) == (4, 0, 1_000_000)
    # The eight became the four that fit, and one has drained.
    assert ask(owner, "try_acquire", cost=1, now_us=NOW + 1_000_000)["remaining"] == 0
    for language in order:
        if language != owner:
            seen = ask(language, "peek", cost=0, now_us=NOW + 1_000_000)
            assert (seen["limit"], seen["remaining"]) == (10, 6), language
            ask(language, "limiter", limits=[("leaky", 4, 4)])
        assert ask(language, "peek", cost=0, now_us=NOW + 1_000_000)["remaining"] == 0, language


@pytest.mark.parametrize("kind", ONE_EACH)
@pytest.mark.parametrize("owner", LANGUAGES)
def test_all_see_a_reset(ask, owner, kind):
    for language in LANGUAGES:
        ask(language, "limiter", limits=ONE_EACH[kind])
    permit = ask("ruby", "try_acquire", estimate=ALL)["permit"]
    assert not ask("node", "allow", cost=1)
    ask(owner, "reset")
    for language in LANGUAGES:
        assert ask(language, "peek", cost=ALL)["allowed"], language
        assert ask(language, "correct", permit=permit, actual=0) == "unknown", language
