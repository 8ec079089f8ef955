#!/usr/bin/env bash
# Compiles the Go package with the built C library, and the programs of tests/go into target/shared.
set -euo pipefail
cd "$(dirname "$0")/.."

# For programs with a vendor folder, into which Go copies the files of the package alone.
ln -f target/release/libpaddlegate.a packages/go/ 2>/dev/null || cp target/release/libpaddlegate.a packages/go/

go build -C packages/go ./...
mkdir -p target/shared
# Go does not see that the library is another one, so it is to link again.
for program in tests/go/*/; do
    name=go-$(basename "$program")
    rm -f "target/shared/$name"
    go build -C "$program" -o "$PWD/target/shared/$name" .
done
