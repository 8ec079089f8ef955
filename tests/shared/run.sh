#!/usr/bin/env bash
# Tests that all languages share one limiter: Python (threads and asyncio), Node, Ruby, Go and Kotlin against
# the Redis at PADDLEGATE_TEST_URL and the cluster at PADDLEGATE_TEST_CLUSTER_URL. Needs the built
# packages and the command. Three workers run files side by side, each with a Redis of its own. The last line says how many tests passed and failed.
#
#   PADDLEGATE_SEED=7 tests/shared/run.sh -k hammer    # the same numbers again, some tests only
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${PADDLEGATE_TEST_URL:?names no Redis to test on}"
: "${PADDLEGATE_TEST_CLUSTER_URL:?names no Redis Cluster to test on}"

# In `make test` always the same.
export PADDLEGATE_SEED=${PADDLEGATE_SEED:-${PADDLEGATE_SOAK:+$RANDOM}}
export PADDLEGATE_SEED=${PADDLEGATE_SEED:-1}
echo "PADDLEGATE_SEED=$PADDLEGATE_SEED"
# Each worker would load the plugins of all packages that are installed.
export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1
exec .venv/bin/python -m pytest -p xdist -p pytest_timeout -n 3 --dist loadfile --timeout=120 -p no:cacheprovider \
    -o tmp_path_retention_policy=none tests/shared "$@"
