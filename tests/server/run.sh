#!/usr/bin/env bash
# Tests the server: in Rust with both stores, and the command from outside, in Python.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit

status=0
cargo test --release -p paddlegate-server --no-fail-fast || status=1
.venv/bin/python -m pytest --timeout 170 tests/server || status=1
node --test tests/server/*.test.mjs || status=1
exit $status
