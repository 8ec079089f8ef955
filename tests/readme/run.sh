#!/usr/bin/env bash
# Runs the code of the README, of the packages' own pages and of docs/, and the programs in examples/,
# as a newcomer would: each package installed from what is handed out (wheel, tarballs, gem, C
# library) into an empty folder outside the work tree, without a network. Checks the links between
# pages. Needs everything built and a Redis at PADDLEGATE_TEST_URL.
# The line that begins with "pages:" and the last one say how many tests passed and failed.
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
# links_refused MESSAGE PAGE: the check of links refuses the page with this message
links_refused() {
    echo "$2" >page.md
    fails python3 "$here/links.py" page.md >message && grep -F "$1" message
}
# has LANGUAGE PAGE: there is a program in it
has() { rm -rf had && blocks "$2" had && test -d "had/$1"; }
# program_refused MESSAGE STATEMENT: a page with this statement in Python fails with this message
program_refused() {
    printf '```python\nimport paddlegate\n%s\n```\n' "$2" >page.md
    fails programs page.md >message && grep -F "$1" message
}
programs() { python3 "$here/pages.py" "$dir" "$@"; }
check extractor blocks_of_sample
check extractor-language refuses 'blocks in perl are not tested' '```perl\n```\n'
check extractor-section refuses 'no block for Ruby' '## In each language\n### Ruby\n## Else\n'
check extractor-section-last refuses 'no block for Ruby' '## In each language\n### Ruby\n'
check extractor-target refuses 'there is no make nothing' 'Say `make nothing`.\n'
check extractor-target-in-block refuses 'there is no make nothing' '```\nmake nothing\n```\n'
check extractor-server refuses 'write redis://localhost' '```ruby\n"redis://localhost:6379"\n```\n'

# --- Packages ------------------------------------------------------------------------------------

