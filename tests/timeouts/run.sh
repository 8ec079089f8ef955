#!/usr/bin/env bash
# Tests in all languages that each call ends within its time-out, whatever the server does. Needs the built packages and the
# C library. PADDLEGATE_SOAK=1 tries all states in all languages, one after the other, and measures how exactly. The last line says how many tests passed and failed.
#
#   tests/timeouts/run.sh -k dribbling    # some tests only
set -euo pipefail
cd "$(dirname "$0")/../.."

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bindings/c/install.sh "$dir"
read -ra flags < <(PKG_CONFIG_PATH=$dir/lib/pkgconfig pkg-config --cflags --libs paddlegate)
cc -std=c11 -O1 -Wall -Wextra -Werror -pthread tests/timeouts/clients/client.c -o "$dir/client" "${flags[@]}"

workers=3
[[ -z ${PADDLEGATE_SOAK:-} ]] || workers=0
# Each worker would load the plugins of all packages that are installed.
export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1
PADDLEGATE_C_CLIENT=$dir/client LD_LIBRARY_PATH=$dir/lib .venv/bin/python -m pytest -p xdist -p pytest_timeout -n $workers --timeout=120 \
    -p no:cacheprovider -o tmp_path_retention_policy=none tests/timeouts "$@"
