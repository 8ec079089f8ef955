#!/usr/bin/env bash
# Checks format, style and types in all languages; with --fix it formats and mends what it can.
# Runs every check, even after one has failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

source scripts/versions.bash

fix=${1:-}
venv=.venv/bin
biome=node_modules/.bin/biome
tsc=node_modules/.bin/tsc
failed=()
# Each folder with Go is a module of its own.
mapfile -t go < <(git ls-files --cached --others --exclude-standard '*go.mod' | xargs -r dirname)
# Some packages of Go bring it as source only.
gofmt=("$(go env GOROOT)/bin/gofmt")
[[ -x ${gofmt[0]} ]] || gofmt=(go run cmd/gofmt)

# check NAME COMMAND...
check() {
    local name=$1
    shift
    echo "--- $name"
    "$@" || failed+=("$name")
}

formatted() { local wrong; wrong=$("${gofmt[@]}" -l "$@") && [[ -z $wrong ]] || { echo "$wrong"; return 1; }; }

shopt -s nullglob
typescript=(packages/*/tsconfig.json)
mapfile -t ruby < <(git ls-files --cached --others --exclude-standard '*.rb' '*.gemspec' '*Rakefile')
mapfile -t kotlin < <(git ls-files --cached --others --exclude-standard '*.kt' ':!packages/kotlin/src/main/generated')
mapfile -t java < <(git ls-files --cached --others --exclude-standard '*.java')
ktfmt=(java -jar "$KTFMT_JAR" --kotlinlang-style --enable-editorconfig --quiet)
java_format=(java -jar "$GOOGLE_JAVA_FORMAT_JAR" --aosp)
wasm=wasm32-unknown-unknown
[[ -d $(rustc --print sysroot)/lib/rustlib/$wasm ]] || wasm=

if [[ $fix == --fix ]]; then
    check rustfmt cargo fmt --all
    check ruff-fix "$venv/ruff" check --quiet --fix .
    check ruff-format "$venv/ruff" format --quiet .
    check biome "$biome" check --write .
    check rubocop rubocop --force-exclusion --autocorrect "${ruby[@]}"
    check gofmt "${gofmt[@]}" -w "${go[@]}"
    check ktfmt "${ktfmt[@]}" "${kotlin[@]}"
    check java-format "${java_format[@]}" --replace "${java[@]}"
else
    check rustfmt cargo fmt --all --check
    check clippy cargo clippy --release --workspace --all-targets --features paddlegate/redis-rs -- -D warnings
    # Debian's compiler, the other way to WebAssembly, brings no clippy for it.
    if [[ -n $wasm ]]; then
        check clippy-wasm cargo clippy --release --package paddlegate-wasm --target "$wasm" -- -D warnings
        check clippy-wasm-full \
            cargo clippy --release --package paddlegate-wasm --target "$wasm" --features full -- -D warnings
    fi
    check ruff "$venv/ruff" check .
    check ruff-format "$venv/ruff" format --check .
    check mypy "$venv/mypy"
    check pyright node_modules/.bin/pyright
    check biome "$biome" check --error-on-warnings .
    for config in "${typescript[@]}"; do
        check "tsc-$config" "$tsc" --noEmit --project "$config"
    done
    check rubocop rubocop --force-exclusion "${ruby[@]}"
    check gofmt formatted "${go[@]}"
    check ktfmt "${ktfmt[@]}" --dry-run --set-exit-if-changed "${kotlin[@]}"
    check java-format "${java_format[@]}" --dry-run --set-exit-if-changed "${java[@]}"
    for module in "${go[@]}"; do
        check "vet-$module" go vet -C "$module" ./...
    done
    check generated make --no-print-directory check-generated
fi

if ((${#failed[@]} > 0)); then
    echo "lint: failed: ${failed[*]}" >&2
    exit 1
fi
echo "lint: all well"
