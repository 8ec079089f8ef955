"""`Paddlegate`: a store to make limiters on."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from paddlegate import _native
from paddlegate._asyncio import Links, can_watch_sockets, run_operation
from paddlegate._convert import json_text
from paddlegate._daemon_thread import call_in_thread
from paddlegate._gate import Gate
from paddlegate._hub import Hubs
from paddlegate._limiter import Limiter
from paddlegate._statistics import to_limiter_info

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from types import TracebackType

    from typing_extensions import Self

    from paddlegate._convert import Json
    from paddlegate._native import _OnUnavailable, _Policy
    from paddlegate._statistics import LimiterInfo
    from paddlegate._waiting import Span

CONCURRENT_PARTS = 16
"""How many parts of the list of limiters are asked for together, so that others are not kept."""


class Paddlegate(_native.Paddlegate):
    """Makes limiters that share one store. Making one connects to nothing and starts nothing.

    `url` is `redis://[user:password@]host[:port][/db]`, `rediss://` for TLS,
    `unix:///path[?db=n]`, or `memory://`; by default the environment variable `PADDLEGATE_URL`,
    and the memory of this process if that is not set. More nodes of a cluster may follow the
    first after commas. Every call has an answer or raises `UnavailableError` within `timeout`,
    by default one second.

    All makers of limiters take `wait_timeout`, by default 5 seconds; `policy`, by default
    "raise", with which a refused body raises `OverLimit`, while "ignore" skips it; and `ttl`,
    which is how long statistics are kept after the last use, by default 90 days. And
    `on_unavailable`, which is what a limiter answers while the store cannot decide: "raise" an
    `UnavailableError`, the default; "closed" refuses; "open" grants, uncounted; "local" lets this
    process decide alone, with `share` percent of every limit, 1 to 100, by default 100. Such a
    decision is `degraded`, and nobody waits.
    """

    def __init__(self, url: str | None = None, *, timeout: Span | None = None) -> None:
        # The links of the event loops that use this store. A loop owns its links.
        self._links = Links()
        self._hubs = Hubs()

    def close(self) -> None:
        """Close all connections of this process to the store, those of its event loops too.

        Those who wait leave the queue and get an `InvalidError`, as does every later call that
        needs the server. Calls that are under way still get their answers. Twice is as good as
        once; in memory this does nothing, and a forked process closes its own connections.
        """
        if self._timeout is None:
            return
        until = monotonic() + self._timeout
        self._hubs.close(until)
        self._close()
        self._links.close(until)

    async def aclose(self) -> None:
        """Like `close`; the event loop goes on meanwhile."""
        await call_in_thread(asyncio.get_running_loop(), self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def concurrent(
        self,
        name: str,
        limit: int,
        *,
        wait_timeout: Span | None = None,
        lock_timeout: Span | None = None,
        policy: _Policy | None = None,
        ttl: Span | None = None,
        on_unavailable: _OnUnavailable | None = None,
        share: int | None = None,
    ) -> Limiter:
        """Make a limiter: at most `limit` at once; 0 is a pause.

        A lease that is not released ends after `lock_timeout`, by default 30 seconds.
        """
        return Limiter(
            self,
            name,
            [("concurrency", limit)],
            wait_timeout,
            lock_timeout=lock_timeout,
            policy=policy,
            ttl=ttl,
            on_unavailable=on_unavailable,
            share=share,
        )

    def bucket(
        self,
        name: str,
        limit: int,
        interval: Span,
        offset: Span = 0,
        *,
        wait_timeout: Span | None = None,
        policy: _Policy | None = None,
        ttl: Span | None = None,
        on_unavailable: _OnUnavailable | None = None,
        share: int | None = None,
    ) -> Limiter:
        """Make a limiter: at most `limit` in each interval since 1970 (UTC).

        For days of another time zone, the intervals start `offset` earlier.
        """
        limits = [("bucket", limit, interval, offset)]
        return Limiter(
            self,
            name,
            limits,
            wait_timeout,
            policy=policy,
            ttl=ttl,
            on_unavailable=on_unavailable,
            share=share,
        )

    def window(
        self,
        name: str,
        limit: int,
        interval: Span,
        *,
        wait_timeout: Span | None = None,
        policy: _Policy | None = None,
        ttl: Span | None = None,
        on_unavailable: _OnUnavailable | None = None,
        share: int | None = None,
    ) -> Limiter:
        """Make a limiter: at most `limit` in any interval."""
        limits = [("window", limit, interval)]
        return Limiter(
            self,
            name,
            limits,
            wait_timeout,
            policy=policy,
            ttl=ttl,
            on_unavailable=on_unavailable,
            share=share,
        )

    def leaky(
        self,
        name: str,
        capacity: int,
        drain: Span,
        *,
        wait_timeout: Span | None = None,
        policy: _Policy | None = None,
        ttl: Span | None = None,
        on_unavailable: _OnUnavailable | None = None,
        share: int | None = None,
    ) -> Limiter:
        """Make a limiter: a burst of `capacity`, which drains fully in `drain`."""
        limits = [("leaky", capacity, drain)]
        return Limiter(
            self,
            name,
            limits,
            wait_timeout,
            policy=policy,
            ttl=ttl,
            on_unavailable=on_unavailable,
            share=share,
        )

    def points(
        self,
        name: str,
        capacity: int,
        refill: Span,
        *,
        wait_timeout: Span | None = None,
        policy: _Policy | None = None,
        ttl: Span | None = None,
        on_unavailable: _OnUnavailable | None = None,
        share: int | None = None,
    ) -> Limiter:
        """Make a limiter: a budget of `capacity` points, full again after `refill`."""
        limits = [("points", capacity, refill)]
        return Limiter(
            self,
            name,
            limits,
            wait_timeout,
            policy=policy,
            ttl=ttl,
            on_unavailable=on_unavailable,
            share=share,
        )

    def throttle(
        self,
        name: str,
        interval: Span,
        *,
        wait_timeout: Span | None = None,
        policy: _Policy | None = None,
        ttl: Span | None = None,
        on_unavailable: _OnUnavailable | None = None,
        share: int | None = None,
    ) -> Limiter:
        """Make a limiter: starts at least `interval` apart."""
        limits = [("throttle", interval)]
        return Limiter(
            self,
            name,
            limits,
            wait_timeout,
            policy=policy,
            ttl=ttl,
            on_unavailable=on_unavailable,
            share=share,
        )

    def unlimited(
        self,
        name: str = "unlimited",
        *,
        wait_timeout: Span | None = None,
        policy: _Policy | None = None,
        ttl: Span | None = None,
        on_unavailable: _OnUnavailable | None = None,
        share: int | None = None,
    ) -> Limiter:
        """Make a limiter that lets everything pass."""
        return Limiter(
            self,
            name,
            [("unlimited",)],
            wait_timeout,
            policy=policy,
            ttl=ttl,
            on_unavailable=on_unavailable,
            share=share,
        )

    def paused(
        self,
        name: str,
        *,
        wait_timeout: Span | None = None,
        policy: _Policy | None = None,
        ttl: Span | None = None,
        on_unavailable: _OnUnavailable | None = None,
        share: int | None = None,
    ) -> Limiter:
        """Make a limiter that lets nothing pass."""
        return Limiter(
            self,
            name,
            [("paused",)],
            wait_timeout,
            policy=policy,
            ttl=ttl,
            on_unavailable=on_unavailable,
            share=share,
        )

    def limiter(
        self,
        name: str,
        limits: Iterable[tuple[object, ...]] = (),
        *,
        wait_timeout: Span | None = None,
        lock_timeout: Span | None = None,
        policy: _Policy | None = None,
        ttl: Span | None = None,
        on_unavailable: _OnUnavailable | None = None,
        share: int | None = None,
        **kinds: tuple[object, ...] | Span,
    ) -> Limiter:
        """Make a limiter of up to eight limits, all charged or none.

        Write each limit by its kind, `concurrency=5, window=(100, 60), throttle=0.1`, or in a
        list, `[("window", 100, 60), ("throttle", 0.1)]`, which can hold a kind twice. Their
        order is the `index` of a decision. `lock_timeout` is how long leases last.
        """
        named = [
            (kind, *(numbers if isinstance(numbers, (tuple, list)) else (numbers,)))
            for kind, numbers in kinds.items()
        ]
        return Limiter(
            self,
            name,
            [*limits, *named] if named else limits,
            wait_timeout,
            lock_timeout=lock_timeout,
            policy=policy,
            ttl=ttl,
            on_unavailable=on_unavailable,
            share=share,
        )

    def limiters_from_document(
        self,
        document: Json,
        *,
        lock_timeout: Span | None = None,
        tenant: str | None = None,
        group: str | None = None,
        on_unavailable: _OnUnavailable | None = None,
        share: int | None = None,
    ) -> dict[str, Limiter]:
        """Make the limiters that a document defines, by name; the document is JSON or its object.

        It is in the format of Paddlegate, or of one of the systems that it understands (Open Job
        Spec, Conductor, Invantive, guild-queues). What it says of refused work is `on_limit` of
        a limiter. `lock_timeout` (Open Job Spec and Conductor) is how long a lease lasts,
        `tenant` (Open Job Spec) whose job it is, `group` (guild-queues) what is limited by itself.
        """
        loaded = self._load(json_text("document", document), lock_timeout, tenant, group)
        return {
            it.name: Limiter(self, it.name, it, on_unavailable=on_unavailable, share=share)
            for it in loaded
        }

    def load(
        self,
        path: str | os.PathLike[str],
        *,
        lock_timeout: Span | None = None,
        tenant: str | None = None,
        group: str | None = None,
        on_unavailable: _OnUnavailable | None = None,
        share: int | None = None,
    ) -> dict[str, Limiter]:
        """Make the limiters that a file defines, by name; see `limiters_from_document`.

        Raises `OSError` for a file that cannot be read.
        """
        document = Path(path).read_bytes()
        return self.limiters_from_document(
            document,
            lock_timeout=lock_timeout,
            tenant=tenant,
            group=group,
            on_unavailable=on_unavailable,
            share=share,
        )

    def invantive_gate(self, document: Json) -> Gate:
        """Make the gate of a `RateLimitControl` of Invantive; the document is JSON or its object.

        An `InvalidError` names the path to what is wrong in it.
        """
        return Gate(self, json_text("document", document))

    def conductor_limiter(
        self,
        definition: Json,
        run: Json,
        *,
        lock_timeout: Span | None = None,
        on_unavailable: _OnUnavailable | None = None,
        share: int | None = None,
    ) -> Limiter:
        """Make the limiter of a run of a Conductor workflow; both documents are JSON or objects.

        Its name is `conductor/workflow/` and the key that the definition gives the `run`, an
        object with `input`, `correlationId` and `version` as far as the key needs them; a run
        without a key has an unlimited one. A lease that is not renewed ends after
        `lock_timeout`, by default 30 seconds. The policy of the definition is its `on_limit`:
        "wait" for `QUEUE`, "raise" for `REJECT`.
        """
        loaded = self._workflow(
            json_text("definition", definition), json_text("run", run), lock_timeout
        )
        return Limiter(self, loaded.name, loaded, on_unavailable=on_unavailable, share=share)

    def limiters(self) -> list[LimiterInfo]:
        """List the limiters that any process has used, whatever its language, by name.

        A limiter leaves the list `ttl` after its last use.
        """
        return [to_limiter_info(entry) for entry in self._limiters()]

    async def alimiters(self) -> list[LimiterInfo]:
        """Like `limiters`."""
        loop = asyncio.get_running_loop()
        if not can_watch_sockets(loop):
            return await loop.run_in_executor(None, self.limiters)
        entries: list[_native._LimiterFields] = []
        parts = iter(range(self._parts))

        async def worker() -> None:
            for part in parts:
                cursor = 0
                while True:
                    page, cursor = await run_operation(
                        self._links, self._begin_list, self._begin_list, part, cursor
                    )
                    entries.extend(page)
                    if cursor == 0:
                        break

        await asyncio.gather(*(worker() for _ in range(CONCURRENT_PARTS)))
        return [to_limiter_info(entry) for entry in _native.sort_listed(entries)]
