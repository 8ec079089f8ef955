"""The keywords of the verbs: each group stands here once, and `**options` stands for it.

For type checkers and editors it is `Unpack` of a `TypedDict`. `spelled_out` says the same at run
time, to `help` and `inspect`, and `check` refuses what is in no group.
"""

from __future__ import annotations

import sys
from inspect import Parameter, isfunction, signature
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from paddlegate._cost import Cost
    from paddlegate._limits import Limits
    from paddlegate._native import (
        Decision,
        _BlockAfter,
        _Mode,
        _OnLimit,
        _OnUnavailable,
        _Provider,
    )
    from paddlegate._permit import Grant
    from paddlegate._waiting import Span

# In all groups None stands for the default.


class StateOptions(TypedDict, total=False):
    """The options of a limiter that has its limits from elsewhere; `Paddlegate` describes them."""

    group: str | None
    keyed: bool | None
    statistics: bool | None
    on_unavailable: _OnUnavailable | None
    local_share_percent: int | None
    mode: _Mode | None
    block_after: _BlockAfter | None
    aging: Span | None


class LimiterOptions(StateOptions, total=False):
    """Those of a limiter that is created by its numbers."""

    wait_timeout: Span | None
    on_limit: _OnLimit | None
    ttl: Span | None


class DocumentOptions(TypedDict, total=False):
    """Those of `limiters_from_document`."""

    lock_timeout: Span | None
    tenant: str | None
    group: str | None
    on_unavailable: _OnUnavailable | None
    local_share_percent: int | None


class CallOptions(TypedDict, total=False):
    """Those of every call that may queue; `acquire` describes them."""

    estimate: Cost | None
    settle_within: Span | None
    priority: int | None
    share: str | None
    weight: int | None
    key: str | None


class AcquireOptions(CallOptions, total=False):
    """Those of `acquire`."""

    wait_timeout: Span | None
    id: str | None
    limits: bool | None


class JobOptions(CallOptions, total=False):
    """Those of `enqueue` and `claim`."""

    wait_timeout: Span | None
    claim_timeout: Span | None


class AdmitOptions(CallOptions, total=False):
    """Those of `admit`."""

    cost: Cost | None
    claim_timeout: Span | None


class PauseOptions(TypedDict, total=False):
    """Those of `pause` and `block`."""

    until: datetime | float | None
    key: str | None


class OverrideOptions(TypedDict, total=False):
    """Those of `override`."""

    label: str | None
    limits: Limits | None
    mode: _Mode | None
    expires_in: Span | None
    expires_at: datetime | float | None
    key: str | None


class BudgetOptions(TypedDict, total=False):
    """Those of `report_budget`."""

    restore_rate: float | None
    reset_in: Span | None
    reset_at: datetime | float | None
    label: str | None
    permit: str | Grant | Decision | None
    key: str | None


class ResponseOptions(TypedDict, total=False):
    """Those of `learn_from_response` of a permit."""

    status: int | None
    provider: _Provider
    max_pause: Span | None
    default_pause: Span | None
    max_learned: int | None


class LearnOptions(ResponseOptions, total=False):
    """Those of `learn_from_response` of a limiter."""

    permit: str | Grant | Decision | None
    key: str | None


DEFAULTS = {"provider": "auto"}
"""The defaults that are not None."""

Kind = TypeVar("Kind", bound=type)


def spelled_out(kind: Kind) -> Kind:
    """Give each method with `**options` a signature that names them all."""
    for method in filter(isfunction, vars(kind).values()):
        group = method.__annotations__.get("options", "")
        if group.startswith("Unpack["):
            short = signature(method)
            *others, _options = short.parameters.values()
            words = globals()[group[len("Unpack[") : -1]].__annotations__
            named = [
                Parameter(
                    word,
                    Parameter.KEYWORD_ONLY,
                    default=DEFAULTS.get(word),
                    annotation=getattr(of, "__forward_arg__", of),
                )
                for word, of in words.items()
            ]
            method.__signature__ = short.replace(parameters=others + named)  # type: ignore[attr-defined]
    return kind


def check(options: Mapping[str, object], group: Any) -> None:
    """Raise the `TypeError` of Python for a keyword that is not in the group of a verb."""
    known = group.__optional_keys__
    for word in options:
        if word not in known:
            raise TypeError(f"{_verb()}() got an unexpected keyword argument {word!r}")


def _verb() -> str:
    """Return the name of the verb that a user called, from which others are called here."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_back.f_globals.get("__name__", "").startswith("paddlegate."):
        frame = frame.f_back
    name: str = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
    return name
