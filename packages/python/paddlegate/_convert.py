"""Conversion of headers, bodies and documents to the text that the core reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeAlias

from paddlegate._errors import InvalidError, shown
from paddlegate._native import StreamUsage


class HasItems(Protocol):
    """A mapping or an object with `items`, such as the headers of http.client."""

    def items(self) -> Iterable[tuple[Any, Any]]:
        """Return names and values."""


Headers: TypeAlias = HasItems | Iterable[tuple[Any, Any]]
"""Headers of an HTTP client, or pairs of name and value; values are text, numbers, None or
lists."""

Json: TypeAlias = str | bytes | bytearray | memoryview | Mapping[str, Any] | list[Any]
"""JSON as text, or the object that it represents."""

Body: TypeAlias = Json | StreamUsage | None
"""The body of a response; a stream is one in which `StreamUsage` has found the usage."""


def header_pairs(headers: Headers) -> list[tuple[str, str]]:
    """Return names and values; a repeated header yields one pair for each value."""
    # `items` of httpx joins the values of repeated headers; `multi_items` does not.
    items = getattr(headers, "multi_items", None) or getattr(headers, "items", None)
    source: Any = headers if items is None else items()
    try:
        if isinstance(source, (str, bytes)):
            raise TypeError
        named: list[tuple[Any, Any]] = [(name, value) for name, value in map(_check_pair, source)]
    except (TypeError, ValueError):
        raise _invalid_headers(headers) from None
    return [
        (_header(name, (str, bytes)), _header(one, (str, bytes, int, float)))
        for name, value in named
        for one in (value if isinstance(value, (list, tuple)) else (value,))
        if one is not None
    ]


def _check_pair(pair: Any) -> Any:
    if isinstance(pair, (str, bytes)):
        raise TypeError
    return pair


def _header(value: object, kinds: tuple[type, ...]) -> str:
    if not isinstance(value, kinds):
        raise _invalid_headers(value)
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _invalid_headers(value: object) -> InvalidError:
    return InvalidError(f"must be a mapping or pairs of text: headers={shown(value)}", "headers")


def body_text(body: Body) -> str:
    """Return a body as text; bytes that are not valid UTF-8 are replaced."""
    if isinstance(body, StreamUsage):
        return body.body
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(body).decode(errors="replace")
    return "" if body is None else json_text("body", body)


def json_text(argument: str, value: Json) -> str:
    """Return JSON as text, from text or an object."""
    if isinstance(value, str):
        return value
    try:
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value).decode()
        if isinstance(value, (Mapping, list, tuple)):
            return json.dumps(value, default=_json_default)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidError(f"is no json: {argument} error={error}", argument) from None
    raise InvalidError(f"must be json, as text or an object: {argument}={shown(value)}", argument)


def _json_default(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no form in json")
