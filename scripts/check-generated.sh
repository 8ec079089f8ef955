#!/usr/bin/env bash
# Fails if a generated file differs from the committed (or staged) one.
set -euo pipefail
cd "$(dirname "$0")/.."

generated=('bindings/c/include/*.h' 'packages/go/*.h' 'packages/*/*.d.ts' 'packages/kotlin/src/main/generated/*' '*THIRD_PARTY_LICENSES.txt' '*/LICENSE-*')

git diff --exit-code -- "${generated[@]}" || {
    echo "Generated files have changed. If you meant it, git add them." >&2
    exit 1
}
