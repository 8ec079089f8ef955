# mypy: allow-untyped-calls
"""What upstream says of its budgets, and what a query will cost."""

import asyncio
import http.client
import io
import json
import types
from http import HTTPStatus
from typing import Any

import pytest
from paddlegate import (
    InvalidError,
    Learned,
    LimitSettings,
    OverLimit,
    Paddlegate,
    StreamUsage,
    graphql_cost,
)
from paddlegate._convert import header_pairs

PATIENT = 20


@pytest.fixture
def other(url):
    """A second connection, as another process has it."""
    return Paddlegate(url, timeout=PATIENT)


def shopify(actual, left, most=1000.0, rate=50.0):
    budget = {"maximumAvailable": most, "currentlyAvailable": left, "restoreRate": rate}
    cost = {"requestedQueryCost": 252, "actualQueryCost": actual, "throttleStatus": budget}
    return {"data": {}, "extensions": {"cost": cost}}


def test_what_is_left_upstream_is_left_here(redis, other, name):
    here, there = redis.points(name, 1000, 1_000_000), other.points(name, 1000, 1_000_000)
    assert here.try_acquire(300).remaining == 700
    assert there.report_budget(300).learned == ("remaining",)
    assert here.peek(0).remaining == 300
    assert there.report_budget(900).settlement is None
    assert here.peek(0).remaining == 900


def test_size_and_rate_are_learned_by_all(redis, other, name):
    here, there = redis.points(name, 1000, 20), other.points(name, 1000, 20)
    with pytest.raises(InvalidError):
        there.try_acquire(1500)
    assert here.report_budget(2000, limit=2000, restore_rate=100).settlement is None
    assert there.runtime_state().learned == {"points": LimitSettings("points", "points", 2000, 20)}
    assert there.try_acquire(1500).limit == 2000
    assert there.report_budget(restore_rate=50).settlement is None
    policy = LimitSettings("points", "points", 1000, 20)
    assert here.runtime_state().learned.get("points") in {None, policy}
    assert here.report_budget(limit=2000, interval="PT40S").settlement is None
    assert there.runtime_state().learned == {"points": LimitSettings("points", "points", 2000, 40)}


def test_a_window_that_is_spent_upstream_is_spent_here(url, clock, name):
    clock.now_us = 1_700_000_000_000_000
    two = [Paddlegate(url, timeout=PATIENT, clock=clock) for _ in range(2)]
    here, there = (pg.bucket(name, 5000, 3600) for pg in two)
    resets: list[dict[str, Any]] = [{"reset_in": 1800}, {"reset_at": 1_700_001_800}]
    for reset in resets:
        assert here.report_budget(0, 5000, **reset).settlement is None
        refused = there.try_acquire()
        assert (refused.allowed, refused.retry_after) == (False, 1800)
    clock.advance(1800)
    assert there.peek(0).remaining == 5000


def test_a_report_of_an_earlier_call_comes_too_late(store, name):
    limiter = store.points(name, 1000, 1_000_000)
    earlier = limiter.acquire(estimate=10)
    later = limiter.acquire(estimate=10)
    assert limiter.report_budget(500, permit=later.id).settlement is None
    assert limiter.report_budget(900, permit=earlier).ignored == (
        "a later answer was learned before",
    )


@pytest.mark.parametrize("form", ["object", "text", "bytes"])
def test_a_permit_learns_what_its_call_did_cost(store, name, form):
    limiter = store.points(name, 1000, 20)
    permit = limiter.acquire(estimate=252)
    body: object = shopify(12, 988)
    if form != "object":
        body = json.dumps(body)
    if form == "bytes":
        body = str(body).encode()
    assert permit.learn_from_response({}, body, provider="shopify").settlement == "settled"
    assert permit.points_used(12) == "already"
    assert limiter.peek(0).remaining >= 988
    assert limiter.stats().corrections == 1


def test_a_permit_learns_on_an_event_loop(store, name, run):
    async def main():
        limiter = store.points(name, 1000, 1_000_000)
        async with limiter.within_limit(estimate=252) as permit:
            permit.learn_from_response({}, shopify(12, 900, rate=0.001))
        assert (await limiter.apeek(0)).remaining == 900
        assert await permit.points_used(12) == "already"
        permit = await limiter.aacquire(estimate=100)
        assert (
            await permit.learn_from_response([], shopify(50, 800, rate=0.001))
        ).settlement == "settled"
        assert (
            await permit.alearn_from_response([], shopify(50, 800, rate=0.001))
        ).settlement == "already"
        plain = limiter.acquire(estimate=100)
        assert (
            await plain.alearn_from_response([], shopify(50, 700, rate=0.001))
        ).settlement == "settled"

    run(main())


def test_a_lesson_takes_effect_though_its_task_is_cancelled(redis, name, run):
    async def main():
        limiter = redis.points(name, 1000, 1_000_000)
        permit = await limiter.aacquire(estimate=252)
        lesson = permit.learn_from_response({}, shopify(12, 900, rate=0.001))

        async def wait():
            await lesson

        waiting = asyncio.create_task(wait())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert (await lesson).settlement == "settled"
        assert (await limiter.apeek(0)).remaining == 900

    run(main())


