#!/usr/bin/env bash
# Runs a command with the Sidekiq 7.3 of Debian 13, whose packages it unpacks into target/sidekiq7.
# They come from the mirror that this machine has for its own Debian.
#
#   scripts/sidekiq7.sh ruby packages/ruby/test/run.rb packages/ruby/test/sidekiq_test.rb
set -euo pipefail
folder=$(cd "$(dirname "$0")/.." && pwd)/target/sidekiq7
gems=$folder/usr/share/rubygems-integration/all/gems

download() {
    local mirror apt
    mirror=$(awk '/^URIs:/ { print $2; exit } /^deb / { print $2; exit }' \
        /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2>/dev/null)
    rm -rf "$folder" && mkdir -p "$folder"/apt/lists/partial "$folder"/apt/cache/archives/partial
    cd "$folder/apt"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >list
    apt=(apt-get -q -o "Dir::Etc::sourcelist=$PWD/list" -o Dir::Etc::sourceparts=/dev/null
        -o "Dir::State::lists=$PWD/lists" -o "Dir::Cache=$PWD/cache")
    "${apt[@]}" update >&2
    "${apt[@]}" download ruby-sidekiq ruby-redis-client ruby-connection-pool >&2
    for package in *.deb; do
        dpkg -x "$package" "$folder"
    done
}

shopt -s nullglob
[[ -n $(echo "$gems"/sidekiq-7*) ]] || (download)
libraries=$(printf '%s:' "$gems"/*/lib "$folder"/usr/lib/ruby/vendor_ruby)
programs=$(echo "$gems"/sidekiq-7*/bin)
RUBYLIB=$libraries${RUBYLIB:-} PATH=$programs:$PATH exec "$@"
