#!/usr/bin/env bash
# Runs the examples of the README and of the packages' own pages as a newcomer would: each package
# installed from what is handed out (wheel, tarballs, gem, C library) into an empty folder outside
# the work tree, without a network. Needs everything built and a Redis at PADDLEGATE_TEST_URL.
# The last line says how many tests passed and failed.
# shellcheck disable=SC2016 # backticks are Markdown here
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
: "${PADDLEGATE_TEST_URL:?names no Redis to test on}"
export PADDLEGATE_URL=$PADDLEGATE_TEST_URL
unset PADDLEGATE_TEST_CLOCK PYTHONPATH NODE_PATH RUBYLIB RUBYOPT GEM_PATH LD_LIBRARY_PATH PADDLEGATE_LIBRARY

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit

passed=0 failed=0
# check NAME COMMAND...: a command that succeeds
check() {
    local name=$1 began=$EPOCHREALTIME status=passed
    shift
    if "$@" >out 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1)) status=failed
        cat out
    fi
    echo "$name: $status in $(((${EPOCHREALTIME/./} - ${began/./}) / 1000)) ms"
}
fails() { ! "$@"; }
fail() { echo "$1"; return 1; }

# --- The extractor -------------------------------------------------------------------------------

blocks() { python3 "$here/blocks.py" "$@"; }
blocks_of_sample() {
    PADDLEGATE_TEST_URL=redis://test blocks "$here/sample.md" sample &&
        (cd sample && grep -r '' . | LC_ALL=C sort) | diff "$here/sample.txt" -
}
# refuses MESSAGE PAGE: the page, a printf format, is refused with this message
refuses() {
    # shellcheck disable=SC2059
    printf "$2" >page.md
    fails blocks page.md refused 2>message && grep -F "$1" message
}
check extractor blocks_of_sample
check extractor-language refuses 'blocks in perl are not tested' '```perl\n```\n'
check extractor-section refuses 'no block for Ruby' '## In each language\n### Ruby\n## Else\n'
check extractor-section-last refuses 'no block for Ruby' '## In each language\n### Ruby\n'
check extractor-target refuses 'there is no make nothing' 'Say `make nothing`.\n'
check extractor-target-in-block refuses 'there is no make nothing' '```\nmake nothing\n```\n'
check extractor-server refuses 'write redis://localhost' '```ruby\n"redis://localhost:6379"\n```\n'

# --- Packages ------------------------------------------------------------------------------------

wheel() {
    python3 -m venv venv &&
        venv/bin/pip install --quiet --disable-pip-version-check --no-index \
            "$root"/target/wheels/paddlegate-*.whl
}
tarballs() {
    mkdir tarballs project && echo '{ "private": true }' >project/package.json &&
        npm pack --silent --pack-destination tarballs \
            "$root"/packages/node "$root"/packages/node/npm/*/ "$root"/packages/wasm &&
        (cd project && npm install --offline --no-audit --no-fund ../tarballs/*.tgz)
}
gem_built() {
    (cd "$root/packages/ruby" && rake gem) &&
        GEM_HOME=$dir/gems gem install --local --no-document "$root"/target/gem/paddlegate-*.gem
}
folder() {
    mkdir linked && echo '{ "private": true }' >linked/package.json && (
        cd linked && npm install --offline --no-audit --no-fund "$root/packages/node" &&
            node -e 'require("paddlegate")'
    )
}
crate() {
    cargo init --quiet --vcs none --name newcomer crate &&
        echo "paddlegate = { path = \"$root/core\" }" >>crate/Cargo.toml &&
        cp "$root/Cargo.lock" crate/
}
check install-python wheel
check install-node tarballs
check install-node-require node -e 'require("./project/node_modules/paddlegate")'
check install-node-folder folder
check install-ruby gem_built
check install-c "$root/bindings/c/install.sh" "$dir/prefix"
check install-rust crate

# Each package carries our licences, and those of the crates that it contains in compiled form.
licensed() {
    local name
    for name in LICENSE-APACHE LICENSE-MIT "${@:2}"; do
        find "$1" -name "$name" -size +0 | grep . || fail "$1 has no $name"
    done
}
unpacked() {
    mkdir -p "unpacked/$1" && tar -xzf tarballs/"$1"-[0-9]*.tgz -C "unpacked/$1" && licensed "unpacked/$1" "${@:2}"
}
notices=THIRD_PARTY_LICENSES.txt
check licences-python licensed "$(echo venv/lib/python3.*/site-packages/paddlegate-*/)" "$notices"
check licences-node unpacked paddlegate
check licences-node-platform unpacked paddlegate-linux-x64-gnu "$notices"
check licences-wasm unpacked paddlegate-wasm "$notices"
check licences-ruby licensed gems "$notices"
check licences-c licensed prefix/share "$notices"
licensed_crate() {
    cargo package --manifest-path "$root/core/Cargo.toml" --list --allow-dirty | grep -c '^LICENSE-' | grep -x 2
}
check licences-rust licensed_crate

