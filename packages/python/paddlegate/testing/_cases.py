"""`Kit`: the routes that a host under test serves, each with a limiter and options."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paddlegate import Limiter, Paddlegate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

NOWHERE = "redis://127.0.0.1:1"
"""Where no server listens."""
PATIENT = 20
"""Seconds, so that a busy machine fails no check that is not about time."""
LEASE = 2.0
"""Seconds of a lease that is renewed."""
PAUSE = 0.02
KEY = "X-Key"


@dataclass
class Case:
    """A route of the host: answer its requests within `limiter`, with `options`."""

    name: str
    limiter: Any
    """A limiter, or a function of the request that returns one or None."""
    options: dict[str, Any]
    """The options of the adapter."""
    streams: bool = False
    """Whether the body has several parts."""
    fails: bool = False
    folder: Path = field(default_factory=Path)

    @property
    def path(self) -> str:
        """The path of the route, such as `/exact`."""
        return f"/{self.name}"

    def text(self) -> str:
        """Return the body; the handler of a route that fails gets an error."""
        if self.fails:
            raise RuntimeError("this route fails")
        return "ok"

    def parts(self) -> Iterator[bytes]:
        """Give the parts of a body, which ends when the kit says so."""
        yield b"begin\n"
        while self._goes_on():
            time.sleep(PAUSE)
            yield b".\n"

    async def aparts(self) -> AsyncIterator[bytes]:
        """Like `parts`, on an event loop."""
        yield b"begin\n"
        while self._goes_on():
            await asyncio.sleep(PAUSE)
            yield b".\n"

    def _goes_on(self) -> bool:
        # The folder is gone when the kit has ended.
        return self.folder.exists() and not (self.folder / self.name).exists()


class Kit:
    """What a process that runs a host gets: its port and its routes."""

    def __init__(self, port: int, url: str, run: str, folder: Path) -> None:
        self.port = port
        """The port to listen on, of 127.0.0.1."""
        self.folder = folder
        self.limiters = limiters(url, run)

    def cases(self, header: Callable[[Any, str], str | bytes | None]) -> list[Case]:
        """Return the routes. `header(request, name)` gives a header as the host has it, or None."""

        def key(request: Any) -> str | bytes | None:
            return header(request, KEY)

        of = self.limiters
        options: dict[str, dict[str, Any]] = {
            "exact": {"key": key},
            "memory": {"key": key},
            "keys": {"key": key},
            "proxy": {"trusted_proxies": ["127.0.0.1"]},
            "x": {"fields": "x"},
            "none": {"fields": None},
            "cost": {"cost": lambda _request: 5},
            "status": {"status": 503},
            "skip": {"skip": lambda request: key(request) is not None},
            "wait": {"wait": PATIENT},
            "refund": {"refund_if": lambda status: status >= 500},
        }
        cases = [
            Case(name, limiter, options.get(name, {}), folder=self.folder)
            for name, limiter in of.items()
        ]
        cases.append(Case("free", lambda _request: None, {}))
        for case in cases:
            case.streams = case.name in {"lease", "renewed", "gone", "wait"}
            case.fails = case.name in {"error", "refund"}
        return cases


def limiters(url: str, run: str) -> dict[str, Limiter]:
    """Return the limiter of each route. Processes of one `run` share them, by their names."""
    pg, memory = Paddlegate(url, timeout=PATIENT), Paddlegate("memory://")
    away = Paddlegate(NOWHERE, timeout=0.5)
    hour = "hour"

    def leases(name: str, **options: Any) -> Limiter:
        return pg.concurrent(f"{run}-{name}", 1, **options)

    def window(name: str, limit: int, **options: Any) -> Limiter:
        return pg.window(f"{run}-{name}", limit, hour, **options)

    return {
        "exact": window("exact", 50, keyed=True),
        "memory": memory.window("memory", 50, hour, keyed=True),
        "keys": window("keys", 1, keyed=True),
        "address": window("address", 1, keyed=True),
        "proxy": window("proxy", 1, keyed=True),
        "fields": window("fields", 1),
        "x": window("x", 1),
        "none": window("none", 1),
        "cost": window("cost", 10),
        "status": window("status", 1),
        "skip": window("skip", 1),
        "shadow": window("shadow", 1, mode="shadow"),
        "refund": window("refund", 1),
        "lease": leases("lease"),
        "renewed": leases("renewed", lock_timeout=LEASE),
        "gone": leases("gone"),
        "error": leases("error"),
        "wait": leases("wait"),
        "raise": away.window("away", 9, hour),
        "open": away.window("away", 9, hour, on_unavailable="fail_open"),
        "local": away.window("local", 1, hour, on_unavailable="local"),
        "closed": away.window("away", 9, hour, on_unavailable="fail_closed"),
    }
