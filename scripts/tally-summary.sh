#!/usr/bin/env bash
# Prints what the run consisted of and how long each part took: the steps recorded by step.sh and the suites
# recorded by tally.sh, with the tests passed and failed, and the twenty slowest tests.
# Below the table stands once more what failed; the last line counts.
# Fails if any test failed or if one of the names ran no test at all.
#
#   scripts/tally-summary.sh NAME...
set -euo pipefail
cd "$(dirname "$0")/.."

# row NAME MILLISECONDS REST
row() { printf '%-14s %7d.%d s%s\n' "$1" $(($2 / 1000)) $(($2 % 1000 / 100)) "${3:+   $3}"; }

if [[ -f target/steps ]]; then
    # A step may have been taken several times.
    awk '{ if (!($1 in sum)) name[++count] = $1; sum[$1] += $2 } END { for (i = 1; i <= count; i++) print name[i], sum[name[i]] }' \
        target/steps | while read -r name took; do row "$name" "$took"; done
fi

status=0 total_passed=0 total_failed=0
for name in "$@"; do
    passed=0 failed=0 took=0
    if [[ -f target/tally/$name ]]; then
        while read -r p f milliseconds; do
            passed=$((passed + p)) failed=$((failed + f)) took=$((took + milliseconds))
        done <"target/tally/$name"
    fi
    if ((passed + failed == 0)); then
        row "$name" "$took" 'no test was run'
        status=1
    else
        row "$name" "$took" "passed $passed, failed $failed"
    fi
    total_passed=$((total_passed + passed)) total_failed=$((total_failed + failed))
done

# Suites run side by side, so their seconds add up to more than this.
[[ ! -f target/began ]] || row 'whole run' $(($(date +%s%3N) - $(<target/began)))

slowest=$(for name in "$@"; do
    [[ ! -f target/tally/$name.slowest ]] || sed "s/^\([^\t]*\)\t/\1\t$name: /" "target/tally/$name.slowest"
done | sort -rn | head -n 20)
[[ -z $slowest ]] || printf 'slowest tests, in seconds:\n%s\n' "$slowest"

[[ ! -f target/steps.failures ]] || cat target/steps.failures
for name in "$@"; do
    [[ ! -f target/tally/$name.failures ]] || cat "target/tally/$name.failures"
done

echo "total: $total_passed passed, $total_failed failed"
((total_failed == 0)) || status=1
exit "$status"
