"""A server of the command `paddlegate serve`, as a process."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COMMAND = ROOT / "target" / "release" / "paddlegate"


class Served:
    """A running server; `url` is where it listens."""

    def __init__(self, *arguments: str, files: str | None = None) -> None:
        """Start it; `files` are the soft and the hard limit of open files, with ":" between."""
        limited = ["prlimit", f"--nofile={files}"] if files else []
        self.process = subprocess.Popen(
            [*limited, COMMAND, "serve", "--listen", "127.0.0.1:0", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("listening on "), line
        self.url = line.removeprefix("listening on ").strip()

    def said(self) -> str:
        """Return the next line of standard error."""
        assert self.process.stderr is not None
        return self.process.stderr.readline()

    def stop(self) -> int:
        """Tell it to stop and return its status."""
        self.process.terminate()
        self.process.communicate(timeout=60)
        return self.process.returncode


@pytest.fixture
def redis_url() -> str:
    """The server that the tests share."""
    return os.environ["PADDLEGATE_TEST_URL"]


@pytest.fixture
def prefix() -> str:
    """Begin the names of a test alike, and no others."""
    return f"s{uuid.uuid4().hex[:12]}-"


@pytest.fixture(params=["memory", "redis"])
def served(request: pytest.FixtureRequest, tmp_path: pathlib.Path, prefix: str) -> Iterator[Served]:
    """A server with limits, on each store."""
    limits: dict[str, Any] = {
        f"{prefix}api": {"bucket": {"limit": 5, "per": "day"}},
        f"{prefix}much": {"bucket": {"limit": 10**9, "per": "day"}},
        f"{prefix}workers": {"concurrency": {"limit": 2, "lock_timeout": "1h"}},
    }
    path = tmp_path / "limits.json"
    path.write_text(json.dumps({"limiters": limits}))
    store = ["--redis", os.environ["PADDLEGATE_TEST_URL"]] if request.param == "redis" else []
    server = Served("--limits", str(path), "--max-wait", "0.1", *store)
    yield server
    assert server.stop() == 0
