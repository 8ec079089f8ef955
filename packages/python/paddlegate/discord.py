"""Discord's limits for all processes of a bot: of each route, of the bot, of invalid requests.

    from paddlegate.discord import limited

    client = discord.Client(intents=intents, http_trace=limited(pg))

Each request takes its turn before it is sent, and each response corrects the limits of all
processes. Needs aiohttp, which discord.py brings.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections import OrderedDict
from hashlib import sha256
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import aiohttp

from paddlegate._errors import InvalidError, UnavailableError, shown
from paddlegate._native import DiscordRoute, discord_window
from paddlegate._paddlegate import Paddlegate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paddlegate._limiter import Limiter
    from paddlegate._native import _OnUnavailable
    from paddlegate._options import LimiterOptions
    from paddlegate._waiting import Span

__all__ = ["limited"]

logger = logging.getLogger("paddlegate.discord")

WINDOW = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset-After")
MARGIN = 0.05
"""Seconds by which windows are longer than Discord's, since requests take different times to it."""
INVALID_INTERVAL = 600
UNKNOWN = (1, 1.0)
"""The limit of a route before its first response, in units and seconds."""
WEBHOOK = (5, 5.0)
"""That of a webhook's route. An interaction has a few requests to one that is then not used again,
so its numbers are stored only after some requests."""
STORED_AFTER = 20
MOST_ROUTES = 10_000
"""Routes that one process remembers."""
MAX_NAME = 128
LONGEST_NAME = 256
"""Bytes of a name; longer ones are shortened by a hash."""


def limited(
    paddlegate: Paddlegate,
    name: str = "discord",
    *,
    per_second: int = 50,
    invalid_limit: int = 9_500,
    wait_timeout: Span = 60,
    on_unavailable: _OnUnavailable | None = None,
) -> aiohttp.TraceConfig:
    """Return the `http_trace` of a discord.py client, or a trace of an `aiohttp.ClientSession`.

    Give all processes of a bot the same `name`, and each bot another one. `per_second` is the
    global limit of the bot. After `invalid_limit` responses 401, 403 and 429 in ten minutes no
    process sends anything, since Discord bans an address with 10,000.

    A request that would have to wait for longer than `wait_timeout`, by default a minute, raises
    `OverLimit`, also in discord.py. aiohttp counts the wait in the whole time of a request, which
    is 5 minutes by default. When no store can be reached, `on_unavailable` decides. Raises
    `InvalidError`, argument `paddlegate`, `name`, `per_second` or `invalid_limit`, or the name of
    an option.
    """
    return Discord(
        paddlegate, name, per_second, invalid_limit, wait_timeout, on_unavailable
    ).trace()


class _Known:
    """What this process knows of a route: its limiters and the last numbers that it reported."""

    __slots__ = ("bucket", "limiters", "numbers", "responses")

    def __init__(self, own: Limiter) -> None:
        self.limiters = [own]
        self.bucket: str | None = None
        self.numbers: tuple[int, float] | None = None
        self.responses = 0