def test_the_end_of_the_body_raises_what_went_wrong_with_a_lesson(server, name, run):
    async def main():
        limiter = Paddlegate(server.url, timeout=PATIENT).points(name, 1000, 20)
        async with limiter.within_limit(estimate=252) as permit:
            server.stop()
            permit.learn_from_response({}, shopify(12, 988))

    with pytest.raises(ConnectionError):
        run(main())


def test_a_permit_without_an_estimate_learns_too(store, name):
    limiter = store.window(name, 100, 3600)
    with limiter.within_limit() as permit:
        headers = {"RateLimit": '"a";r=20;t=100', "RateLimit-Policy": '"a";q=100;w=3600'}
        assert permit.learn_from_response(headers).settlement is None
    assert limiter.peek(0).remaining == 20


def test_a_refusal_pauses_all_processes(redis, other, name):
    here, there = redis.points(name, 1000, 20), other.points(name, 1000, 20)
    assert (
        here.learn_from_response(
            {"retry-after": "30"}, status=HTTPStatus.TOO_MANY_REQUESTS
        ).settlement
        is None
    )
    refused = there.try_acquire(1)
    assert refused.reason == "paused"
    assert 25 < refused.retry_after <= 30
    with pytest.raises(OverLimit):
        there.acquire(1)
    here.resume()
    assert there.learn_from_response({"retry-after": "7200"}, status=503).settlement is None
    assert 3590 < (here.runtime_state().paused_for or 0) <= 3600
    here.resume()
    there.learn_from_response({"retry-after": "7200"}, status=503, max_pause="minute")
    assert 50 < (here.runtime_state().paused_for or 0) <= 60
    here.resume()
    assert there.learn_from_response({}, status=429).learned == ()
    assert there.learn_from_response({}, status=429, default_pause=90).pause == 90
    assert 80 < (here.runtime_state().paused_for or 0) <= 90


def test_the_usage_of_a_stream_settles_its_permit(store, name):
    limiter = store.points(name, 1000, 1_000_000)
    permit = limiter.acquire(estimate=252)
    usage = StreamUsage()
    assert (usage.body, usage.ignored) == ("", ())
    stream = b'data: {"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}\n\n'
    for chunk in (stream[:20].decode(), bytearray(stream[20:30]), memoryview(stream)[30:]):
        usage.feed(chunk)
    assert permit.learn_from_response({}, usage, status=200).cost == 12
    assert limiter.peek(0).remaining == 988
    refused("chunk", usage.feed, 5)
    refused("chunk", usage.feed, None)


def test_without_its_permit_a_cost_settles_nothing(store, name):
    limiter = store.points(name, 1000, 1_000_000)
    permit = limiter.acquire(estimate=252)
    body = {"extensions": {"cost": {"requestedQueryCost": 252, "actualQueryCost": 12}}}
    assert limiter.learn_from_response({}, body).settlement is None
    assert limiter.peek(0).remaining == 748
    assert limiter.learn_from_response({}, body, permit=permit.id).settlement == "settled"
    assert limiter.peek(0).remaining == 988
    assert limiter.learn_from_response({}, body, permit=f"x{permit.id}").settlement == "unknown"


# As the clients give them: plain classes with the same methods.


class OfHttpx:
    def __init__(self, *pairs):
        self.pairs = pairs

    def items(self):
        joined = {name: ", ".join(v for n, v in self.pairs if n == name) for name, _ in self.pairs}
        return joined.items()

    def multi_items(self):
        return list(self.pairs)


class OfRequests(dict[str, str]):
    pass


class OfAiohttp:
    def __init__(self, *pairs):
        self.pairs = pairs

    def items(self):
        return iter(self.pairs)


TWICE = [("X-A", "1"), ("Set-Cookie", "a"), ("Set-Cookie", "b")]
MESSAGE = "".join(f"{name}: {value}\r\n" for name, value in TWICE).encode() + b"\r\n"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (OfHttpx(*TWICE), TWICE),
        (OfAiohttp(*TWICE), TWICE),
        (http.client.parse_headers(io.BytesIO(MESSAGE)), TWICE),
        (OfRequests(TWICE), [TWICE[0], TWICE[2]]),
        (types.MappingProxyType({"a": 1, "b": None, "c": ["x", 2, None]}), "a1 cx c2"),
        ([(b"a", b"\xe9"), ["b", 1.5]], "a\xe9 b1.5"),
        (((name, value) for name, value in TWICE), TWICE),
        ({}, []),
        ([], []),
    ],
)
def test_headers(headers, expected):
    if isinstance(expected, str):
        expected = [(part[0], part[1:]) for part in expected.split()]
    assert header_pairs(headers) == expected


BAD: list[Any] = [None, 5, "a: b", b"", "", ["ab"], [b"ab"], [("a",)], [("a", "b", "c")], {1: "a"}]
BAD += [{"a": object()}, {"a": {}}, {None: "a"}, [None]]


