"""A plugin of pytest: memory under every limiter, and a clock that only tests move.

    [tool.pytest.ini_options]
    addopts = "-p paddlegate.testing.plugin"

    def test_the_limit(client, paddlegate_clock):
        assert [client.get("/").status_code for _ in range(3)] == [200, 200, 429]
        paddlegate_clock.advance("minute")
        assert client.get("/").status_code == 200

Every store that is opened is in memory, whatever its URL, and decides by this clock. Each test
begins with whole limits; the clock goes on from test to test. Pauses and overrides of a single key
remain.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

import pytest

from paddlegate import InvalidError, Limiter, Paddlegate, TestClock

START = 3_600_000_000
_clock = TestClock(START)
# How often each limiter was asked when the last test began.
_limiters: WeakKeyDictionary[Limiter, int] = WeakKeyDictionary()
_is_installed = False


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Put memory under the stores that are opened from now on, also by conftest files."""
    _install()


def pytest_configure() -> None:
    """Do so where the plugin is named in `pytest_plugins`."""
    _install()


@pytest.fixture(autouse=True)
def paddlegate_clock() -> TestClock:
    """Begin with whole limits; return the clock by which all limiters decide."""
    _forget()
    return _clock


def _install() -> None:
    global _is_installed
    if _is_installed:
        return
    _is_installed = True
    new, init = Paddlegate.__new__, Limiter.__init__

    def in_memory(cls: Any, url: str | None = None, **options: Any) -> Paddlegate:
        options["clock"] = options.get("clock") or _clock
        store: Paddlegate = new(cls, "memory://", **options)
        return store

    def recorded(self: Limiter, *arguments: Any, **options: Any) -> None:
        init(self, *arguments, **options)
        _limiters[self] = 0

    Paddlegate.__new__ = in_memory  # type: ignore[method-assign, assignment]
    Limiter.__init__ = recorded  # type: ignore[method-assign]


def _forget() -> None:
    """Reset all limiters, and let the time pass that those with keys need."""
    seconds = 0.0
    for limiter, asked in list(_limiters.items()):
        # Those of several limiters, and those of a limiter with keys, cannot be reset.
        with suppress(InvalidError):
            limiter.reset()
            continue
        if limiter.keyed and limiter.key is None and asked != (now := _asked(limiter)):
            _limiters[limiter] = now
            block = limiter.block_after[2] if limiter.block_after else 0
            # A debt is at most one whole limit.
            times = [2 * (limit.interval or 0) for limit in limiter.limits]
            seconds = max(seconds, block, *times)
    _clock.advance(seconds)


def _asked(limiter: Limiter) -> int:
    try:
        statistics = limiter.stats()
    except InvalidError:  # It keeps none, so it may have been asked.
        return -1 - _clock.now_us
    return statistics.granted + statistics.refused
