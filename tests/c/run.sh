#!/usr/bin/env bash
# Tests the C library as a user would have it: installed below a prefix, found by pkg-config, and
# compiled with the commands of its page, in an empty folder outside the work tree. Needs the built
# library. Programs run side by side, each with a Redis of its own. The last line says how many
# tests passed and failed. PADDLEGATE_SOAK=1 runs every program with both libraries, and the vectors
# on both stores under valgrind.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
# Nothing may help the loader but what the page tells.
unset LD_LIBRARY_PATH PADDLEGATE_TEST_URL PADDLEGATE_URL

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit
mkdir results

# Each job writes its lines, then "passed failed", into results/NUMBER-NAME.
started=0
job() {
    local name=$1
    shift
    while (($(jobs -rp | wc -l) >= 4)); do wait -n; done
    started=$((started + 1))
    "$@" >"results/$(printf %03d "$started")-$name" 2>&1 &
}
# check COMMAND...: a command that succeeds
check() { if "$@"; then echo "1 0"; else echo "0 1"; fi; }
# count COMMAND...: a program that ends with "passed=N failed=M"; a broken one is one failure
count() {
    local out status last
    out=$("$@")
    status=$? last=${out##*$'\n'}
    echo "$out"
    if [[ $last =~ ^passed=([0-9]+)\ failed=([0-9]+)$ ]]; then
        if ((status == 0 || BASH_REMATCH[2] > 0)); then
            echo "${BASH_REMATCH[1]} ${BASH_REMATCH[2]}"
        else
            echo "status $status"
            echo "${BASH_REMATCH[1]} 1"
        fi
    else
        echo "status $status"
        echo "0 1"
    fi
}
with_redis() { "$root/scripts/with-redis.sh" "$@"; }
# What needs PADDLEGATE_TEST_URL inside.
count_with_redis() { count with_redis "$@"; }

# --- What is installed ---------------------------------------------------------------------------

export PREFIX=$dir/prefix
job install check "$root/bindings/c/install.sh" "$PREFIX"
wait
export PKG_CONFIG_PATH=$PREFIX/lib/pkgconfig
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -n 1)
only_ours() { ! nm -D --defined-only "$PREFIX/lib/libpaddlegate.so" | grep -v ' T pg_'; }
job pkg-config check pkg-config --exact-version="$version" paddlegate
job pkg-config-paths check test "$(pkg-config --variable=libdir paddlegate)" = "$PREFIX/lib"
job exports-only-pg check only_ours

# --- The page ------------------------------------------------------------------------------------

