#!/usr/bin/env bash
# Writes a Swift package of the built library into target/swift. Nothing here compiles it: there is no Swift on our machines.
set -euo pipefail
cd "$(dirname "$0")/.."

library=target/release/libpaddlegate_uniffi.so
sources=target/swift/Sources
CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_DEV_OPT_LEVEL=0 cargo build --quiet -p paddlegate-uniffi-bindgen --features uniffi
rm -rf target/swift
mkdir -p "$sources/PaddlegateNative" "$sources/PaddlegateFFI/include"
target/debug/uniffi-bindgen generate --language swift --no-format --out-dir target/swift "$library"
mv target/swift/*.swift "$sources/PaddlegateNative/"
mv target/swift/*.h "$sources/PaddlegateFFI/include/"
mv target/swift/*.modulemap "$sources/PaddlegateFFI/include/module.modulemap"
# A target in C has a source.
touch "$sources/PaddlegateFFI/PaddlegateFFI.c"
cp bindings/uniffi/Package.swift target/swift/
echo "target/swift: generated, not tested here; link it with libpaddlegate_uniffi"
