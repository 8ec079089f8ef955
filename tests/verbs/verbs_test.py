"""Every package has the verbs of `verbs.json` with their arguments, and no others.

What a package lacks or has alone is in `differences.json`, with the reason; a reason that nothing
needs any more fails too.
"""

from __future__ import annotations

import fnmatch
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
VERBS: dict[str, dict[str, list[str]]] = json.loads((HERE / "verbs.json").read_text())
DIFFERENCES: dict[str, dict[str, Any]] = json.loads((HERE / "differences.json").read_text())
OPTIONS = set(VERBS["store"]["options"])
# An object, a verb and its arguments. An argument of a bag that every call takes begins with a
# question mark.
Surface = dict[str, dict[str, list[str]]]


@functools.cache
def printed(*command: str) -> Surface:
    """Return the surface that a program prints."""
    run = subprocess.run(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
        env=dict(os.environ, RUBYLIB="packages/ruby/lib"),
    )
    surface: Surface = json.loads(run.stdout)
    return surface


def surface_of(package: str) -> Surface:
    """Return the surface of a package as its language has it."""
    program = HERE / "surfaces"
    match package:
        case "python":
            return printed(sys.executable, f"{program}/python_surface.py")
        case "ruby":
            return printed("ruby", f"{program}/ruby_surface.rb")
        case "node":
            return printed("node", f"{program}/javascript_surface.mjs", "packages/node/index.d.ts")
        case "wasm":
            return printed(
                "node", f"{program}/javascript_surface.mjs", "packages/wasm/full/index.d.ts"
            )
        case "go":
            return printed("go", "run", f"{program}/go/main.go", "packages/go")
        case "kotlin" | "java":
            classes = (ROOT / "target/kotlin/programs/classpath").read_text().strip()
            both = printed("java", "-cp", classes, f"{program}/java/Surface.java")
            # The verbs for threads, which Java calls.
            of_java = {it.removeprefix("blocking "): both[it] for it in both if "blocking " in it}
            return (
                of_java
                if package == "java"
                else {it: both[it] for it in both if "blocking " not in it}
            )
        case "rust":
            return printed(sys.executable, f"{program}/rust_surface.py")
        case "c":
            return printed(sys.executable, f"{program}/c_surface.py")
        case _:
            return printed(sys.executable, f"{program}/http_surface.py")


@pytest.fixture(scope="session", autouse=True)
def all_surfaces() -> None:
    """Print all surfaces side by side; some languages compile for it."""
    with ThreadPoolExecutor() as pool:
        # Java prints both of its languages.
        list(pool.map(surface_of, set(DIFFERENCES) - {"java"}))