# What a reader has before: a project of each language.
reader() {
    python3 -m venv venv && mkdir reader && (
        cd reader && echo '{ "private": true }' >package.json && go mod init newcomer &&
            cargo init --quiet --vcs none --name newcomer && cp "$root/Cargo.lock" .
    )
}
# A copy of the checkout for the lines that build in it, as other tests use what is built there.
checkout() {
    local tools
    tools=$(cd "$root" && source scripts/versions.bash && echo "$TOOLS")
    mkdir -p bin checkout/target && (cd "$root" && cp -r --parents Cargo.toml packages/{ruby,kotlin} bindings/c target/kotlin "$dir/checkout") &&
        ln -s "$root/target/release" checkout/target/ && cp -as "$tools/m2" m2 && rm -rf m2/paddlegate &&
        printf '#!/bin/sh\nexec %s -o -B -q -Dmaven.repo.local=%s "$@"\n' "$(command -v mvn)" "$dir/m2" >bin/mvn && chmod +x bin/mvn &&
        echo 'gem: --no-document' >gemrc
}
# install_lines PAGE...: the lines of blocks of a shell that install a package, without their comments
install_lines() {
    awk '/^```/ { sh = $0 == "```sh"; next } sh' "$@" | sed 's/ *#.*//' |
        grep -E '^(pip|npm|go mod|mvn|cargo add|bindings/c/install.sh|\(cd packages/ruby)'
}
# run_line LINE: as a reader runs it, without a network
run_line() {
    local line=${1//PROJECT/$dir/reader} place=$root
    [[ $line != *mvn* && $line != *rake* ]] || place=$dir/checkout
    env -C "$place" PATH="$dir/bin:$dir/venv/bin:$PATH" PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 \
        CARGO_NET_OFFLINE=true GOPROXY=off GEM_HOME="$dir/gems" GEMRC="$dir/gemrc" \
        npm_config_offline=true npm_config_audit=false bash -euc "${line//PREFIX/$dir/prefix}"
}
installed() {
    # What the packages integrate with comes from the work tree, and behind it in the path.
    printf '%s\n' "$root"/.venv/lib/python3.*/site-packages "$root/.venv/arq" >venv/hosts.pth &&
        mv venv/hosts.pth venv/lib/python3.*/site-packages/ &&
        go -C reader list paddlegate && env -C reader node -e 'require("paddlegate"); require("paddlegate-wasm")'
}
# Nobody holds the names of the packages in a registry yet, and of a/b npm makes a repository of a stranger.
of_strangers() {
    local others='npx|(yarn|pnpm) add|gem install|pip install|uv add|uvx|go get|cargo install' options='+(-[^ ]+ +)*'
    ! grep -rnE --include='*.md' --exclude-dir={node_modules,target,.venv,.tools} "$root" \
        -e "npm (i|install|add|pack|exec) $options(@?paddlegate|[a-z]+/[a-z])" -e "($others) $options@?paddlegate"
}
tarballs() {
    mkdir tarballs project && echo '{ "private": true }' >project/package.json &&
        node "$root/packages/node/scripts/pack.mjs" tarballs && npm pack --silent --pack-destination tarballs "$root/packages/wasm" &&
        (cd project && npm install --offline --no-audit --no-fund ../tarballs/*.tgz) &&
        # What it integrates with comes from the work tree.
        for host in bullmq express fastify hono reflect-metadata @discordjs @hono @nestjs @types; do
            ln -s "$root/node_modules/$host" project/node_modules/ || return
        done
}
# A project of Maven with the dependency of the page, from the repository into which the jar was installed, and the interface with
# which it integrates.
project_jvm() {
    local dependency servlets
    servlets=$(grep -A 2 -F '<groupId>jakarta.servlet<' "$root/packages/kotlin/pom.xml")
    dependency=$(sed -n '/^```xml$/,/^```$/p' "$root/docs/src/start/kotlin.md" | grep -v '^```')
    mkdir -p jvm/src && cat >jvm/pom.xml <<END && (
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>newcomer</groupId>
  <artifactId>newcomer</artifactId>
  <version>1</version>
  <properties>
    <kotlin.compiler.jvmTarget>17</kotlin.compiler.jvmTarget>
    <kotlin.compiler.daemon>false</kotlin.compiler.daemon>
  </properties>
  <dependencies>$dependency<dependency>$servlets</dependency></dependencies>
  <build>
    <sourceDirectory>src</sourceDirectory>
    <plugins>
      <plugin>
        <groupId>org.jetbrains.kotlin</groupId>
        <artifactId>kotlin-maven-plugin</artifactId>
        <version>$(sed -n 's/.*<kotlin.version>\(.*\)<.*/\1/p' "$root/packages/kotlin/pom.xml")</version>
        <executions><execution><goals><goal>compile</goal></goals></execution></executions>
      </plugin>
    </plugins>
  </build>
</project>
END
        cp bin/mvn jvm/maven && cd jvm && ./maven org.apache.maven.plugins:maven-dependency-plugin:3.9.0:build-classpath -Dmdep.outputFile=classpath &&
            grep -F /paddlegate-0.1.0.jar classpath
    )
}
# In a program whose library is the installed one.
module_installed() {
    printf 'package main\n\nimport "paddlegate"\n\nfunc main() { println(paddlegate.Version()) }\n' >reader/main.go &&
        # Go's cache does not know where pkg-config has found the library, which may have been elsewhere before.
        CGO_LDFLAGS="-O2 -g -L$dir/prefix/lib" PKG_CONFIG_PATH=$dir/prefix/lib/pkgconfig \
            go run -C reader -tags paddlegate_installed -ldflags "-r $dir/prefix/lib" .
}
# Nothing outside the module is linked, nor at run time.
module_vendored() {
    (
        cd reader && go mod vendor && go build -ldflags '-extldflags "-static"' -o vendored . && ./vendored && fails ldd vendored && rm -r vendor
    )
}
check before reader
check checkout checkout
mapfile -t starts < <(ls "$root"/README.md "$root"/docs/src/start/*.md)
for page in "${starts[@]}"; do
    check "installs-$(basename "$page" .md)" install_lines "$page"
done
mapfile -t lines < <(install_lines "${starts[@]}" "$root"/packages/*/README.md | sort -u)
for line in "${lines[@]}"; do
    check "install $line" run_line "$line"
done
check installed installed
check installs-nothing-of-strangers of_strangers
check install-node tarballs
check install-node-require node -e 'require("./project/node_modules/paddlegate")'
check install-jvm project_jvm
check install-go-installed module_installed
check install-go-vendored module_vendored

# Programs of five languages, in fresh projects with the installed packages, share a limit.
check installed-packages-share-a-limit python3 "$here/workers.py" "$dir"

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
check licences-go licensed "$root/packages/go"
unpacked_jar() { mkdir jar && (cd jar && jar -xf "$(find "$root/target/kotlin/maven" -name 'paddlegate-*.jar')") && licensed jar "$notices"; }
check licences-jvm unpacked_jar
check licences-c licensed prefix/share "$notices"
licensed_crate() {
    cargo package --manifest-path "$root/core/Cargo.toml" --list --allow-dirty | grep -c '^LICENSE-' | grep -x 2
}
check licences-rust licensed_crate

# --- Programs ------------------------------------------------------------------------------------

# A row about a page that is gone would be forgotten.
hidden_pages() { (cd "$root" && sed '/^#/d; s/ .*//' "$here/hidden.txt" | sort -u | xargs ls); }
check hidden-pages hidden_pages
# They open the pages for readers and those for programs alike.
facts() { awk '/^Facts / { found = 1 } found && /^[- ]/ { print; listed = 1 } listed && /^$/ { exit }' "$1"; }
facts_alike() { facts "$root/llms.txt" | grep . && diff <(facts "$root/llms.txt") <(facts "$root/docs/src/introduction.md"); }
check facts-alike facts_alike
check links python3 "$here/links.py"
check links-missing-file links_refused 'names no file' '[a](nothing.md)'
check links-missing-anchor links_refused 'names no heading' '[a](#nothing)'
check links-absolute links_refused 'is an absolute link' '[a](/docs)'
for language in python node ruby go kotlin; do
    check "README-has-$language" has "$language" "$root/README.md"
done
for language in python node wasm ruby c rust go kotlin java; do
    page=${language/#wasm/browser} page=${page/#java/kotlin}
    check "start-has-$language" has "$language" "$root/docs/src/start/$page.md"
done

mapfile -t pages < <(
    ls "$root"/README.md "$root"/packages/*/README.md
    find "$root/docs/src" -name '*.md' | LC_ALL=C sort
    find "$root/examples" -type f -not -name '*.md' | LC_ALL=C sort
)
# Programs that must not pass.
check programs-output program_refused 'should print' 'print(1)  # 2'
check programs-status program_refused 'status 3' 'raise SystemExit(3)'
check programs-redis program_refused 'has left nothing in Redis' 'print(1)  # 1'
programs "${pages[@]}" | tee programs
read -r _ ran _ broken _ < <(tail -n 1 programs | tr -d ,)
# Lines that begin with a word count apart: these are added up by the tally.
((${ran:-0} > 0)) || failed=$((failed + 1))

echo "$passed passed, $failed failed"
((failed == 0 && ${broken:-1} == 0))
