#!/usr/bin/env bash
# Tests the C library as a user would have it: installed below a prefix and found by pkg-config,
# from an empty folder outside the work tree. Needs the built library and a Redis at
# PADDLEGATE_TEST_URL. The last line says how many tests passed and failed.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
: "${PADDLEGATE_TEST_URL:?names no Redis to test on}"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit

passed=0 failed=0
# count NAME COMMAND...: a program that ends with "passed=N failed=M"; a broken one is one failure
count() {
    local name=$1 last
    shift
    "$@" >out
    local status=$?
    last=$(tail -n 1 out)
    if [[ $last =~ ^passed=([0-9]+)\ failed=([0-9]+)$ ]]; then
        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
        ((status == 0 || BASH_REMATCH[2] > 0)) || failed=$((failed + 1))
    else
        failed=$((failed + 1))
    fi
    echo "$name: ${last:-nothing} status=$status"
}
# check NAME COMMAND...: a command that succeeds
check() {
    local name=$1
    shift
    if "$@" >out 2>&1; then
        passed=$((passed + 1))
        echo "$name: passed"
    else
        failed=$((failed + 1))
        echo "$name: failed"
        cat out
    fi
}

check install "$root/bindings/c/install.sh" "$dir/prefix"
export PKG_CONFIG_PATH=$dir/prefix/lib/pkgconfig
export LD_LIBRARY_PATH=$dir/prefix/lib
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -n 1)
check pkg-config pkg-config --exact-version="$version" paddlegate
check pkg-config-paths test "$(pkg-config --variable=libdir paddlegate)" = "$dir/prefix/lib"

only_ours() { ! nm -D --defined-only "$dir/prefix/lib/libpaddlegate.so" | grep -v ' T pg_'; }
check exports-only-pg only_ours

flags=(-std=c11 -O1 -g -Wall -Wextra -Werror -pedantic -pthread -I"$here")
read -ra cflags < <(pkg-config --cflags paddlegate)
read -ra shared < <(pkg-config --libs paddlegate)
read -ra static < <(pkg-config --libs --static paddlegate)
# The archive itself, or the linker would take the shared library beside it.
static=("${static[@]/-lpaddlegate/-l:libpaddlegate.a}")

for program in use misuse live live_misuse learned admit documents documents_misuse lost threads fork vectors; do
    check "compile-$program-shared" cc "${flags[@]}" "${cflags[@]}" "$here/$program.c" \
        -o "$program-shared" "${shared[@]}"
    check "compile-$program-static" cc "${flags[@]}" "${cflags[@]}" "$here/$program.c" \
        -o "$program-static" "${static[@]}"
done
check header-c99 cc -std=c99 -Wall -Wextra -Werror -pedantic "${cflags[@]}" \
    -fsyntax-only -include paddlegate.h -x c /dev/null
check header-c++17 c++ -std=c++17 -Wall -Wextra -Werror -pedantic "${cflags[@]}" \
    "$here/header.cpp" -o header "${shared[@]}"
count c++ ./header

# The examples of the README, as a reader would compile them.
awk '/^```c$/ { example = ++count; next } /^```$/ { example = 0 } example { print > "readme" example ".c" }' \
    "$root/bindings/c/README.md"
for file in readme*.c; do
    example=${file%.c}
    check "compile-$example" cc -Wall -Wextra -Werror "$example.c" -o "$example" "${cflags[@]}" "${shared[@]}"
    check "$example" env -u PADDLEGATE_URL "./$example"
    check "$example-redis" env PADDLEGATE_URL="$PADDLEGATE_TEST_URL" "./$example"
done

needs_no_shared_one() { ! ldd use-static | grep paddlegate; }
check static-stands-alone needs_no_shared_one
soname() { readelf -d use-shared | grep -F '[libpaddlegate.so.0]'; }
check soname soname

python3 "$here/vectors.py" "$root/tests/vectors" >vectors
for linked in shared static; do
    count "use-$linked" "./use-$linked"
    count "misuse-$linked" "./misuse-$linked"
    count "live-$linked" "./live-$linked"
    count "live-misuse-$linked" "./live_misuse-$linked"
    count "learned-$linked" "./learned-$linked"
    count "admit-$linked" "./admit-$linked"
    count "documents-$linked" "./documents-$linked"
    count "documents-misuse-$linked" "./documents_misuse-$linked"
    count "lost-$linked" "./lost-$linked"
    count "threads-$linked" "./threads-$linked"
    count "fork-$linked" "./fork-$linked"
    count "vectors-memory-$linked" "./vectors-$linked" memory:// <vectors
    count "vectors-redis-$linked" "./vectors-$linked" "$PADDLEGATE_TEST_URL" <vectors
done

memcheck=(valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite)
count valgrind-use "${memcheck[@]}" ./use-shared
count valgrind-misuse "${memcheck[@]}" ./misuse-shared
count valgrind-live "${memcheck[@]}" ./live-shared
count valgrind-live-misuse "${memcheck[@]}" ./live_misuse-shared
count valgrind-learned "${memcheck[@]}" ./learned-shared
count valgrind-admit "${memcheck[@]}" ./admit-shared
count valgrind-documents "${memcheck[@]}" ./documents-shared
count valgrind-documents-misuse "${memcheck[@]}" ./documents_misuse-shared
count valgrind-lost "${memcheck[@]}" ./lost-shared
count valgrind-threads "${memcheck[@]}" ./threads-shared 20
count valgrind-vectors-memory "${memcheck[@]}" ./vectors-shared memory:// <vectors
count valgrind-vectors-redis "${memcheck[@]}" ./vectors-shared "$PADDLEGATE_TEST_URL" <vectors

echo "$passed passed, $failed failed"
((failed == 0))
