#!/usr/bin/env bash
# Builds the wheel into target/wheels and installs it into .venv, as a user would have it.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
wheels=$root/target/wheels

# With the features that the other bindings have when all are built at once, or cargo builds the core once more.
features=()
[[ ${PADDLEGATE_PROFILE:-} != quick ]] || features=(--features paddlegate/default,paddlegate/simulate)

rm -f "$wheels"/paddlegate-*.whl
(cd packages/python && "$root/.venv/bin/maturin" build --release --out "$wheels" \
    --interpreter "$root/.venv/bin/python" "${features[@]}")
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-index --no-deps \
    --force-reinstall "$wheels"/paddlegate-*.whl
