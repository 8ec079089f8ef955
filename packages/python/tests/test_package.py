# mypy: allow-untyped-calls
"""The README, the stubs and what the package offers."""

import ast
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import paddlegate
import pytest
from paddlegate import AsyncPermit, Limiter, Paddlegate, Permit, _native

README = Path(__file__).parents[1] / "README.md"
# arq needs an older redis than the other job systems, so it lies apart.
ARQ = Path(__file__).parents[3] / ".venv" / "arq"


def test_the_readme(url, name, script, tmp_path, monkeypatch):
    blocks = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 5
    # With a time-out that a machine that stalls for a second does not reach.
    code = "\n".join(blocks).replace('"redis://localhost:6379/0"', f'"{url}", timeout=10')
    # Other runs on the same server have their own limiters.
    code = re.sub(r'pg\.(?!load)(\w+)\("', rf'pg.\1("{name}-', code)
    # It writes a file.
    monkeypatch.chdir(tmp_path)
    lines = script(code).stdout.splitlines()
    assert lines[:4] == ["call the erp", "synced", "True", "94"]
    assert "settled" in lines
    assert "released unknown" in lines
    assert lines[lines.index("token True") + 1] == "False"
    assert lines[lines.index("{}") + 1 :][:9] == [
        "paused",
        "None",
        "['rpd', 'rpm']",
        "window 1",
        "window enforce",
        "blocked",
        "local 25",
        "2000",
        "True raise",
    ]


def test_the_readme_names_everything():
    text = README.read_text()
    for verb in {*vars(Paddlegate), *(name for name in paddlegate.__all__ if "Error" in name)}:
        assert verb.startswith("_") or f"`{verb}" in text, verb


@pytest.mark.timeout(300)
def test_the_stubs_agree_with_the_module():
    check = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "paddlegate"],
        env={**os.environ, "PYTHONPATH": str(ARQ)},
        capture_output=True,
        text=True,
    )
    assert check.returncode == 0, check.stdout + check.stderr


def test_the_stubs_say_what_help_says():
    def documented(node, runtime):
        if text := ast.get_docstring(node):
            yield text, inspect.getdoc(runtime)
        for child in node.body:
            if isinstance(child, (ast.ClassDef, ast.FunctionDef)):
                yield from documented(child, getattr(runtime, child.name))

    stub = Path(_native.__file__).with_name("_native.pyi")
    texts = list(documented(ast.parse(stub.read_text()), _native))[1:]
    assert len(texts) > 20
    for written, shown in texts:
        assert written == shown


def test_every_verb_has_an_asynchronous_form():
    verbs = ["acquire", "allow", "cancel", "claim", "correct", "enqueue", "peek", "release"]
    verbs += ["debit", "refund", "renew", "reset", "stats", "try_acquire"]
    verbs += ["runtime_state", "learn_from_response", "override", "pause", "restore", "resume"]
    verbs += ["report_budget", "block", "extend", "history"]
    assert all(hasattr(Limiter, verb) and hasattr(Limiter, f"a{verb}") for verb in verbs)
    for verb in "extend", "learn_from_response", "points_used", "release", "renew":
        assert all(
            hasattr(permit, verb) and hasattr(permit, f"a{verb}")
            for permit in (Permit, AsyncPermit)
        )


def test_both_forms_take_the_same():
    def parameters(verb):
        return list(inspect.signature(verb).parameters.values())

    for kind in Limiter, Paddlegate, Permit, AsyncPermit:
        for verb, form in inspect.getmembers(kind, inspect.isfunction):
            asynchronous = getattr(kind, f"a{verb}", None)
            if not verb.startswith("_") and asynchronous is not None:
                assert parameters(form) == parameters(asynchronous), verb
    assert parameters(Limiter.report_budget) == parameters(Limiter.areport_budget)


def test_what_the_package_offers():
    assert all(hasattr(paddlegate, name) for name in paddlegate.__all__)
    assert re.fullmatch(r"\d+\.\d+\.\d+", paddlegate.__version__)
