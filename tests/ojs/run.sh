#!/usr/bin/env bash
# Tests the job server of `paddlegate serve` over HTTP, in memory and on the Redis at
# PADDLEGATE_TEST_URL or, side by side, each on its own. Needs the built command. PADDLEGATE_SOAK=1 runs the long forms and moves
# the seed. The last line says how many tests passed and failed.
#
#   tests/ojs/run.sh -k conformance    # some tests only
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${PADDLEGATE_TEST_URL:?names no Redis to test on}"

# Each worker would load the plugins of all packages that are installed.
export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1
exec .venv/bin/python -m pytest -p xdist -p pytest_timeout -n 3 --timeout=60 -p no:cacheprovider \
    -o tmp_path_retention_policy=none tests/ojs "$@"
