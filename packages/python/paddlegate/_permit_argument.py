"""The keyword-only argument `permit`, with which a function receives the permit of its call."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

PERMIT = "permit"


def takes_permit(function: Callable[..., Any]) -> bool:
    """Return whether a function has the argument."""
    try:
        return any(map(_is_permit, signature(function).parameters.values()))
    except (TypeError, ValueError):
        # Some builtins have no signature.
        return False


def hide_permit(wrapper: Any, function: Callable[..., Any]) -> None:
    """Give a wrapper the signature of its function without the argument.

    Frameworks pass and check arguments by signature.
    """
    full = signature(function)
    shown = [it for it in full.parameters.values() if not _is_permit(it)]
    wrapper.__signature__ = full.replace(parameters=shown)


def _is_permit(parameter: Parameter) -> bool:
    return parameter.name == PERMIT and parameter.kind is Parameter.KEYWORD_ONLY
