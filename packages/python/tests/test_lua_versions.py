# mypy: allow-untyped-calls
"""The script decides the same in Lua 5.1 (Redis and Valkey) and in Lua 5.4 (Dragonfly)."""

import subprocess
import sys
from pathlib import Path

import pytest
from test_vectors import Synchronous, cases, replay  # type: ignore[import-not-found]

pytestmark = pytest.mark.soak
# These servers are Python programs: 100,000 entries take one a minute when the machine is busy.
MOST_UNITS = 10_000
SERVER = Path(__file__).with_name("lua_server.py")


@pytest.fixture(scope="module", params=["5.1", "5.4"])
def address(request):
    command = [sys.executable, str(SERVER), request.param]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        port = int(process.stdout.readline())
        yield f"redis://127.0.0.1:{port}"
        process.kill()


def is_small(case):
    costs = [step.get("cost") for step in case["steps"]]
    return not any(isinstance(cost, int) and MOST_UNITS < cost < 10**6 for cost in costs)


CASES = [each for each in cases(errors=False) if is_small(each.values[2])]


@pytest.mark.parametrize(("file", "number", "case"), CASES)
def test_answers(address, file, number, case):
    replay(Synchronous, address, file, number, case, "lua")