@pytest.mark.parametrize("bad", BAD)
def test_headers_are_checked(store, name, bad):
    refused("headers", store.window(name, 1, 60).learn_from_response, bad)


def refused(argument, verb, *arguments, **named):
    with pytest.raises(InvalidError) as caught:
        verb(*arguments, **named)
    assert caught.value.argument == argument


@pytest.mark.parametrize("bad", [5, True, object(), {"a": object()}, {1, 2}, [b"a"]])
def test_bodies_are_checked(name, bad):
    permit = Paddlegate("memory://").points(name, 10, 1).acquire(estimate=5)
    refused("body", permit.learn_from_response, {}, bad)
    assert permit.points_used(5) == "settled"


def test_what_is_not_understood_says_nothing(store, name):
    limiter = store.window(name, 10, 60)
    circle: dict[str, object] = {}
    circle["circle"] = circle
    refused("body", limiter.learn_from_response, {}, circle)
    bodies: list[Any] = [b"\xff\xfe\x00", "\ud800", "{", "[" * 100_000, None, [], memoryview(b"1")]
    for body in bodies:
        assert limiter.learn_from_response({"X": "\udcff", "\ud800": "1"}, body).settlement is None
    assert limiter.runtime_state().version == 0


def test_other_arguments_are_checked(name):
    limiter = Paddlegate("memory://").window(name, 10, 60)
    for status in 65_536, -1, "200", 200.0, True:
        refused("status", limiter.learn_from_response, {}, status=status)
    for provider in "", "Shopify", None, 5, "\ud800":
        refused("provider", limiter.learn_from_response, {}, provider=provider)
    for permit in "", "x" * 581, 5, b"x", "\ud800", object():
        refused("permit", limiter.learn_from_response, {}, permit=permit)
        refused("permit", limiter.report_budget, 5, permit=permit)
    assert limiter.runtime_state().version == 0


QUERY = "query ($n: Int = 10) { products(first: $n) { edges { node { id title } } } }"


def test_the_cost_of_a_query():
    assert graphql_cost(QUERY) == 6
    assert graphql_cost(QUERY, {"n": 50}) == graphql_cost(QUERY, b'{"n": 50}') == 9
    assert graphql_cost(QUERY, types.MappingProxyType({"n": 50}), rules="shopify") == 9
    assert graphql_cost(QUERY, '{"n": 50}', rules="github") == 1
    both = "query a { shop { id } } query b { shop { id } orders(first: 5) { nodes { id } } }"
    assert graphql_cost(both, operation="b") > graphql_cost(both, operation="a")


@pytest.mark.parametrize("bad", ["[]", [], 5, "{", b"\xff", {"a": object()}, "\ud800", "{}{}"])
def test_variables_are_checked(bad):
    refused("variables", graphql_cost, QUERY, bad)


def test_the_other_arguments_of_a_cost():
    for query in "", "{", "{ a ", None, 5, "\ud800":
        refused("query", graphql_cost, query)
    for rules in "", "Shopify", None, 5:
        refused("rules", graphql_cost, QUERY, rules=rules)
    for operation in "c", 5, "\ud800":
        refused("operation", graphql_cost, QUERY, operation=operation)


def test_the_answer_says_what_was_learned_and_what_was_not(store, name):
    limiter = store.bucket(name, 100, 60)
    headers = {"RateLimit": '"s";r=5;t=30', "RateLimit-Policy": '"s";q=1000000000000;w=60'}
    told = limiter.learn_from_response(headers, status=200)
    assert isinstance(told, Learned)
    assert told.ignored == ("limit: 1000000000000 is above max_learned, 1000 applies",)
    assert "remaining" in told.learned
    assert limiter.runtime_state().learned.get("bucket") in {
        None,
        LimitSettings("bucket", "bucket", 1000, 60),
    }
    told = limiter.learn_from_response(headers, status=200, max_learned=10**12)
    assert told.learned == ("limit", "remaining")
    assert limiter.learn_from_response({"Retry-After": "30"}).ignored == (
        "pause: status is missing",
    )
    assert limiter.runtime_state().paused_for is None
    assert limiter.learn_from_response({}).ignored == ("not a rate limit answer",)
    refused("max_learned", limiter.learn_from_response, {}, max_learned=-1)


@pytest.mark.parametrize("kind", ["leaky", "window"])
def test_what_is_left_is_not_raised_in_silence(store, name, kind):
    limiter = getattr(store, kind)(name, 1000, 3600)
    limiter.try_acquire(900)
    told = limiter.report_budget(500)
    assert told.learned == ()
    [reason] = told.ignored
    assert reason.startswith("remaining: ")


def test_discord_says_that_a_refusal_is_global(store, name):
    route = store.bucket(name, 50, 1)
    headers = {"X-RateLimit-Bucket": "abcd1234", "X-RateLimit-Global": "true"}
    told = route.learn_from_response(headers, {"retry_after": 2.5, "global": True}, status=429)
    assert (told.scope, told.bucket, told.pause) == ("global", "abcd1234", 2.5)
    assert told.learned == ("pause",)
