"""The keywords of the verbs: each group of them reaches the core, and no other word is taken."""

import inspect
from typing import Any

import pytest
from paddlegate import InvalidError, Paddlegate
from paddlegate import _options as groups

VERBS: dict[str, tuple[tuple[Any, ...], Any]] = {
    "acquire": ((), groups.AcquireOptions),
    "enqueue": (("job",), groups.JobOptions),
    "claim": (("job",), groups.JobOptions),
    "admit": (("job",), groups.AdmitOptions),
    "pause": ((1,), groups.PauseOptions),
    "block": ((1,), groups.PauseOptions),
    "override": ((), groups.OverrideOptions),
    "report_budget": ((), groups.BudgetOptions),
    "learn_from_response": (({},), groups.LearnOptions),
}
WORDS = [(verb, word) for verb, (_, group) in VERBS.items() for word in group.__annotations__]
OPTIONAL = [it for it in WORDS if it[1] not in groups.DEFAULTS]

# Without these the core refuses the call before it looks at the word.
NEEDS: dict[Any, dict[str, Any]] = {
    "weight": {"share": "a"},
    "settle_within": {"estimate": 1},
    ("override", "key"): {"limit": 5},
}


@pytest.fixture
def limiter():
    return Paddlegate("memory://").points("api", 100, 60)


@pytest.fixture(params=["", "a"], ids=["synchronous", "asynchronous"])
def call(request, run, limiter):
    def called(verb, *arguments, **options):
        outcome = getattr(limiter, request.param + verb)(*arguments, **options)
        return run(outcome) if request.param else outcome

    return called


@pytest.mark.parametrize(("verb", "word"), WORDS)
def test_each_word_reaches_the_core_from_both_forms(call, verb, word):
    needs = NEEDS.get((verb, word), NEEDS.get(word, {}))
    with pytest.raises(InvalidError) as raised:
        call(verb, *VERBS[verb][0], **needs, **{word: object()})
    assert raised.value.argument == word


@pytest.mark.parametrize(("verb", "word"), OPTIONAL)
def test_none_stands_for_the_default(limiter, verb, word):
    def outcome(**options: Any) -> str | None:
        try:
            getattr(limiter, verb)(*VERBS[verb][0], **options)
        except InvalidError as error:
            return str(error)
        return None

    assert outcome(**{word: None}) == outcome()


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("prefix", ["", "a"], ids=["synchronous", "asynchronous"])
def test_another_word_is_an_error_that_names_the_verb(limiter, run, verb, prefix):
    async def called() -> Any:
        outcome = getattr(limiter, prefix + verb)(*VERBS[verb][0], colour="red")
        return await outcome if prefix else outcome

    with pytest.raises(TypeError) as raised:
        run(called())
    text = f"{prefix}{verb}() got an unexpected keyword argument 'colour'"
    assert str(raised.value).removeprefix("Limiter.") == text


def test_another_word_of_a_guard_or_a_permit_is_an_error_at_once(limiter):
    with pytest.raises(TypeError, match=r"within_limit.*'colour'"):
        limiter.within_limit(colour="red")
    permit = limiter.acquire(estimate=1)
    # A permit gives the limiter its own id.
    for word in ("colour", "permit", "key"):
        with pytest.raises(TypeError, match=rf"learn_from_response.*'{word}'"):
            permit.learn_from_response({}, **{word: "red"})


def test_what_help_shows_has_each_word_with_its_type_and_default(limiter):
    shown = inspect.signature(limiter.learn_from_response).parameters
    assert str(shown["provider"]) == "provider: '_Provider' = 'auto'"
    assert str(shown["max_pause"]) == "max_pause: 'Span | None' = None"
    assert {it.kind for it in list(shown.values())[2:]} == {inspect.Parameter.KEYWORD_ONLY}
    options = inspect.signature(Paddlegate.leaky).parameters
    assert {*groups.LimiterOptions.__annotations__} < {*options}
