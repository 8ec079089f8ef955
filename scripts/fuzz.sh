#!/usr/bin/env bash
# Fuzzes what reads foreign texts: documents, answers of upstreams, GraphQL queries. The last line says how many of the
# readers stood it.
#
#   scripts/fuzz.sh [SECONDS]    # for each, 60 by default
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
version=0.13.2
export PATH=$PWD/.tools/bin:$PATH
[[ $(cargo fuzz --version 2>/dev/null) == "cargo-fuzz $version" ]] ||
    cargo install cargo-fuzz --version "$version" --locked --root .tools

# The sanitizers are unstable flags of the compiler.
export RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=$PWD/target/fuzz
corpus=target/fuzz/corpus
mkdir -p $corpus/{document,feedback,graphql}
cp core/tests/corpus/documents/* $corpus/document/
passed=0 failed=0
for target in document feedback graphql; do
    if (cd core && cargo fuzz run "$target" "../$corpus/$target" -- -max_total_time="$seconds" -max_len=4096 -verbosity=0); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
((failed == 0))
