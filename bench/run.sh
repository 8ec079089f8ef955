#!/usr/bin/env bash
# Measures Paddlegate against the usual clients, on a Redis of its own, and prints the table.
# --markdown prints it for a document. Fails if something could not be measured, not if an aim is
# missed. BENCH_SECONDS=0.01 BENCH_HANDOFFS=5 BENCH_REPETITIONS=1 BENCH_LIMITERS=500 shows quickly whether everything runs.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/redis.bash
trap stop_redis EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Reference and ours take turns: so many each, each about so long.
export BENCH_ROUNDS=${BENCH_ROUNDS:-15} BENCH_SECONDS=${BENCH_SECONDS:-0.15}
python=.venv/bin/python
results=target/bench.jsonl
status=0

if [[ ! bench/node_modules/.stamp -nt bench/package-lock.json ]]; then
    (cd bench && npm install --no-save --no-fund --no-audit --loglevel=error >&2)
    touch bench/node_modules/.stamp
fi
cargo build --release --quiet --package paddlegate-bench
# Go does not see that the library is another one, so it is to link again.
rm -f target/bench-go
go build -C bench/go -o "$PWD/target/bench-go" .
source scripts/versions.bash
mvn -B -q -Dmaven.repo.local="$TOOLS/m2" -f bench/kotlin/pom.xml \
    org.apache.maven.plugins:maven-dependency-plugin:3.9.0:build-classpath \
    -Dmdep.outputFile="$PWD/target/kotlin/bench-classpath" >&2
java=(java -cp "$(cat target/kotlin/bench-classpath)" bench/kotlin/Bench.java)

read -r server_core client_core < <(
    "$python" -c 'import os; print(*sorted(os.sched_getaffinity(0))[:2])'
)
if [[ -z $client_core ]]; then
    echo "bench: two cores are needed to have client and server apart" >&2
    exit 1
fi
taskset --cpu-list --pid "$server_core" $$ >/dev/null # The server inherits it.
for _ in {1..10}; do
    port=$(random_port)
    start_redis "$port" && break
done
export PADDLEGATE_URL=redis://127.0.0.1:$port
redis-cli -u "$PADDLEGATE_URL" ping >/dev/null

# measure PLACE CORE COMMAND...
measure() {
    local place=$1 core=$2
    shift 2
    echo "bench: $place: ${*##*/}" >&2
    BENCH_PLACEMENT=$place taskset --cpu-list "$core" "$@" >>"$results" || status=1
}

# measure_clients PLACE CORE
measure_clients() {
    measure "$1" "$2" "$python" bench/python.py redis
    measure "$1" "$2" ruby -Ipackages/ruby/lib bench/ruby.rb redis
    measure "$1" "$2" node bench/node.mjs redis
    measure "$1" "$2" target/release/paddlegate-bench redis
    measure "$1" "$2" target/bench-go redis
    measure "$1" "$2" "${java[@]}" redis
}

: >"$results"
measure_clients "one core" "$server_core"
measure_clients apart "$client_core"
measure apart "$client_core" target/release/paddlegate-bench http "$server_core"
measure server "$client_core" "$python" bench/server.py
measure "in process" "$client_core" "$python" bench/python.py memory
measure "in process" "$client_core" node bench/node.mjs memory
measure "in process" "$client_core" ruby -Ipackages/ruby/lib bench/ruby.rb memory
measure "in process" "$client_core" target/release/paddlegate-bench memory
measure "in process" "$client_core" target/bench-go memory
measure "in process" "$client_core" "${java[@]}" memory

"$python" bench/table.py "$@" <"$results" || status=1

echo "bench: hand-offs" >&2
taskset --cpu-list "$server_core,$client_core" "$python" bench/handoff.py || status=1
echo "bench: the list of the server" >&2
taskset --cpu-list "$server_core,$client_core" "$python" bench/dashboard.py || status=1
exit "$status"
