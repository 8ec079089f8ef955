#!/usr/bin/env bash
# Runs a command with a private Redis, found through PADDLEGATE_TEST_URL.
# If PADDLEGATE_TEST_URL is set already, that server is used.
# REDIS_SERVER=PATH picks another server binary, such as a Valkey.
#
#   scripts/with-redis.sh cargo test
set -euo pipefail

# Tests open stores with a test clock.
export PADDLEGATE_TEST_CLOCK=1
[[ -n ${PADDLEGATE_TEST_URL:-} ]] && exec "$@"

source "$(dirname "$0")/redis.bash"
trap stop_redis EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

for _ in {1..10}; do
    port=$(random_port)
    if start_redis "$port"; then
        PADDLEGATE_TEST_URL=redis://127.0.0.1:$port "$@"
        exit
    fi
done
echo "with-redis: no Redis could be started; its last words:" >&2
cat "$redis_dir/$port/log" >&2
exit 1
