#!/usr/bin/env bash
# Runs the demo against PADDLEGATE_URL, or against a private Redis that ends with it.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ -n ${PADDLEGATE_URL:-} ]]; then
    exec node demo/demo.mjs
fi
unset PADDLEGATE_TEST_URL
exec scripts/with-redis.sh bash -c 'PADDLEGATE_URL=$PADDLEGATE_TEST_URL node demo/demo.mjs'
