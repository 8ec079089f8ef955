"""Prints the functions of the C header with their arguments."""

import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]
HEADER = (ROOT / "bindings/c/include/paddlegate.h").read_text()
TEXT = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.DOTALL)
# Of these structures each field is an argument; any call takes any of them.
BAGS = ("pg_request", "pg_wait", "pg_request_attributes")


def fields(structure: str) -> list[str]:
    """Return the names of the fields of a structure."""
    body = re.search(rf"typedef struct {structure} \{{(.*?)\}}", TEXT, re.DOTALL)
    assert body, structure
    return [field.split()[-1].lstrip("*") for field in body[1].split(";") if field.strip()]


def arguments(parameters: str) -> list[str]:
    """Return what a caller gives: neither the first handle nor what receives a result."""
    found = []
    for parameter in re.split(r",\s*", parameters):
        words = parameter.replace("*", " * ").split()
        name, is_pointer = words[-1], "*" in words
        bag = next((it for it in BAGS if it in words), None)
        if bag:
            mark = "" if bag == "pg_request_attributes" else "?"
            found += [mark + field for field in fields(bag)]
        elif name not in ("void", "error") and (not is_pointer or "const" in words):
            found.append(name)
    return list(dict.fromkeys(word for it in found if (word := of_caller(it, found))))


def of_caller(name: str, names: list[str]) -> str | None:
    """Return the name without its form; None for the receiver and for lengths."""
    if name == names[0] and name in ("limiter", "store", "gate"):
        return None
    if name == "count" and {"ids", "limits", "limiters"}.intersection(names):
        return None
    if name.endswith(("_count", "length", "_words")):
        return None
    return name.removesuffix("_by_label")


functions = {
    name: arguments(parameters) for name, parameters in re.findall(r"\b(pg_\w+)\(([^()]*)\);", TEXT)
}
print(json.dumps({"function": functions}))