# Each way to compile that the page shows is a line that begins with "cc worker.c".
page=$root/bindings/c/README.md
mapfile -t ways < <(awk '/^```sh$/ { sh = 1; next } /^```$/ { sh = 0 } sh && /^cc worker\.c /' "$page")
two_ways() { ((${#ways[@]} == 2)) && [[ ${ways[0]} == *-rpath* && ${ways[1]} == *libpaddlegate.a* ]]; }
job page-has-two-ways check two_ways
awk '/^```c$/ { example = ++count; next } /^```$/ { example = 0 } example { print > "readme" example ".c" }' "$page"

# A program of the page, in a folder of its own, in memory and on a Redis.
as_on_the_page() {
    local way=$1 file=$2 folder
    folder=$(mktemp -d "$dir/page.XXXXXX")
    cp "$file" "$folder/worker.c"
    cd "$folder" && bash -euc "$way" && ./worker &&
        with_redis bash -c 'PADDLEGATE_URL=$PADDLEGATE_TEST_URL ./worker'
}
for file in readme*.c; do
    for number in "${!ways[@]}"; do
        # Each program in one way, the first in both.
        [[ $file == readme1.c || $number == 0 ]] || continue
        job "page-${file%.c}-way-$((number + 1))" check as_on_the_page "${ways[number]}" "$dir/$file"
    done
done

# --- Programs ------------------------------------------------------------------------------------

read -ra cflags < <(pkg-config --cflags paddlegate)
read -ra shared < <(pkg-config --libs paddlegate)
shared+=("-Wl,-rpath,$PREFIX/lib")
read -ra static < <(pkg-config --libs --static paddlegate)
# The archive itself, or the linker would take the shared library beside it.
static=("${static[@]/-lpaddlegate/-l:libpaddlegate.a}")
flags=(-std=c11 -O1 -g -Wall -Wextra -Werror -pedantic -pthread -I"$here" "${cflags[@]}")

# The static library, which is slow to link, is the same code.
soak=${PADDLEGATE_SOAK:-}
linked_statically=" use threads fork vectors "
is_static() { [[ -n $soak || $linked_statically == *" $1 "* ]]; }
compile() {
    local program=$1
    cc "${flags[@]}" -c "$here/$program.c" -o "$program.o" &&
        cc "$program.o" -o "$program-shared" -pthread "${shared[@]}" &&
        if is_static "$program"; then cc "$program.o" -o "$program-static" -pthread "${static[@]}"; fi
}
checked=(use misuse costs settle lists together together_misuse each keyed keyed_misuse live live_misuse learned shares decision_limits quota modes admit documents documents_misuse lost close)
for program in "${checked[@]}" threads fork vectors; do
    job "compile-$program" check compile "$program"
done
cpp() { c++ -std=c++17 -Wall -Wextra -Werror -pedantic "${cflags[@]}" "$here/header.cpp" -o header "${shared[@]}"; }
job header-c99 check cc -std=c99 -Wall -Wextra -Werror -pedantic "${cflags[@]}" \
    -fsyntax-only -include paddlegate.h -x c /dev/null
job compile-c++ check cpp
wait

job c++ count ./header
needs_no_shared_one() { ! ldd use-static | grep paddlegate; }
soname() { readelf -d use-shared | grep -F '[libpaddlegate.so.0]'; }
job static-stands-alone check needs_no_shared_one
job soname check soname

# With the static library as they are, with the shared one mostly under valgrind.
memcheck=(valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite)
python3 "$here/vectors.py" "$root/tests/vectors" >vectors
of_vectors() { "$@" <vectors; }
of_vectors_in_redis() { with_redis bash -c '"$@" "$PADDLEGATE_TEST_URL"' - "$@" <vectors; }
job threads-valgrind count_with_redis "${memcheck[@]}" ./threads-shared 10
job fork-static count_with_redis ./fork-static
job threads-static count_with_redis ./threads-static
# Those without a call or an answer of their own need no valgrind, which takes a second to start.
plain=" costs learned shares decision_limits quota modes together_misuse keyed_misuse live_misuse documents_misuse "
for program in "${checked[@]}"; do
    if [[ -z $soak && $plain == *" $program "* ]]; then
        job "$program-shared" count_with_redis "./$program-shared"
    else
        job "$program-valgrind" count_with_redis "${memcheck[@]}" "./$program-shared"
    fi
    ! is_static "$program" || job "$program-static" count_with_redis "./$program-static"
done
job vectors-redis-static count of_vectors_in_redis ./vectors-static
if [[ -n $soak ]]; then
    job fork-shared count_with_redis ./fork-shared
    job vectors-memory-valgrind count of_vectors "${memcheck[@]}" ./vectors-shared memory://
    job vectors-memory-static count of_vectors ./vectors-static memory://
    job vectors-redis-valgrind count of_vectors_in_redis "${memcheck[@]}" ./vectors-shared
    job threads-shared count_with_redis ./threads-shared
fi
wait

# --- The sum -------------------------------------------------------------------------------------

passed=0 failed=0 bad=()
for result in results/*; do
    name=${result#results/???-}
    read -r good wrong < <(tail -n 1 "$result")
    if [[ ! $good$wrong =~ ^[0-9]+$ ]]; then
        good=0 wrong=1
    fi
    passed=$((passed + good)) failed=$((failed + wrong))
    echo "$name: passed=$good failed=$wrong"
    ((wrong == 0)) || bad+=("$result")
done
for result in "${bad[@]}"; do
    echo "--- ${result#results/???-} failed:"
    cat "$result"
done
echo "$passed passed, $failed failed"
((failed == 0))
