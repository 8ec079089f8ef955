#!/usr/bin/env bash
# Tests that all languages share one limiter: Python (threads and asyncio), Node, Ruby, Go and Kotlin against
# the Redis at PADDLEGATE_TEST_URL and the cluster at PADDLEGATE_TEST_CLUSTER_URL. Needs the built
# packages and the command. The last line says how many tests passed and failed.
#
#   PADDLEGATE_SEED=7 tests/shared/run.sh -k hammer    # the same numbers again, some tests only
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${PADDLEGATE_TEST_URL:?names no Redis to test on}"
: "${PADDLEGATE_TEST_CLUSTER_URL:?names no Redis Cluster to test on}"

export PADDLEGATE_SEED=${PADDLEGATE_SEED:-$RANDOM}
echo "PADDLEGATE_SEED=$PADDLEGATE_SEED"
exec .venv/bin/python -m pytest --verbose --timeout=120 -p no:cacheprovider \
    -o tmp_path_retention_policy=none tests/shared "$@"
