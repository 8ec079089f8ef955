#!/bin/sh
# Installs the C library, its header and its pkg-config file below PREFIX (default /usr/local).
# The library must have been built: cargo build --release -p paddlegate-c
#
#   bindings/c/install.sh [PREFIX]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
built=${CARGO_TARGET_DIR:-$here/../../target}/release
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$here/../../Cargo.toml" | head -n 1)

prefix=${1:-/usr/local}
mkdir -p "$prefix/include" "$prefix/lib/pkgconfig" "$prefix/share/doc/paddlegate"
prefix=$(cd "$prefix" && pwd)

cp "$here/include/paddlegate.h" "$prefix/include/"
cp "$here"/LICENSE-* "$here/THIRD_PARTY_LICENSES.txt" "$prefix/share/doc/paddlegate/"
cp "$built/libpaddlegate.a" "$prefix/lib/"
if [ -f "$built/libpaddlegate.dylib" ]; then
    cp "$built/libpaddlegate.dylib" "$prefix/lib/libpaddlegate.0.dylib"
    ln -sf libpaddlegate.0.dylib "$prefix/lib/libpaddlegate.dylib"
else
    # A new file, for programs that are running on the old one.
    rm -f "$prefix/lib/libpaddlegate.so.$version"
    cp "$built/libpaddlegate.so" "$prefix/lib/libpaddlegate.so.$version"
    ln -sf "libpaddlegate.so.$version" "$prefix/lib/libpaddlegate.so.0"
    ln -sf libpaddlegate.so.0 "$prefix/lib/libpaddlegate.so"
fi
sed -e "s|@prefix@|$prefix|" -e "s|@version@|$version|" "$here/paddlegate.pc.in" \
    >"$prefix/lib/pkgconfig/paddlegate.pc"
