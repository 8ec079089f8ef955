"""`graphql_cost`: the estimated cost of a GraphQL query, before it is sent."""

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
    """Estimate the cost of a query in points of its provider, at least 1.

    `variables` are the variables of the query, as a mapping or JSON text. `rules` are the
    cost rules to apply, "shopify" (default) or "github". `operation` is the name of the operation
    to run, needed only when the query contains several. No schema is needed, so the result is an
    estimate: pass it as `estimate=`.
    """
    text = "" if variables is None else json_text("variables", variables)
    return _native.graphql_cost(query, text, rules, operation)
