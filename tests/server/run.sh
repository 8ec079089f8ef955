#!/usr/bin/env bash
# Tests the server from outside: the command in Python, then its pages in Chromium. Its tests in Rust are in `make test-rust`.
# PADDLEGATE_SOAK=1 tries more random cases, with other seeds.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
[[ -n ${PADDLEGATE_SOAK:-} ]] || export PADDLEGATE_SEED=${PADDLEGATE_SEED:-1}

status=0
# Each worker would load the plugins of all packages that are installed.
PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 .venv/bin/python -m pytest -p xdist -p pytest_timeout -n 2 --timeout 170 \
    -p no:cacheprovider tests/server || status=1
node --test tests/server/*.test.mjs || status=1
exit $status
