"""`LimiterOptions`: the options of every method that creates a limiter by its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from paddlegate._native import _BlockAfter, _Mode, _OnLimit, _OnUnavailable
    from paddlegate._waiting import Span


class LimiterOptions(TypedDict, total=False):
    """The options that `Paddlegate` describes; None stands for the default."""

    wait_timeout: Span | None
    on_limit: _OnLimit | None
    ttl: Span | None
    group: str | None
    keyed: bool | None
    statistics: bool | None
    on_unavailable: _OnUnavailable | None
    local_share_percent: int | None
    mode: _Mode | None
    block_after: _BlockAfter | None
    aging: Span | None
