# mypy: allow-untyped-calls
"""What documents of Open Job Spec do to a limiter that runs; and batches that do not end well."""

import asyncio
import json

import pytest
from paddlegate import InvalidError, LimitSettings

MINUTE = 60_000_000


@pytest.fixture(params=["sync", "async"])
def told(request, run):
    """Call a verb in both ways."""

    def told(limiter, verb, *arguments, **more):
        if request.param == "sync":
            return getattr(limiter, verb)(*arguments, **more)

        async def tell():
            return await getattr(limiter, f"a{verb}")(*arguments, **more)

        return run(tell())

    return told


@pytest.mark.parametrize(
    ("failure", "seconds"),
    [
        ({"error": {"type": "rate_limited", "retry_after": 30}}, 30),
        ({"type": "RateLimitExceeded", "rate_limit_until": "1970-01-01T01:00:20Z"}, 20),
        (
            {
                "type": "rate_limited",
                "retry_after": 7.5,
                "rate_limit_until": "1970-01-01T01:00:20Z",
            },
            20,
        ),
        (
            {"type": "rate_limited", "retry_after": 50, "rate_limit_until": "1970-01-01T01:00:20Z"},
            50,
        ),
        ({"type": "rate_limited"}, 30),
        ('{"type": "rate_limited", "retry_after": 0.5}', 0.5),
    ],
)
def test_a_signal_pauses(clocked, name, told, failure, seconds):
    limiter = clocked.window(name, 5, 60)
    assert told(limiter, "apply_ojs_signal", failure) is True
    refused = limiter.try_acquire()
    assert (refused.reason, refused.retry_after) == ("paused", seconds)
    shorter = {"type": "rate_limited", "retry_after": 0.1}
    assert told(limiter, "apply_ojs_signal", shorter)
    assert limiter.runtime_state().paused_for == seconds, "the later end holds"
    assert clocked.window(f"{name}-other", 5, 60).allow()


@pytest.mark.parametrize("failure", [{}, {"type": "Timeout", "retry_after": 30}, []])
def test_another_failure_is_no_signal(store, name, told, failure):
    limiter = store.window(name, 5, 60)
    assert told(limiter, "apply_ojs_signal", failure) is False
    assert limiter.runtime_state().version == 0


@pytest.mark.parametrize(
    "failure",
    [
        "{",
        5,
        {"type": "rate_limited", "retry_after": -1},
        {"type": "rate_limited", "retry_after": "30"},
        {"type": "rate_limited", "rate_limit_until": "soon"},
    ],
)
def test_a_signal_that_cannot_be_read_changes_nothing(store, name, told, failure):
    limiter = store.window(name, 5, 60)
    with pytest.raises(InvalidError) as caught:
        told(limiter, "apply_ojs_signal", failure)
    assert caught.value.argument == "document"
    assert limiter.runtime_state().version == 0


def test_an_override_is_merged(clocked, clock, name, told):
    limiter = clocked.limiter(name, concurrency=0, window=(100, 60), throttle=1)
    one = LimitSettings("concurrency", "concurrency", 1, 30)
    runtime_state = told(limiter, "apply_ojs_override", {"concurrency": 1})
    assert runtime_state.overrides == {"concurrency": one}
    assert runtime_state.expires_in is None
    ends = {"limit": 5, "period": "10s", "expires_at": "1970-01-01T01:00:50Z"}
    runtime_state = told(limiter, "apply_ojs_override", json.dumps(ends))
    window = LimitSettings("window", "window", 5, 10)
    assert runtime_state.overrides == {"concurrency": one, "window": window}
    assert runtime_state.expires_in == 50
    more = {"throttle": {"interval": "PT2S"}, "concurrency": None}
    clock.advance(10)
    runtime_state = told(limiter, "apply_ojs_override", more)
    throttle = LimitSettings("throttle", "throttle", 1, 2)
    assert runtime_state.overrides == {"window": window, "throttle": throttle}
    assert runtime_state.expires_in == 40, "what is not named stays, the end too"
    runtime_state = told(limiter, "apply_ojs_override", {"expires_at": None})
    assert (runtime_state.overrides["window"], runtime_state.expires_in) == (window, None)
    nulls = {"rate": None, "throttle": None}
    assert told(limiter, "apply_ojs_override", nulls).overrides == {}


def test_an_end_by_the_clock_of_the_store(store, name, told):
    limiter = store.bucket(name, 5, 60)
    document = {"rate": {"limit": 9, "period": "PT1M"}, "expires_at": "2110-01-01T00:00:00Z"}
    runtime_state = told(limiter, "apply_ojs_override", document)
    assert runtime_state.overrides == {"bucket": LimitSettings("bucket", "bucket", 9, 60)}
    assert runtime_state.expires_in > 1e9


@pytest.mark.parametrize(
    "document",
    [
        "{",
        5,
        {},
        {"limits": 5},
        {"concurrency": -1},
        {"expires_at": "2110-01-01T00:00:00Z"},
        {"rate": {"limit": 9, "period": "PT1M"}, "expires_at": "2001-01-01T00:00:00Z"},
    ],
)
def test_an_override_that_is_wrong_changes_nothing(store, name, told, document):
    limiter = store.limiter(name, concurrency=2, window=(100, 60))
    with pytest.raises(InvalidError) as caught:
        told(limiter, "apply_ojs_override", document)
    assert caught.value.argument == "document"
    assert limiter.runtime_state().version == 0


def test_a_strategy_that_the_limiter_does_not_have_is_overridden_too(store, name, told):
    five, unlimited = store.concurrent(name, 5), store.unlimited(name)
    for limiter in unlimited, store.window(name, 100, 60):
        one = told(limiter, "apply_ojs_override", {"concurrency": 1})
        assert one.overrides == {"concurrency": LimitSettings("concurrency", "concurrency", 1, 30)}
        assert five.peek().limit == 1
        assert told(limiter, "apply_ojs_override", {"concurrency": None}).overrides == {}
        assert five.peek().limit == 5


def test_a_batch_that_cannot_run_gives_back_what_it_took(redis, name, run):
    limiter = redis.concurrent(name, 2)

    async def main():
        batches = (limiter.aadmit_all([f"{n}a", f"{n}b"], "drop") for n in range(10))
        return [batch for batch in await asyncio.gather(*batches) if batch[0].action == "run"]

    assert len(run(main())) <= 1
    assert limiter.stats().leases in (0, 2)
    limiter.reset()
    assert len(run(main())) <= 1


def test_a_task_that_is_cancelled_leaves_all_or_none(redis, name, run):
    limiter = redis.concurrent(name, 40)
    jobs = [f"job{number}" for number in range(30)]

    async def main():
        for turn in range(12):
            task = asyncio.ensure_future(limiter.aadmit_all(jobs))
            if turn:
                await asyncio.sleep(turn / 2000)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            # Before its first turn of the loop it has asked about none.
            began = turn > 0
            for _ in range(2000):
                if (await limiter.astats()).leases == (30 if began else 0):
                    break
                await asyncio.sleep(0.01)
            else:
                raise TimeoutError("some run and some do not")
            await limiter.areset()

    run(main())
