#!/usr/bin/env bash
# Builds the documentation site from docs/ into target/docs. Installs mdbook into the tools of this
# work tree when it is missing; `make setup` does not, since nothing else needs it.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/versions.bash

export PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH
if ! "$TOOLS/bin/mdbook" --version 2>/dev/null | grep -qF "v$MDBOOK"; then
    echo "docs: installing mdbook $MDBOOK into $TOOLS, which takes some minutes"
    # Without the local server and the watcher, which this build does not use.
    cargo install --locked --root "$TOOLS" "mdbook@$MDBOOK" --no-default-features --features search
fi

"$TOOLS/bin/mdbook" build docs
# On the site pages are HTML.
sed 's/(docs\/src\/\(.*\)\.md)/(\1.html)/' llms.txt >target/docs/llms.txt
echo "docs: open target/docs/index.html"
