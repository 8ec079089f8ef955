"""What a GraphQL query will cost, said before it is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddlegate import _native
from paddlegate._convert import json_text

if TYPE_CHECKING:
    from paddlegate._convert import Json
    from paddlegate._native import _Rules


def graphql_cost(
    query: str,
    variables: Json | None = None,
    *,
    rules: _Rules = "shopify",
    operation: str | None = None,
) -> int:
    """Tell what a query is likely to cost in points of its provider, from 1 up.

    `variables` are those that are sent with it, as a mapping or JSON text; `rules` are those
    that "shopify" or "github" publishes; `operation` is the name of the one that is run where
    the query holds several. No schema is needed, so it is an estimate: for `estimate=`.
    """
    text = "" if variables is None else json_text("variables", variables)
    return _native.graphql_cost(query, text, rules, operation)