class Discord:
    """The limits of a bot, by the arguments of `limited`.

    A request takes its turn before it is sent, and its response corrects the limits.
    """

    def __init__(
        self,
        paddlegate: Paddlegate,
        name: str,
        per_second: int,
        invalid_limit: int,
        wait_timeout: Span,
        on_unavailable: _OnUnavailable | None,
    ) -> None:
        if not isinstance(paddlegate, Paddlegate):
            raise InvalidError("must be a Paddlegate", "paddlegate")
        if not isinstance(name, str) or not 1 <= len(name.encode()) <= MAX_NAME:
            raise InvalidError(f"must be text of 1 to {MAX_NAME} bytes: name={shown(name)}", "name")
        for argument, units in (("per_second", per_second), ("invalid_limit", invalid_limit)):
            if not isinstance(units, int) or isinstance(units, bool) or not 1 <= units <= 10_000:
                raise InvalidError(f"must be from 1 to 10000: {argument}={shown(units)}", argument)
        self._paddlegate = paddlegate
        self._name = name
        self._per_second = per_second
        self._wait_timeout = wait_timeout
        # One group, so that all can decide together in a cluster too.
        options: LimiterOptions = {"group": name, "on_unavailable": on_unavailable}
        self._options: LimiterOptions = {**options, "statistics": False}
        self.bot = paddlegate.window(f"{name}:global", per_second, 1 + MARGIN, **options)
        """The limiter of all requests of the bot."""
        self.invalid = paddlegate.window(
            f"{name}:invalid", invalid_limit, INVALID_INTERVAL, **options
        )
        """The limiter of invalid requests; paused while it is full."""
        paddlegate.together(self.bot, self.invalid, wait_timeout=wait_timeout)
        self._routes: OrderedDict[tuple[str, str], _Known] = OrderedDict()

    def trace(self) -> aiohttp.TraceConfig:
        """Return the trace that limits the requests of a session to Discord's API."""
        trace = aiohttp.TraceConfig()
        trace.on_request_start.append(self._on_request_start)
        trace.on_request_end.append(self._on_request_end)
        return trace

    async def acquire(self, route: DiscordRoute) -> None:
        """Wait for the turn of a request: one decision of all limits that count it."""
        limiters = [self.invalid]
        if not route.is_callback:
            limiters += self._known(route).limiters
        if route.is_global:
            limiters.append(self.bot)
        together = self._paddlegate.together(*limiters, wait_timeout=self._wait_timeout)
        # Only a response says whether the request was invalid; here the pause of the guard counts.
        await together.aacquire({self.invalid.name: 0})

    async def learn(
        self, route: DiscordRoute, status: int, headers: Mapping[str, str], body: str = ""
    ) -> None:
        """Correct the limits of all processes by a response; `body` matters for a 429 only."""
        scope = headers.get("X-RateLimit-Scope")
        if not route.is_callback:
            known = self._known(route)
            self._learn_bucket(route, known, headers.get("X-RateLimit-Bucket"))
            if status != 429:
                # A refusal by something before the route has no headers, and says nothing of it.
                without = self._per_second if status < 300 else None
                limit, remaining, reset_after = map(headers.get, WINDOW)
                window = discord_window(limit, remaining, reset_after, without)
                await self._learn_numbers(route, known, window)
            for limiter in known.limiters:
                result = await limiter.alearn_from_response(
                    headers, body, status=status, provider="discord"
                )
                scope = result.scope or scope
                if scope == "global" and result.pause is not None:
                    await self.bot.apause(result.pause)
        if status in (401, 403) or (status == 429 and scope != "shared"):
            await self._count_invalid()

    def _known(self, route: DiscordRoute) -> _Known:
        key = (route.name, route.major)
        known = self._routes.get(key)
        if known is None:
            known = self._routes[key] = _Known(self._limiter(route, route.name))
            if len(self._routes) > MOST_ROUTES:
                self._routes.popitem(last=False)
        self._routes.move_to_end(key)
        return known

    def _limiter(self, route: DiscordRoute, name: str) -> Limiter:
        name = f"{self._name}:{name}:{route.major}"
        if len(name.encode()) > LONGEST_NAME:
            name = f"{self._name}:{sha256(name.encode()).hexdigest()}"
        units = WEBHOOK if route.has_token else UNKNOWN
        return self._paddlegate.window(name, *units, **self._options)

    def _learn_bucket(self, route: DiscordRoute, known: _Known, bucket: str | None) -> None:
        if bucket is None or bucket == known.bucket:
            return
        # The limiter of the route stays: processes that have not yet seen the bucket share it.
        known.limiters = [known.limiters[0], self._limiter(route, f"bucket:{bucket}")]
        known.bucket, known.numbers = bucket, None

    async def _learn_numbers(
        self, route: DiscordRoute, known: _Known, numbers: tuple[int, float] | None
    ) -> None:
        """Report size and length of the window, for all processes, where they are new."""
        known.responses += 1
        if numbers is None or numbers == known.numbers:
            return
        if route.has_token and known.responses <= STORED_AFTER:
            return
        known.numbers = numbers
        units, seconds = numbers
        for limiter in known.limiters:
            await limiter.areport_budget(limit=units, interval=seconds + MARGIN)

    async def _count_invalid(self) -> None:
        if (await self.invalid.adebit(1)).remaining:
            return
        full = await self.invalid.apeek()
        if full.reason != "paused":
            seconds = full.retry_after or INVALID_INTERVAL
            await self.invalid.apause(seconds)
            logger.error("too many invalid requests: none is sent for %.0f seconds", seconds)

    async def _on_request_start(
        self,
        _session: aiohttp.ClientSession,
        context: SimpleNamespace,
        request: aiohttp.TraceRequestStartParams,
    ) -> None:
        now_ms = time.time_ns() // 1_000_000
        context.route = DiscordRoute.of(request.method, request.url.raw_path, now_ms)
        if context.route is not None:
            await self.acquire(context.route)

    async def _on_request_end(
        self,
        _session: aiohttp.ClientSession,
        context: SimpleNamespace,
        request: aiohttp.TraceRequestEndParams,
    ) -> None:
        if context.route is None:
            return
        response: Any = request.response
        body = ""
        if response.status == 429:
            # The head counts also when the body breaks; the caller finds the error when it reads.
            with contextlib.suppress(aiohttp.ClientError):
                body = await response.text("utf-8", errors="replace")
        try:
            await self.learn(context.route, response.status, response.headers, body)
        except UnavailableError as error:
            # The request has succeeded; the next response is learned instead.
            logger.warning("a response was not learned: %s", error)
