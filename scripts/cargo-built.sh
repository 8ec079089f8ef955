#!/usr/bin/env bash
# Stands for cargo while maturin packs the Python extension: instead of building it once more, it names the file that `cargo build`
# with the arguments in PADDLEGATE_BUILT has built.
set -euo pipefail
if [[ $1 != rustc ]]; then
    exec cargo "$@"
fi
# With maturin's environment pyo3 would be compiled again.
for name in "${!PYO3_@}"; do
    [[ $name == PYO3_BUILD_EXTENSION_MODULE ]] || unset "$name"
done
# shellcheck disable=SC2086 # several arguments
cargo build --release --message-format json-render-diagnostics $PADDLEGATE_BUILT |
    grep -E 'libpaddlegate_native|"build-finished"'
