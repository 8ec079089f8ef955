"""What the changes of a limiter at run time send."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from paddlegate._convert import body_text, header_pairs
from paddlegate._native import AdminRequest
from paddlegate._options import (
    BudgetOptions,
    LearnOptions,
    OverrideOptions,
    PauseOptions,
    check,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from paddlegate._convert import Body, Headers
    from paddlegate._waiting import Span

Request: TypeAlias = tuple[AdminRequest, str | None]
"""A change, and the key of the state that it changes."""


def pause_request(
    make: Callable[[Span | None, datetime | float | None], AdminRequest],
    seconds: Span | None,
    options: PauseOptions,
) -> Request:
    check(options, PauseOptions)
    return make(seconds, options.get("until")), options.get("key")


def override_request(limit: int | None, interval: Span | None, options: OverrideOptions) -> Request:
    check(options, OverrideOptions)
    request = AdminRequest.override(
        limit,
        interval,
        options.get("label"),
        options.get("limits"),
        options.get("mode"),
        options.get("expires_in"),
        options.get("expires_at"),
    )
    return request, options.get("key")


def budget_request(
    remaining: int | None, limit: int | None, interval: Span | None, options: BudgetOptions
) -> Request:
    check(options, BudgetOptions)
    request = AdminRequest.report_budget(
        remaining,
        limit,
        interval,
        options.get("restore_rate"),
        options.get("reset_in"),
        options.get("reset_at"),
        options.get("label"),
        options.get("permit"),
    )
    return request, options.get("key")


def response_request(headers: Headers, body: Body, options: LearnOptions) -> Request:
    check(options, LearnOptions)
    request = AdminRequest.learn_from_response(
        header_pairs(headers),
        body_text(body),
        options.get("status"),
        options.get("provider", "auto"),
        options.get("max_pause"),
        options.get("default_pause"),
        options.get("max_learned"),
        options.get("permit"),
    )
    return request, options.get("key")
