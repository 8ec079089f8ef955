#!/usr/bin/env bash
# Tests that processes of an earlier commit and of today share one Redis, as during an update. Builds the Python package and the
# command of that commit in target/before, once, and runs both against the Redis at PADDLEGATE_TEST_URL. Needs the built Python
# package and command of today. The last line says how many tests passed and failed.
#
#   PADDLEGATE_BEFORE=78b141e6^ tests/before/run.sh -k shares    # another commit, some tests only
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${PADDLEGATE_TEST_URL:?names no Redis to test on}"

# The commit whose processes may still run when today's begin.
readonly BEFORE=${PADDLEGATE_BEFORE:-67475a1d}

commit=$(git rev-parse --verify --quiet "$BEFORE^{commit}") ||
    { echo "before: no commit $BEFORE; fetch the history, git fetch --unshallow" >&2; exit 2; }
export PADDLEGATE_BEFORE_DIR=$PWD/target/before/$commit
if [[ ! -e $PADDLEGATE_BEFORE_DIR/built ]]; then
    source_dir=$PADDLEGATE_BEFORE_DIR/source
    rm -rf "$PADDLEGATE_BEFORE_DIR"
    mkdir -p "$source_dir"
    git archive "$commit" | tar -x -C "$source_dir"
    # What other commits have compiled of the dependencies is used again.
    export CARGO_TARGET_DIR=$PWD/target/before/cargo PYO3_BUILD_EXTENSION_MODULE=1
    (cd "$source_dir" && cargo build --release --locked -p paddlegate-python -p paddlegate-cli)
    cp -r "$source_dir/packages/python/paddlegate" "$PADDLEGATE_BEFORE_DIR/paddlegate"
    cp "$CARGO_TARGET_DIR/release/libpaddlegate_native.so" "$PADDLEGATE_BEFORE_DIR/paddlegate/_native.abi3.so"
    mkdir "$PADDLEGATE_BEFORE_DIR/bin"
    cp "$CARGO_TARGET_DIR/release/paddlegate" "$PADDLEGATE_BEFORE_DIR/bin/paddlegate"
    rm -rf "$source_dir"
    touch "$PADDLEGATE_BEFORE_DIR/built"
fi

export PADDLEGATE_SEED=${PADDLEGATE_SEED:-${PADDLEGATE_SOAK:+$RANDOM}}
export PADDLEGATE_SEED=${PADDLEGATE_SEED:-1}
echo "PADDLEGATE_SEED=$PADDLEGATE_SEED"
export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1
exec .venv/bin/python -m pytest -p pytest_timeout --timeout=300 -p no:cacheprovider tests/before "$@"
