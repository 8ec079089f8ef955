#!/usr/bin/env bash
# Tests the server from outside: the command in Python, and its pages in Chromium. Its tests in Rust are in `make test-rust`.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit

status=0
.venv/bin/python -m pytest --timeout 170 tests/server || status=1
node --test tests/server/*.test.mjs || status=1
exit $status
