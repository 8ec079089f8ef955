# mypy: allow-untyped-calls
"""Bots of discord.py that share Discord's limits, against a Discord that counts for itself.

See tests/discord/server.mjs for that Discord, and discord_app.py for the bots.
"""

import asyncio
import contextlib
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import aiohttp
import discord
import pytest
import redis as client
from conftest import SOAK  # type: ignore[import-not-found]
from discord.http import Route
from paddlegate import InvalidError, OverLimit, Paddlegate, UnavailableError
from paddlegate._native import DiscordRoute, discord_window
from paddlegate.discord import WINDOW, Discord, limited

HERE = Path(__file__).parent
SHARED = HERE.parents[2] / "tests" / "discord"
PATIENT = 50
CHANNEL, OTHER = 100000000000000001, 100000000000000002
WITH_SHARED_LIMIT = 100000000000000009


class Server:
    """The simulated Discord."""

    def __init__(self, **numbers):
        words = ["node", str(SHARED / "server.mjs"), json.dumps(numbers)]
        self.process: Any = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())
        self.base = f"http://127.0.0.1:{self.port}/api/v10"

    def set(self, **numbers):
        request = Request(f"http://127.0.0.1:{self.port}/set", json.dumps(numbers).encode())
        urlopen(request, timeout=PATIENT).read()

    def report(self):
        with urlopen(f"http://127.0.0.1:{self.port}/report", timeout=PATIENT) as response:
            return json.load(response)


@pytest.fixture
def serve():
    """Start a Discord with numbers of its own."""
    with contextlib.ExitStack() as stack:

        def start(**numbers):
            server = Server(**numbers)
            stack.callback(server.process.wait, PATIENT)
            stack.callback(server.process.stdout.close)
            stack.callback(server.process.stdin.close)
            return server

        yield start


def bots(count, server, url, name, channels=(CHANNEL,), **given):
    """Run bots in processes of their own; return the sum of how their requests ended."""
    given = {"port": server.port, "url": url, "name": name, "channels": channels} | given
    given.setdefault("options", {})
    words = [sys.executable, str(HERE / "discord_app.py"), json.dumps(given)]
    running = [subprocess.Popen(words, stdout=subprocess.PIPE) for _ in range(count)]
    ends: Counter[str] = Counter()
    for out in [process.communicate(timeout=PATIENT)[0] for process in running]:
        ends.update(json.loads(out))
    return ends


@pytest.mark.parametrize("number", range(len(json.loads((SHARED / "routes.json").read_text()))))
def test_routes_are_those_of_all_languages(number):
    case = json.loads((SHARED / "routes.json").read_text())[number]
    route = DiscordRoute.of(case["method"], case["path"], case.get("now_ms", 0))
    found = None
    if route is not None:
        found = [route.name, route.major, route.is_global, route.is_callback, route.has_token]
    assert found == case["route"]


@pytest.mark.parametrize("case", json.loads((SHARED / "numbers.json").read_text()))
def test_numbers_are_those_of_all_languages(case):
    limit, remaining, reset_after = map(case["headers"].get, WINDOW)
    found = discord_window(limit, remaining, reset_after, 50)
    assert (found and list(found)) == case["numbers"]


def test_bots_share_the_limit_of_a_bucket(serve, url, name):
    """Typing and messages have a bucket each, and each channel has its own."""
    server = serve(limit=3, intervalMs=1000)
    began = time.monotonic()
    ends = bots(3, server, url, name, (CHANNEL, OTHER), messages=6, typing=3)
    report = server.report()
    assert ends == {"sent": 36, "typed": 18}
    assert time.monotonic() - began >= 5, "18 messages, three a second"
    # One window of each bucket, when the machine stalls while requests are on their way.
    assert report["user"] <= (0 if SOAK else 12)
    assert (report["global"], report["invalid"]) == (0, report["user"])


@pytest.mark.soak
def test_the_library_alone_is_refused(serve, url):
    """Shows that the simulated Discord sees what the adapter prevents."""
    server = serve(limit=3, intervalMs=1000)
    bots(3, server, url, "", (CHANNEL, OTHER), messages=6, typing=3)
    assert server.report()["user"] > 12


@pytest.mark.soak
def test_bots_share_the_global_limit(serve, url, name):
    server = serve(limit=1000, **{"global": 20})
    channels = [CHANNEL + i for i in range(30)]
    began = time.monotonic()
    ends = bots(3, server, url, name, channels, messages=1, options={"per_second": 18})
    assert ends == {"sent": 90}
    assert time.monotonic() - began >= 4, "93 requests, 18 a second"
    # Requests that a machine holds back which stalls come with those of the next second.
    assert server.report()["global"] <= 40


def test_invalid_requests_stop_all_bots(serve, url, name):
    server = serve(banAfter=120, forbid=True)
    channels = [CHANNEL + i for i in range(30)]
    ends = bots(3, server, url, name, channels, messages=2, options={"invalid_limit": 12})
    report = server.report()
    # The guard counts a request when it is answered, so that some more are on their way.
    assert 12 <= report["invalid"] == ends["403"] < 120
    assert report["banned"] == 0
    assert ends["held"] == 180 - ends["403"]
    # A process that starts later is held back too, at its first request.
    with pytest.raises(OverLimit):
        asyncio.run(sent(server, limited(Paddlegate(url, timeout=20), name, invalid_limit=12)))


async def sent(server, trace, *paths):
    """Send requests one after the other, as discord.py sends them; return the statuses."""
    statuses = []
    async with aiohttp.ClientSession(trace_configs=[trace]) as session:
        for path in paths or ["/users/@me"]:
            method = "GET" if path.startswith("/users") else "POST"
            async with session.request(method, server.base + path) as response:
                statuses.append(response.status)
    return statuses


