"""Prints the public methods of the Python package with their arguments, as inspect sees them."""

import inspect
import json
from typing import Any

import paddlegate
from paddlegate import AsyncPermit, Gate, Limiter, Paddlegate, Permit
from paddlegate._options import LimiterOptions


def arguments(function: Any) -> list[str]:
    """Return the names of the arguments; `**options` stands for the options of a limiter."""
    names = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "options" and parameter.kind is parameter.VAR_KEYWORD:
            names += LimiterOptions.__annotations__
        elif parameter.name not in ("self", "labels"):
            names.append(parameter.name)
    return names


def methods(of: type) -> dict[str, list[str]]:
    """Return the public methods. A property is no verb."""
    found = inspect.getmembers(of, inspect.isroutine)
    return {name: arguments(method) for name, method in found if not name.startswith("_")}


surface = {
    "store": {"open": arguments(Paddlegate), **methods(Paddlegate)},
    "limiter": methods(Limiter),
    "permit": methods(Permit),
    "gate": methods(Gate),
    "function": {
        name: arguments(getattr(paddlegate, name))
        for name in paddlegate.__all__
        if inspect.isroutine(getattr(paddlegate, name))
    },
}
# The permit of a coroutine has the verbs without a prefix.
surface["permit of a coroutine"] = methods(AsyncPermit)
print(json.dumps(surface))
