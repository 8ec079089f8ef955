"""Requests that schemathesis makes from the OpenAPI document: no answer contradicts it."""

from __future__ import annotations

import os
import pathlib
import random
import subprocess
import sys

import pytest
from conftest import Served

SOAK = bool(os.environ.get("PADDLEGATE_SOAK"))

# Rules between members, such as "a cost or an estimate", are not in the document: 400 may answer
# what fits it.
CONFIG = """
[parameters]
name = "{prefix}much"

[checks]
positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "404", "412", "429"]
"""


@pytest.mark.parametrize("served", ["memory", "redis"] if SOAK else ["memory"], indirect=True)
def test_schemathesis_finds_nothing(served: Served, prefix: str, tmp_path: pathlib.Path) -> None:
    """A bounded number of cases; the seed is printed."""
    examples = "25" if SOAK else "3"
    seed = int(os.environ.get("PADDLEGATE_SEED", random.randrange(2**31)))
    print(f"PADDLEGATE_SEED={seed}")
    config = tmp_path / "schemathesis.toml"
    config.write_text(CONFIG.format(prefix=prefix))
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run"]
    options = ["--phases", "examples,fuzzing", "--max-examples", examples, "--seed", str(seed)]
    url = f"{served.url}/openapi.json"
    ran = subprocess.run(
        [*command, url, *options, "--no-color"],
        capture_output=True,
        text=True,
        timeout=160,
        cwd=tmp_path,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-8000:] + ran.stderr[-2000:]
    assert "33 passed" in ran.stdout, ran.stdout[-8000:]