def bot_of(store, name):
    """Return the limits of a bot with the numbers of Discord."""
    return Discord(store, name, 50, 9_500, 60, None)


def messages(channel):
    return f"/channels/{channel}/messages"


def test_a_refusal_of_the_bot_pauses_all_its_processes(serve, url, name):
    server = serve(**{"global": 1, "globalMs": 600_000})
    pg, elsewhere = Paddlegate(url, timeout=20), Paddlegate(url, timeout=20)
    bot = bot_of(pg, name)
    channels = messages(CHANNEL), messages(OTHER)
    assert asyncio.run(sent(server, bot.trace(), *channels)) == [200, 429]
    paused = bot_of(elsewhere, name).bot.runtime_state().paused_for
    assert paused is not None
    assert 500 < paused <= 600
    with pytest.raises(OverLimit):
        asyncio.run(sent(server, limited(elsewhere, name), "/users/@me"))
    assert server.report()["requests"] == 2
    # Discord does not count the answers to interactions, and those of webhooks, for the bot.
    free = f"/interactions/{CHANNEL}/a-token/callback", f"/webhooks/{CHANNEL}/a-token"
    assert asyncio.run(sent(server, limited(elsewhere, name), *free)) == [200, 200]


def test_a_refusal_of_a_shared_resource_pauses_only_that(serve, url, name):
    server = serve(sharedMs=600_000)
    bot = bot_of(Paddlegate(url, timeout=20), name)
    paths = messages(WITH_SHARED_LIMIT), messages(CHANNEL)
    assert asyncio.run(sent(server, bot.trace(), *paths)) == [429, 200]
    assert bot.invalid.stats().units == 0, "it is not the fault of the bot"
    with pytest.raises(OverLimit) as caught:
        asyncio.run(sent(server, bot.trace(), paths[0]))
    assert caught.value.reason == "paused"
    assert asyncio.run(sent(server, bot.trace(), messages(OTHER))) == [200]


def test_a_refusal_whose_body_breaks_is_learned(url, name):
    head = (
        "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nRetry-After: 60\r\n"
        "X-RateLimit-Scope: user\r\nContent-Length: 100\r\n\r\n"
    )
    requests = []

    async def refuse(reader, writer):
        requests.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(head.encode() + b'{"retry_af')
        writer.close()

    async def run():
        server = await asyncio.start_server(refuse, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        address = f"http://127.0.0.1:{port}/api/v10{messages(CHANNEL)}"
        trace = limited(Paddlegate(url, timeout=20), name, wait_timeout=1)
        async with server, aiohttp.ClientSession(trace_configs=[trace]) as session:
            async with session.post(address) as response:
                with pytest.raises(aiohttp.ClientPayloadError):
                    await response.text()
            with pytest.raises(OverLimit):
                await session.post(address)

    asyncio.run(run())
    assert len(requests) == 1


def test_a_response_of_the_library_itself_is_learned(serve, url, name):
    """A webhook of discord.py sends with a session of its own."""
    server = serve(limit=4, intervalMs=1000)
    Route.BASE = server.base

    async def run():
        trace = limited(Paddlegate(url, timeout=20), name)
        async with aiohttp.ClientSession(trace_configs=[trace]) as session:
            webhook = discord.Webhook.partial(CHANNEL, "a-token", session=session)
            await asyncio.gather(*(webhook.send(f"message {i}") for i in range(8)))

    asyncio.run(run())
    report = server.report()
    assert list(report["granted"].values()) == [8]
    assert (report["user"], report["invalid"]) == (0, 0)


def test_no_token_is_stored(serve, url, name):
    server = serve()
    trace = limited(Paddlegate(url, timeout=20), name)
    assert asyncio.run(sent(server, trace, f"/webhooks/{CHANNEL}/a-secret")) == [200]
    keys = client.Redis.from_url(url).keys(f"*{name}*")
    assert keys
    assert not any(b"a-secret" in key for key in keys)


def test_without_a_server_on_unavailable_decides(serve, name):
    server = serve()
    away = Paddlegate("redis://127.0.0.1:1", timeout=0.1)
    with pytest.raises(UnavailableError):
        asyncio.run(sent(server, limited(away, name)))
    trace = limited(away, name, on_unavailable="fail_open")
    assert asyncio.run(sent(server, trace)) == [200]


def test_requests_to_others_pass(serve, url, name):
    server = serve()
    server.base = server.base.removesuffix("/api/v10")
    trace = limited(Paddlegate(url, timeout=20), name)
    assert asyncio.run(sent(server, trace, "/users/avatar.png")) == [200]
    assert not client.Redis.from_url(url).keys(f"*{name}*")


@pytest.mark.parametrize(
    ("argument", "given"),
    [
        ("paddlegate", {"paddlegate": "redis://localhost"}),
        ("name", {"name": ""}),
        ("name", {"name": "x" * 129}),
        ("name", {"name": 7}),
        ("per_second", {"per_second": 0}),
        ("per_second", {"per_second": True}),
        ("invalid_limit", {"invalid_limit": 10_001}),
        ("invalid_limit", {"invalid_limit": "9"}),
        ("wait_timeout", {"wait_timeout": -1}),
        ("on_unavailable", {"on_unavailable": "open"}),
    ],
)
def test_bad_input_is_named(argument, given):
    with pytest.raises(InvalidError) as caught:
        limited(**{"paddlegate": Paddlegate("memory://"), **given})
    assert caught.value.argument == argument
