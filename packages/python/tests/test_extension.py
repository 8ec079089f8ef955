# mypy: allow-untyped-calls
"""Extensions of open permits."""

import pickle

import pytest
from paddlegate import Extension, InvalidError, Points, Window


@pytest.fixture
def tokens(clocked, name):
    return clocked.points(name, 1000, "day")


def test_an_extension_reserves_more_and_gives_the_permit_its_id(tokens):
    permit = tokens.acquire(estimate=200)
    first = permit.id
    extension = permit.extend(300)
    assert extension
    assert extension.settlement is None
    assert permit.id == extension.decision.permit != first
    assert permit.decision.permit == first
    # The same call again reserves nothing.
    assert tokens.extend(first, 300).decision.permit == permit.id
    # A permit in the place of its id gets the new one too.
    second = permit.id
    assert tokens.extend(permit, 100).decision.permit == permit.id != second
    assert tokens.peek().remaining == 400
    assert permit.correct(450) == "settled"
    assert tokens.peek().remaining == 550


def test_a_refused_extension_changes_nothing(tokens):
    permit = tokens.acquire(estimate=200)
    first = permit.id
    extension = permit.extend(801)
    assert not extension
    assert not extension.allowed
    assert (extension.decision.reason, extension.settlement) == ("points", None)
    assert extension.decision.retry_after > 0
    assert permit.id == first
    assert tokens.peek().remaining == 800


def test_a_permit_that_is_not_open_is_not_extended(tokens):
    permit = tokens.acquire(estimate=200)
    assert permit.correct(100) == "settled"
    extension = permit.extend(1)
    assert extension == Extension(None, "already")
    assert not extension
    assert tokens.extend("a-stranger", 1).settlement == "unknown"
    assert pickle.loads(pickle.dumps(extension)) == extension


def test_an_extension_on_an_event_loop(tokens, run):
    async def main():
        permit = await tokens.aacquire(estimate=200)
        first = permit.id
        assert await permit.extend(300)
        assert await permit.aextend(100)
        assert permit.id != first
        assert not await tokens.aextend(permit, 500)
        second = permit.id
        assert await tokens.aextend(permit, 50)
        assert permit.id != second
        assert (await tokens.apeek()).remaining == 350
        assert await permit.correct(500) == "settled"
        assert (await tokens.apeek()).remaining == 500
        assert (await permit.extend(1)).settlement == "already"
        async with tokens.within_limit(estimate=100) as inside:
            assert await inside.extend(50)
            inside.points_used(120)
        assert (await tokens.apeek()).remaining == 380

    run(main())


def test_the_body_of_a_function_extends_its_permit(tokens):
    @tokens.within_limit(estimate=100)
    def stream(*, permit):
        assert permit.extend(100)
        permit.points_used(150)

    stream()
    assert tokens.peek().remaining == 850


def test_an_extension_by_label_leaves_the_other_limits_alone(clocked, name):
    limiter = clocked.limiter(name, rpm=Window(10, 60), tpm=Points(1000, "day"))
    permit = limiter.acquire(estimate={"tpm": 100})
    assert permit.extend({"tpm": 200})
    assert limiter.peek({"rpm": 0, "tpm": 700})
    assert not limiter.peek({"rpm": 0, "tpm": 701})
    assert limiter.peek({"rpm": 9, "tpm": 0})
    assert not limiter.peek({"rpm": 10, "tpm": 0})


def test_an_extension_has_the_key_of_its_permit(clocked, name):
    limiter = clocked.points(name, 1000, "day", keyed=True)
    permit = limiter.acquire(estimate=100, key="ann")
    assert permit.extend(100)
    assert limiter.extend(permit, 100, key="ann")
    assert limiter.peek(key="ann").remaining == 700
    with pytest.raises(InvalidError) as caught:
        limiter.extend(permit, 1)
    assert caught.value.argument == "key"


@pytest.mark.parametrize("units", [0, -1, 1.5, True, "1", 1001, {"tpm": 1}])
def test_bad_units_name_their_argument_and_change_nothing(tokens, run, units):
    permit = tokens.acquire(estimate=200)
    for call in (
        lambda: permit.extend(units),
        lambda: tokens.extend(permit.id, units),
        lambda: run(tokens.aextend(permit, units)),
    ):
        with pytest.raises(InvalidError) as caught:
            call()
        assert caught.value.argument == "units"
    assert tokens.peek().remaining == 800


def test_a_call_without_an_estimate_has_nothing_to_extend(clocked, name):
    permit = clocked.window(name, 10, 60).acquire(2)
    with pytest.raises(InvalidError) as caught:
        permit.extend(1)
    assert caught.value.argument == "estimate"
