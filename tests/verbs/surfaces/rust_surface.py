"""Prints the public methods of the crate with their arguments, as its sources have them.

The sources are formatted by rustfmt, which `make lint` checks: a method of a type is indented by
four spaces, and what it is of is open at the left margin.
"""

import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]
OWNERS = {
    "Paddlegate": "store",
    "Limiter": "limiter",
    "Turns": "turns",
    "Gate": "gate",
    "AdminRequest": "admin_request",
}
# Of these structures each field is an argument; any call takes any of those of the first two.
BAGS = (
    "Request",
    "Wait",
    "RequestAttributes",
    "LoadOptions",
    "LearnOptions",
    "UpstreamReport",
    "BudgetUpdate",
    "Page",
)
# Of these each variant is a verb.
COMMANDS = {"AdminCommand": "command", "LimitOverride": "change"}
METHOD = re.compile(r"^    pub (?:async )?fn (\w+)", re.MULTILINE)
OWNER = re.compile(r"^impl(?:<.*?>)? (\w+)(?:<[^ ]*>)? \{$(.*?)^\}$", re.MULTILINE | re.DOTALL)
EXPORTED = re.compile(r"^pub use .*?;", re.MULTILINE | re.DOTALL)


def without_comments(text: str) -> str:
    """Return the code without comments on lines of their own and items that the docs hide."""
    code = "".join(line for line in text.splitlines(True) if not line.lstrip().startswith("//"))
    hidden = r"^ *#\[doc\(hidden\)\]\n(?: *#\[.*\]\n)*.*\n"
    return re.sub(hidden, "", code, flags=re.MULTILINE)


SOURCES = {
    path: without_comments(path.read_text()) for path in sorted((ROOT / "core/src").rglob("*.rs"))
}
EVERYTHING = "\n".join(SOURCES.values())


def parts(text: str) -> list[str]:
    """Return what commas separate, except in brackets."""
    found, depth = [""], 0
    for previous, char in zip(" " + text, text, strict=False):
        depth += (char in "([{<") - (char in ")]}" or (char == ">" and previous != "-"))
        if char == "," and depth == 0:
            found.append("")
        else:
            found[-1] += char
    return [part.strip() for part in found if part.strip()]


def inside(text: str, opened: str, closed: str) -> str:
    """Return what is between the first bracket and that which closes it."""
    begin = depth = text.index(opened)
    depth = 0
    for at in range(begin, len(text)):
        depth += (text[at] == opened) - (text[at] == closed)
        if depth == 0:
            return text[begin + 1 : at]
    raise ValueError(text[:80])


def fields(structure: str) -> list[str]:
    """Return the public fields of a structure, and those of a structure in one of them."""
    body = re.search(
        rf"^pub struct {structure}(?:<[^>]*>)? \{{$(.*?)^\}}$", EVERYTHING, re.MULTILINE | re.DOTALL
    )
    assert body, structure
    found = []
    for name, of in re.findall(r"^    pub (\w+): (.*),$", body[1], re.MULTILINE):
        found += of_bag(of) or [name, "weight"][: 1 + (name == "share")]
    return found


def of_bag(kind: str) -> list[str]:
    """Return the arguments in a structure; of a deadline its two forms."""
    if "Deadline" in kind:
        return ["After", "At"]
    bag = next((it for it in BAGS if re.search(rf"\b{it}\b", kind)), None)
    mark = "?" if bag in BAGS[:2] else ""
    return [mark + field for field in fields(bag)] if bag else []


def arguments(signature: str) -> list[str]:
    """Return what a caller gives: not the receiver, and no function."""
    found = []
    for parameter in parts(inside(signature, "(", ")")):
        name, _, kind = parameter.partition(":")
        if name.strip() in ("self", "&self", "&mut self", "mut self"):
            continue
        # A pattern that takes an argument apart has no name.
        found += of_bag(kind) or [name.strip()] * name.strip().isidentifier()
    return list(dict.fromkeys(found))


def methods(block: str) -> dict[str, list[str]]:
    return {method[1]: arguments(block[method.end() :]) for method in METHOD.finditer(block)}


def commands(enumeration: str) -> dict[str, list[str]]:
    body = re.search(
        rf"^pub enum {enumeration}(?:<[^>]*>)? \{{$(.*?)^\}}$", EVERYTHING, re.MULTILINE | re.DOTALL
    )
    assert body, enumeration
    found = {}
    for variant in parts(body[1]):
        name = re.match(r"\w+", variant)
        assert name, variant
        rest = variant[name.end() :].strip()
        named = [it.partition(":") for it in parts(rest[1:-1])]
        found[name[0]] = [it for word, _, kind in named for it in of_bag(kind or word) or [word]]
    return found


surface: dict[str, dict[str, list[str]]] = {}
for text in SOURCES.values():
    for kind, block in OWNER.findall(text):
        if kind in OWNERS:
            surface.setdefault(OWNERS[kind], {}).update(methods(block))
for enumeration, owner in COMMANDS.items():
    surface[owner] = commands(enumeration)
exported = " ".join(EXPORTED.findall(SOURCES[ROOT / "core/src/lib.rs"]))
names = set(re.findall(r"\b[a-z_]+\b(?=[,;}])", exported)) | set(
    re.findall(r"::([a-z_]+);", exported)
)
surface["function"] = {
    name[1]: arguments(EVERYTHING[name.end() :])
    for name in re.finditer(r"^pub (?:async )?fn (\w+)", EVERYTHING, re.MULTILINE)
    if name[1] in names
}
print(json.dumps(surface))
