#!/usr/bin/env bash
# Tests the server: in Rust with both stores, and the command from outside, in Python, at one time; then its pages.
# PADDLEGATE_SOAK=1 tries more random cases, with other seeds.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
[[ -n ${PADDLEGATE_SOAK:-} ]] || export PADDLEGATE_SEED=${PADDLEGATE_SEED:-1}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
# Each worker would load the plugins of all packages that are installed.
PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 .venv/bin/python -m pytest -p xdist -p pytest_timeout -n 2 --timeout 170 \
    -p no:cacheprovider tests/server >"$log" 2>&1 &
outside=$!
cargo test --release -p paddlegate-server --no-fail-fast || status=1
wait "$outside" || status=1
cat "$log"
node --test tests/server/*.test.mjs || status=1
exit $status
