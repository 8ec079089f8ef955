#!/usr/bin/env bash
# Runs a command with a private Redis Cluster of three masters, found through
# PADDLEGATE_TEST_CLUSTER_URL. If that is set already, that cluster is used.
#
#   scripts/with-cluster.sh cargo test cluster
set -euo pipefail

[[ -n ${PADDLEGATE_TEST_CLUSTER_URL:-} ]] && exec "$@"

source "$(dirname "$0")/redis.bash"
trap stop_redis EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

nodes=()
for _ in {1..20}; do
    port=$(random_port)
    if start_redis "$port" --cluster-enabled yes --cluster-node-timeout 60000; then
        nodes+=("127.0.0.1:$port")
    fi
    ((${#nodes[@]} == 3)) && break
done
if ((${#nodes[@]} < 3)); then
    echo "with-cluster: three masters could not be started; the last one said:" >&2
    cat "$redis_dir/$port/log" >&2
    exit 1
fi

redis-cli --cluster create "${nodes[@]}" --cluster-yes >"$redis_dir/create.log" || {
    cat "$redis_dir/create.log" >&2
    exit 1
}
for node in "${nodes[@]}"; do
    for _ in {1..1200}; do
        state=$(redis-cli -p "${node#*:}" cluster info | grep '^cluster_state:')
        [[ $state == cluster_state:ok* ]] && continue 2
        sleep 0.05
    done
    echo "with-cluster: $node did not become ready: $state" >&2
    exit 1
done

PADDLEGATE_TEST_CLUSTER_URL=redis://$(IFS=,; echo "${nodes[*]}") "$@"
