#!/usr/bin/env bash
# Builds the wheel into target/wheels and installs it into .venv, as a user would have it.
#
#   scripts/build-python.sh [CARGO_ARGUMENT...]   # packs what `cargo build` with these arguments has built
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
wheels=$root/target/wheels
if (($# > 0)); then
    # maturin would compile the core again with the features of the Python package alone.
    export CARGO=$root/scripts/cargo-built.sh PADDLEGATE_BUILT="$*"
fi

rm -f "$wheels"/paddlegate-*.whl
(cd packages/python && "$root/.venv/bin/maturin" build --release --out "$wheels" \
    --interpreter "$root/.venv/bin/python")
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-index --no-deps \
    --force-reinstall "$wheels"/paddlegate-*.whl