def snake(name: str) -> str:
    """Return a name as `verbs.json` writes it: words in lower case, without a unit."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    return re.sub(r"_(ms|us)$", "", name.rstrip("?"))


def in_words_of_all(package: str) -> Surface:
    """Return the surface of a package in the words of `verbs.json`."""
    words = DIFFERENCES[package].get("words", {})
    found: Surface = defaultdict(lambda: defaultdict(list))
    for owner, verbs in surface_of(package).items():
        for verb, arguments in verbs.items():
            full = words.get(
                f"{owner}.{verb}", f"{words.get(owner, owner)}.{words.get(verb, snake(verb))}"
            )
            where, name = full.split(".")
            for argument in arguments:
                mark = "?" if argument.startswith("?") else ""
                own = argument.removeprefix("?")
                word = words.get(f"{name}({own})", words.get(own, snake(own)))
                found[where][name].append(mark + word)
            found[where][name] = list(found[where][name])
    if package == "python":
        # Their own test compares the asynchronous forms.
        for owner, verbs in found.items():
            found[owner] = {it: verbs[it] for it in verbs if not (it[0] == "a" and it[1:] in verbs)}
    return with_options(found)


def with_options(surface: Surface) -> Surface:
    """Say `options` for the options of a limiter, and keep them as a verb of their own."""
    for verb, arguments in list(surface.get("store", {}).items()):
        chosen = OPTIONS.intersection(arguments)
        if verb != "options" and len(chosen) > len(OPTIONS) / 2:
            surface["store"][verb] = [it for it in arguments if it not in OPTIONS] + ["options"]
            surface["store"].setdefault("options", []).extend(chosen)
    return surface


def differences(package: str, surface: Surface) -> tuple[list[str], list[str]]:
    """Return what the package lacks, and what it has alone."""
    lacks, has_alone = [], []
    everything = {
        it for verbs in VERBS.values() for arguments in verbs.values() for it in arguments
    }
    for owner, verbs in VERBS.items():
        for verb, arguments in verbs.items():
            if verb not in surface.get(owner, {}):
                lacks.append(f"{owner}.{verb}")
                continue
            has = {it.removeprefix("?") for it in surface[owner][verb]}
            lacks += [f"{owner}.{verb}.{it}" for it in arguments if it not in has]
    for owner, verbs in surface.items():
        for verb, arguments in verbs.items():
            known = VERBS.get(owner, {}).get(verb)
            if known is None:
                has_alone.append(f"{owner}.{verb}")
                continue
            more = {it for it in arguments if it.removeprefix("?") not in known}
            has_alone += [
                f"{owner}.{verb}.{it.removeprefix('?')}"
                for it in sorted(more)
                if not (it.startswith("?") and it[1:] in everything)
            ]
    return lacks, has_alone


def unexplained(found: list[str], reasons: dict[str, str]) -> tuple[list[str], list[str]]:
    """Return what no reason is for, and the reasons that are for nothing."""

    def fits(what: str, pattern: str) -> bool:
        return what.count(".") == pattern.count(".") and fnmatch.fnmatchcase(what, pattern)

    without = [what for what in found if not any(fits(what, pattern) for pattern in reasons)]
    unused = [pattern for pattern in reasons if not any(fits(what, pattern) for what in found)]
    return without, unused


@pytest.mark.parametrize("package", DIFFERENCES)
def test_it_has_every_verb_with_its_arguments(package: str) -> None:
    lacks, _ = differences(package, in_words_of_all(package))
    assert unexplained(lacks, DIFFERENCES[package].get("lacks", {})) == ([], [])


@pytest.mark.parametrize("package", DIFFERENCES)
def test_it_has_no_verb_or_argument_alone(package: str) -> None:
    _, alone = differences(package, in_words_of_all(package))
    assert unexplained(alone, DIFFERENCES[package].get("alone", {})) == ([], [])


def test_python_has_an_asynchronous_form_of_each_verb_that_may_call_the_server() -> None:
    surface = surface_of("python")
    for owner, verbs in surface.items():
        for verb, arguments in verbs.items():
            if f"a{verb}" in verbs:
                assert verbs[f"a{verb}"] == arguments, f"{owner}.a{verb}"
    no_call = {"with_key", "within_limit"}  # A guard is for both forms.
    missing = {it for it in surface["limiter"] if f"a{it}" not in surface["limiter"]}
    assert {it for it in missing if it[1:] not in surface["limiter"]} == no_call


def test_node_exports_the_methods_that_its_types_name() -> None:
    program = """
      const { Paddlegate } = require("./packages/node");
      const names = (of) => {
        const found = new Set();
        for (let at = of; at !== Object.prototype; at = Object.getPrototypeOf(at))
          for (const it of Object.getOwnPropertyNames(at))
            if (typeof Object.getOwnPropertyDescriptor(at, it).value === "function") found.add(it);
        found.delete("constructor");
        return [...found];
      };
      const store = new Paddlegate("memory://");
      console.log(JSON.stringify({ store: names(store), limiter: names(store.unlimited()) }));
    """
    run = subprocess.run(["node", "-e", program], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    for owner, names in json.loads(run.stdout).items():
        typed = set(surface_of("node")[owner]) - {"open", "asyncDispose"}
        assert typed == {it for it in names if not it.startswith("_")}, owner


def table() -> list[list[str]]:
    """Return the rows of the table of verbs in the documentation."""
    page = (ROOT / "docs/src/reference/verbs.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    return rows[: next(i for i, row in enumerate(rows) if row[0] == "argument")]


@pytest.mark.parametrize("column", ["Python", "Node", "Ruby", "Go", "Kotlin", "Rust", "C"])
def test_the_documentation_has_the_names_of_the_package(column: str) -> None:
    head, *rows = table()
    surface = surface_of(column.lower())
    names = {verb for verbs in surface.values() for verb in verbs}
    said = [word for row in rows for word in re.findall(r"`([^`]*)`", row[head.index(column)])]
    said = [re.split(r"[ (]", word)[0] for word in said]
    idioms = {"with", "async", "await", "use"}
    assert len(said) > 20
    assert [word for word in said if word not in names | idioms] == []


def test_the_documentation_has_every_verb_of_a_limiter() -> None:
    head, *rows = table()
    said = " ".join(row[head.index("Python")] for row in rows)
    words = set(re.findall(r"`(\w+)", said))
    # Their own page has those.
    assert (
        set(VERBS["limiter"]) - words - {"apply_ojs_override", "apply_ojs_signal", "within_limit"}
        == set()
    )


def test_a_difference_without_a_reason_is_found() -> None:
    surface = in_words_of_all("python")
    del surface["limiter"]["allow"]
    surface["limiter"]["peek"] = [it for it in surface["limiter"]["peek"] if it != "cost"]
    surface["limiter"]["guess"] = []
    surface["limiter"]["debit"] = [*surface["limiter"]["debit"], "haste"]
    lacks, alone = differences("python", surface)
    reasons = DIFFERENCES["python"]
    assert unexplained(lacks, reasons.get("lacks", {}))[0] == ["limiter.allow", "limiter.peek.cost"]
    assert set(unexplained(alone, reasons["alone"])[0]) == {"limiter.guess", "limiter.debit.haste"}
    assert unexplained([], {"limiter.nothing": "a reason for nothing"})[1] == ["limiter.nothing"]