# What was done above is what the page tells to do.
says() { grep -F -- "$1" "$root/README.md" || fail "README.md does not say: $1"; }
check README-says-wheel says 'pip install target/wheels/paddlegate-*.whl'
check README-says-npm says 'npm install packages/node'
check README-says-gem says 'rake gem'
check README-says-c says 'bindings/c/install.sh PREFIX'
check README-says-wasm says 'npm install packages/wasm'

# --- Examples ------------------------------------------------------------------------------------

run_python() { venv/bin/python "$1"; }
run_node() { cp "$1" project/ && node "project/${1##*/}"; }
run_wasm() { run_node "$1"; }
run_ruby() { GEM_HOME=$dir/gems ruby -w "$1"; }
# With the command of the page of the C library, and nothing else to help the loader.
run_c() {
    local way
    way=$(grep -m 1 '^cc worker\.c .*-rpath' "$root/bindings/c/README.md") || fail "no command to compile" || return
    mkdir -p c && cp "$1" c/worker.c &&
        (cd c && PREFIX=$dir/prefix PKG_CONFIG_PATH=$dir/prefix/lib/pkgconfig bash -euc "$way" && ./worker)
}
run_rust() {
    cp "$1" crate/src/main.rs &&
        CARGO_TARGET_DIR=$root/target cargo run --release --quiet --offline --manifest-path crate/Cargo.toml
}
run_json() {
    venv/bin/python -c 'import sys; from paddlegate import Paddlegate
assert Paddlegate("memory://").load(sys.argv[1])' "$1"
}
# Commands are run elsewhere; here they are only read.
run_sh() { bash -n "$1"; }

keys() { redis-cli -u "$PADDLEGATE_TEST_URL" eval "return redis.call('keys', 'pg1:*')" 0; }
forget() {
    redis-cli -u "$PADDLEGATE_TEST_URL" eval \
        "for _, key in ipairs(redis.call('keys', 'pg1:*')) do redis.call('del', key) end" 0
}
# example LANGUAGE FILE: runs and prints what it should, on an empty Redis that it makes use of
example() {
    local language=$1 file=$2
    forget && "run_$language" "$file" >printed || return
    cat printed
    if [[ -f ${file%.*}.expected ]]; then
        grep -Fxf printed "${file%.*}.expected" | diff - "${file%.*}.expected" || return
    fi
    [[ $language =~ ^(wasm|sh|json)$ || -n $(keys) ]] || fail "nothing of it is in redis"
}
for page in "$root"/README.md "$root"/packages/*/README.md; do
    name=${page#"$root/"} name=${name%README.md} name=${name%/}
    name=${name:-README}
    check "$name" blocks "$page" "examples/$name"
    for file in "examples/$name"/*/*; do
        # A page may have no example.
        [[ $file == *.expected || ! -e $file ]] && continue
        language=${file%/*} language=${language##*/} number=${file##*/}
        check "$name-$language-${number%.*}" example "$language" "$dir/$file"
    done
done
for language in python node wasm ruby c rust; do
    check "README-has-$language" test -d "examples/README/$language"
done

echo "$passed passed, $failed failed"
((failed == 0))
