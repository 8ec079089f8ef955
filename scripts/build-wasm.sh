#!/usr/bin/env bash
# Builds bindings/wasm into packages/wasm/dist/{bundler,web,node}, the larger module with documents and the simulator
# into dist/full/, checks their sizes, and writes the JavaScript of dist/ that is not generated from Rust.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/versions.bash

target=wasm32-unknown-unknown
module=target/$target/wasm/paddlegate_wasm.wasm
dist=packages/wasm/dist

# compile CARGO_ARGUMENTS...
compile() {
    local build=(cargo build --package paddlegate-wasm --profile wasm --target "$target" "$@")
    if [[ -d $(rustc --print sysroot)/lib/rustlib/$target ]]; then
        "${build[@]}"
    else
        # No target from rustup: Debian's compiler builds the standard library from its source.
        RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld-19 \
            "${build[@]}" -Z build-std=std,panic_abort
    fi
}

# bind FOLDER MOST_BYTES_GZIPPED
bind() {
    local kind out type size wasm
    for kind in bundler web nodejs; do
        out=$1/${kind%js}
        "$TOOLS/bin/wasm-bindgen" "$module" --target "$kind" --out-dir "$out" --out-name paddlegate
        [[ $kind == nodejs ]] && type=commonjs || type=module
        echo "{ \"type\": \"$type\" }" >"$out/package.json"
    done
    # The kinds differ in their JavaScript only: one file serves all, beside the JavaScript that it imports.
    cmp "$1"/{bundler,web}/paddlegate_bg.wasm
    cmp "$1"/{bundler,node}/paddlegate_bg.wasm
    rm "$1"/{web,node}/paddlegate_bg.wasm
    sed -i "s|'paddlegate_bg.wasm'|'../bundler/paddlegate_bg.wasm'|" "$1/web/paddlegate.js"
    sed -i 's|/paddlegate_bg.wasm`|/../bundler/paddlegate_bg.wasm`|' "$1/node/paddlegate.js"
    wasm=$1/bundler/paddlegate_bg.wasm
    node scripts/wasm-without-panic-texts.mjs "$wasm"
    # The first kilobyte is the end of the stack: no pointer plus an offset wraps around to it.
    node_modules/.bin/wasm-opt -Oz --converge --low-memory-unused --strip-debug --strip-producers --strip-target-features \
        "$wasm" -o "$wasm"
    size=$(gzip -9c "$wasm" | wc -c)
    echo "$1: $size bytes gzipped, $2 allowed"
    ((size <= $2))
}

rm -rf "$dist"
compile
bind "$dist" 169300
compile --features full
bind "$dist/full" 550000

node packages/wasm/scripts/modules.mjs
