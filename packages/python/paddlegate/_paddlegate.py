"""`Paddlegate`: a store on which limiters are created."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from paddlegate import _native
from paddlegate._asyncio import Links, can_watch_sockets, run_operation, running_loop
from paddlegate._convert import json_text
from paddlegate._daemon_thread import call_in_thread
from paddlegate._gate import Gate
from paddlegate._hub import Hubs
from paddlegate._limiter import Limiter
from paddlegate._limits import joined
from paddlegate._options import DocumentOptions, StateOptions, check, spelled_out
from paddlegate._statistics import to_limiter_info, to_limiter_page
from paddlegate._waiting import CLOSE_CANCEL_TIMEOUT

if TYPE_CHECKING:
    import os

    from typing_extensions import Self, Unpack

    from paddlegate._convert import Json
    from paddlegate._limits import LimitOfKind, Limits
    from paddlegate._native import (
        TestClock,
        _BlockAfter,
        _Mode,
        _OnLimit,
        _OnUnavailable,
        _Period,
        _Refund,
    )
    from paddlegate._options import LimiterOptions
    from paddlegate._statistics import LimiterInfo, LimiterPage
    from paddlegate._waiting import Span

CONCURRENT_PARTS = 16
"""The number of parts of the list of limiters that are read at the same time; more would delay
other calls."""


@spelled_out
class Paddlegate(_native.Paddlegate):
    """Creates limiters that share one store. Creating it starts no connection and no thread.

    `url` is `redis://[user:password@]host[:port][/db]`, `rediss://` for TLS, `unix:///path[?db=n]`,
    or `memory://`; by default the environment variable `PADDLEGATE_URL`, and the memory of this
    process if that is not set. More nodes of a cluster may follow the first after commas; with
    `redis+sentinel://host,host/master` they are sentinels. Every call returns or raises
    `UnavailableError` within `timeout`, by default one second. With a `clock` the store decides by
    that `TestClock`; in Redis it raises `InvalidError` unless the environment variable
    `PADDLEGATE_TEST_CLOCK` is 1.

    The methods that create a limiter without a document take a `name` of 1 to 512 bytes;
    `wait_timeout`, by default 5 seconds; `on_limit`, by default "raise", with which a refused body
    raises `OverLimit`, while "ignore" skips the body; `ttl`, the time for which statistics are kept
    after the last use, from one second to ten years, by default 90 days; and `group`, of 1 to 512
    bytes, whose limiters are on one node of a cluster, so that they can decide `together`. All
    processes must give a name the same group: with another, or none, it has another state. With
    `keyed`, by default False, the limiter has a state for each key, such as a user, and every call
    has a `key`: `per_user.allow(key="alice")`. A name has nothing in common with the keyed limiter
    of the same name. Without `statistics`, by default True, the limiter keeps no statistics and is
    not in the list of limiters; nothing of it remains soon after all units are available again.

    With the `mode` "shadow", by default "enforce", the limiter decides and counts, but refuses
    nobody: a call over the limit is granted at once, charges nothing and has `would_refuse`. With
    `block_after`, `(refusals, within, for)`, a key, or a name without keys, is blocked for a time
    after this many refusals within another time: 1 to 1,000,000 refusals, both times from one
    second to seven days, by default never: `block_after=(100, 60, 3600)`. The refusals then have
    the reason "blocked", and `resume` ends the block. Other values raise `InvalidError`, argument
    `mode` or `block_after`.

    With `aging` a call that waits gets the next higher priority after each such time, from one
    second to seven days, so that those of a higher one cannot hold it up for ever: `aging=60`. By
    default none does.

    All methods that create limiters take `on_unavailable`, the behaviour while the store cannot
    decide: "raise" an `UnavailableError`, the default; "fail_closed" refuses; "fail_open" grants
    without counting; "local" decides in this process alone, with `local_share_percent` percent of
    every limit, 1 to 100, by default 100. Such a decision is `degraded`, and no call is queued.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        timeout: Span | None = None,
        clock: TestClock | None = None,
    ) -> None:
        # Weak references to the links of the event loops, which keep them alive.
        self._links = Links()
        self._hubs = Hubs()

    def close(self) -> None:
        """Close all connections of this process to the store, those of its event loops too.

        Waiting calls leave the queue and raise `InvalidError`, as does every later call that needs
        the state of a limiter. Calls in flight still get their answers. A second call has no
        effect, and a forked process closes only its own connections.
        """
        until = monotonic() + (self._timeout or CLOSE_CANCEL_TIMEOUT)
        self._hubs.close(until)
        self._close()
        self._links.close(until)

    async def aclose(self) -> None:
        """Like `close`, without blocking the event loop."""
        await call_in_thread(running_loop(), self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.aclose()

    def concurrent(
        self,
        name: str,
        limit: int,
        *,
        lock_timeout: Span | None = None,
        **options: Unpack[LimiterOptions],
    ) -> Limiter:
        """Create a limiter of at most `limit` leases at once; 0 is a pause.

        A lease that is not released ends after `lock_timeout`, by default 30 seconds. `limit` is at
        most 100,000.
        """
        return Limiter(self, name, [("concurrency", limit)], lock_timeout=lock_timeout, **options)

    def bucket(
        self,
        name: str,
        limit: int,
        interval: Span,
        offset: Span = 0,
        **options: Unpack[LimiterOptions],
    ) -> Limiter:
        """Create a limiter of at most `limit` units in each interval since 1970 (UTC).

        For days of another time zone, the intervals start `offset` earlier.
        """
        return Limiter(self, name, [("bucket", limit, interval, offset)], **options)

    def window(
        self, name: str, limit: int, interval: Span, **options: Unpack[LimiterOptions]
    ) -> Limiter:
        """Create a limiter of at most `limit` units in any interval; `limit` is at most 100,000."""
        return Limiter(self, name, [("window", limit, interval)], **options)

    def leaky(
        self,
        name: str,
        capacity: int,
        drain: Span,
        *,
        refund: _Refund = "full",
        **options: Unpack[LimiterOptions],
    ) -> Limiter:
        """Create a limiter with a burst of `capacity` units, which drains fully in `drain`.

        `refund` is what a correction to a lower cost gives back: "full", the default, the whole
        difference, also units that have drained meanwhile; "undrained", at most what cannot have
        drained since the grant. Another one raises `InvalidError`, argument `refund`.
        """
        return Limiter(self, name, [("leaky", capacity, drain, refund)], **options)

    def points(
        self,
        name: str,
        capacity: int,
        refill: Span,
        *,
        refund: _Refund = "full",
        **options: Unpack[LimiterOptions],
    ) -> Limiter:
        """Create a limiter with a budget of `capacity` points, full again after `refill`.

        `refund` is as for `leaky`.
        """
        return Limiter(self, name, [("points", capacity, refill, refund)], **options)

    def quota(
        self,
        name: str,
        limit: int,
        per: _Period,
        *,
        timezone: str | None = None,
        starts: str | None = None,
        **options: Unpack[LimiterOptions],
    ) -> Limiter:
        """Create a limiter of at most `limit` units in each period of the calendar.

        `per` is "day", "week", "month", "quarter" or "year". `limit` is from 1 to 10^12, in any
        unit: money is whole micro-units. All units return when a period ends, by the clock of the
        store, and a debt ends too. `timezone` is "UTC", the default, an offset such as "+05:30", or
        a name such as "Europe/Berlin". `starts` is when the periods start in local time: for days
        the time, "06:00"; for weeks the day, "sunday"; for months the day, "15", in a shorter month
        its last one; for quarters and years month and day, "04-06"; or for all of them a date,
        "2025-01-31", or a date with a time, at which one starts. By default midnight, Monday and
        the first day. Raises `InvalidError`, argument `limit`, `per`, `timezone` or `starts`.

            spending = pg.quota("tenant-7", 50_000_000, "month", timezone="Europe/Berlin")
        """
        return Limiter(self, name, [("quota", limit, per, timezone, starts)], **options)

    def throttle(
        self, name: str, interval: Span, *, limit: int = 1, **options: Unpack[LimiterOptions]
    ) -> Limiter:
        """Create a limiter of `limit` starts per `interval`, evenly spaced, whatever their cost.

        By default starts are at least `interval` apart. Three per second are at 0, 0.333334,
        0.666667 and 1 seconds, and so on. `limit` is from 1 to one start per microsecond, at most
        10^12; otherwise this raises `InvalidError`.
        """
        return Limiter(self, name, [("throttle", limit, interval)], **options)

    def unlimited(self, name: str = "unlimited", **options: Unpack[LimiterOptions]) -> Limiter:
        """Create a limiter that grants every call."""
        return Limiter(self, name, [("unlimited",)], **options)

    def paused(self, name: str, **options: Unpack[LimiterOptions]) -> Limiter:
        """Create a limiter that refuses every call."""
        return Limiter(self, name, [("paused",)], **options)

    def limiter(
        self,
        name: str,
        limits: Limits = (),
        *,
        wait_timeout: Span | None = None,
        lock_timeout: Span | None = None,
        on_limit: _OnLimit | None = None,
        ttl: Span | None = None,
        group: str | None = None,
        keyed: bool | None = None,
        statistics: bool | None = None,
        on_unavailable: _OnUnavailable | None = None,
        local_share_percent: int | None = None,
        mode: _Mode | None = None,
        block_after: _BlockAfter | None = None,
        aging: Span | None = None,
        **labels: LimitOfKind | tuple[object, ...] | Span,
    ) -> Limiter:
        """Create a limiter with up to eight limits, which are all charged or none.

        Each limit has a label of its own, by which decisions and overrides name it. A keyword is
        a label: the name of a kind with its numbers, `concurrency=5, window=(100, 60),
        throttle=0.1`, or any label with a limit, `rpm=Window(500, "minute"),
        tpm=Points(150_000, 60)`. A throttle of three starts per second is `throttle=(3, "second")`,
        a quota of a month in Berlin `quota=(1000, "month", "Europe/Berlin")`.

        `limits` is a mapping of the same form, for labels that are no keywords, or a list of limits
        with their kinds as labels, `[("window", 100, 60), Throttle(0.1)]`. A label has 1 to 32
        characters: a to z first, then also digits, `_` and `-`. `lock_timeout` is the duration of a
        lease.
        """
        return Limiter(
            self,
            name,
            joined(limits, labels),
            wait_timeout,
            lock_timeout=lock_timeout,
            on_limit=on_limit,
            ttl=ttl,
            group=group,
            keyed=keyed,
            statistics=statistics,
            on_unavailable=on_unavailable,
            local_share_percent=local_share_percent,
            mode=mode,
            block_after=block_after,
            aging=aging,
        )

    def together(
        self,
        *limiters: Limiter,
        wait_timeout: Span | None = None,
        on_limit: _OnLimit | None = None,
    ) -> Limiter:
        """Create a limiter of one to four limiters that decide together: all are charged or none.

        It has the methods of a limiter, in one call to the store; only statistics, reports,
        overrides, pauses and `reset` are of one limiter. Each limiter keeps its own name and state.
        A call waits in the queue of the first that refuses it, and stops nobody there while another
        holds it up. `decision.limiter` names the one that the decision describes. A permit is for
        the same limiters in the same order. While the store cannot decide, the strictest
        `on_unavailable` of the limiters applies, and "local" refuses. A keyed limiter takes part
        with a key, `per_user.with_key("alice")`; without one this raises `InvalidError`, argument
        `key`.

        Raises `InvalidError` for more than four limiters, two of one name, those of another store
        and those that are several themselves, argument `limiters`; for different groups, argument
        `group`. In a cluster they need one group.
        """
        joint = self._together(limiters)
        return Limiter(self, joint.name, joint, wait_timeout, on_limit=on_limit)

    def limiters_from_document(
        self, document: Json, **options: Unpack[DocumentOptions]
    ) -> dict[str, Limiter]:
        """Create the limiters that a document defines, by name; it is JSON or its object.

        The format is that of Paddlegate, or of a supported system (Open Job Spec, Conductor,
        Invantive, guild-queues). The document's action for refused work is `on_limit` of a limiter.
        `lock_timeout` (Open Job Spec and Conductor) is the duration of a lease, `tenant` (Open Job
        Spec) is the owner of the jobs, `group` (guild-queues) is the group that is limited by
        itself.
        """
        check(options, DocumentOptions)
        loaded = self._load(
            json_text("document", document),
            options.get("lock_timeout"),
            options.get("tenant"),
            options.get("group"),
        )
        return {
            it.name: Limiter(
                self,
                it.name,
                it,
                on_unavailable=options.get("on_unavailable"),
                local_share_percent=options.get("local_share_percent"),
            )
            for it in loaded
        }

    def load(
        self, path: str | os.PathLike[str], **options: Unpack[DocumentOptions]
    ) -> dict[str, Limiter]:
        """Create the limiters that a file defines, by name; see `limiters_from_document`.

        Raises `OSError` for a file that cannot be read.
        """
        check(options, DocumentOptions)
        return self.limiters_from_document(Path(path).read_bytes(), **options)

    def invantive_gate(self, document: Json) -> Gate:
        """Create the gate of an Invantive `RateLimitControl`; `document` is JSON or its object.

        Raises `InvalidError` with the path of a fault in the document.
        """
        return Gate(self, json_text("document", document))

    def conductor_limiter(
        self,
        definition: Json,
        run: Json,
        *,
        lock_timeout: Span | None = None,
        **options: Unpack[StateOptions],
    ) -> Limiter:
        """Create the limiter of a Conductor workflow run; both documents are JSON or objects.

        Its name is `conductor/workflow/` followed by the key that the definition gives the `run`,
        an object with `input`, `correlationId` and `version` as far as the key needs them; a run
        without a key gets an unlimited limiter. A lease that is not renewed ends after
        `lock_timeout`, by default 30 seconds. The policy of the definition becomes its `on_limit`:
        "wait" for `QUEUE`, "raise" for `REJECT`. `group`, `keyed`, `statistics`, `mode`,
        `block_after` and `aging` are as for other limiters.
        """
        check(options, StateOptions)
        loaded = self._workflow(
            json_text("definition", definition), json_text("run", run), lock_timeout
        )
        return Limiter(self, loaded.name, loaded, **options)

    def limiters(self, prefix: str = "") -> list[LimiterInfo]:
        """Return the limiters that any process has used, in any language, sorted by name.

        Their names begin with `prefix`. A limiter leaves the list `ttl` after its last use. For
        many names read pages with `limiter_page`.
        """
        return [to_limiter_info(entry) for entry in self._limiters(prefix)]

    async def alimiters(self, prefix: str = "") -> list[LimiterInfo]:
        """Like `limiters`."""
        loop = running_loop()
        if not can_watch_sockets(loop):
            return await loop.run_in_executor(None, self.limiters, prefix)
        entries: list[_native.ListedLimiter] = []
        parts = iter(range(self._parts))

        async def worker() -> None:
            for part in parts:
                cursor = 0
                while True:
                    # This loop watches sockets, so a page is never read on a thread.
                    page, cursor = await run_operation(
                        self._links, lambda _, *page: self._begin_list(*page), part, cursor, prefix
                    )
                    entries.extend(page)
                    if cursor == 0:
                        break

        await asyncio.gather(*(worker() for _ in range(CONCURRENT_PARTS)))
        return [to_limiter_info(entry) for entry in _native.sort_listed(entries)]

    def limiter_page(self, prefix: str = "", cursor: str | None = None) -> LimiterPage:
        """Return a page of the `limiters` whose names begin with `prefix`.

        A page has about 100 to 300 limiters, or the rest. The first page has no `cursor`; the next
        page has the cursor of the page before. Only the names of one page are sorted, and a name
        may be on two pages. In memory there is one page. Raises `InvalidError`, argument `cursor`,
        for another text.
        """
        return to_limiter_page(self._limiter_page(False, prefix, cursor))

    async def alimiter_page(self, prefix: str = "", cursor: str | None = None) -> LimiterPage:
        """Like `limiter_page`."""
        entries: list[_native.ListedLimiter] = []
        while True:
            # Each of these calls has a time-out of its own.
            page, cursor = await run_operation(self._links, self._limiter_page, prefix, cursor)
            entries = _native.sort_listed(entries + page)
            if cursor is None or len(entries) >= _native.LIMITERS_PER_PAGE:
                return to_limiter_page((entries, cursor))
