#!/usr/bin/env bash
# Runs the demo, or with `serve` the server with the demo's workers, against PADDLEGATE_URL, or against a private Redis that ends
# with it.
set -euo pipefail
cd "$(dirname "$0")/.."

program=demo/${1:-demo}.mjs
if [[ -n ${PADDLEGATE_URL:-} ]]; then
    exec node "$program"
fi
unset PADDLEGATE_TEST_URL
exec scripts/with-redis.sh bash -c 'PADDLEGATE_URL=$PADDLEGATE_TEST_URL exec node "$0"' "$program"
