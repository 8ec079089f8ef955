#!/usr/bin/env bash
# Prints the tests passed and failed by name and in total, as recorded by tally.sh, and how many
# attempts it took where one was not enough.
# Fails if any test failed or if one of the names ran no test at all.
#
#   scripts/tally-summary.sh NAME...
set -euo pipefail
cd "$(dirname "$0")/.."

status=0 total_passed=0 total_failed=0
for name in "$@"; do
    passed=0 failed=0 most=1
    if [[ -f target/tally/$name ]]; then
        while read -r p f attempts; do
            passed=$((passed + p)) failed=$((failed + f))
            ((attempts <= most)) || most=$attempts
        done <"target/tally/$name"
    fi
    if ((passed + failed == 0)); then
        echo "$name: no test was run"
        status=1
    else
        ((most == 1)) && note='' || note=" (attempts: $most)"
        echo "$name: $passed passed, $failed failed$note"
    fi
    total_passed=$((total_passed + passed)) total_failed=$((total_failed + failed))
done
echo "total: $total_passed passed, $total_failed failed"
((total_failed == 0)) || status=1
exit "$status"
