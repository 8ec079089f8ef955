#!/usr/bin/env bash
# Runs a test command, shows its output as it comes, and appends what its closing lines say (passed
# and failed) and the milliseconds to target/tally/NAME. The status is the command's own.
#
#   scripts/tally.sh NAME COMMAND [ARGUMENT...]
#
# What a failed command said about its failures goes to target/tally/NAME.failures, which
# tally-summary.sh prints at the end of the whole run. Its slowest tests go to target/tally/NAME.slowest.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
source scripts/tally.bash

name=$1
shift
# A suite that runs cargo or make is no part of the make that runs the suites.
unset MAKEFLAGS MFLAGS MAKELEVEL
tally=${PADDLEGATE_TALLY:-target/tally}
mkdir -p "$tally"
log=$tally/$name.log
export PYTEST_ADDOPTS="${PYTEST_ADDOPTS:-} --durations=20 --durations-min=1"
began=$EPOCHREALTIME

# In CI a test that hangs ends as a failure, and the suites after it still have their turn.
${CI:+timeout --kill-after=10 45m} "$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
((status == 0)) || { echo "--- $name: failed with status $status"; failures "$log"; } >>"$tally/$name.failures"

sed 's/\x1b\[[0-9;]*m//g; s/\r$//' "$log" | awk -f scripts/slowest.awk >>"$tally/$name.slowest"

read -r passed failed < <(sed 's/\x1b\[[0-9;]*m//g; s/\r$//' "$log" | awk '
    # The number before a word: before("3 failed, 117 passed in 1.2s", "passed") is 117.
    function before(text, word) {
        return match(text, "[0-9]+ " word) ? substr(text, RSTART) + 0 : 0
    }
    # The number behind a word.
    function after(text, word) { return substr(text, index(text, word) + length(word)) + 0 }
    # Counts the last test of Go, behind which no test of its own stands.
    function go_count() {
        if (go_status == "PASS:") passed++
        if (go_status == "FAIL:") failed++
    }

    # cargo test: "test result: ok. 12 passed; 0 failed; 1 ignored; ..."
    /^test result: / {
        passed += before($0, "passed"); failed += before($0, "failed"); next
    }
    # pytest: "=== 1 failed, 117 passed, 2 errors in 1.23s ==="
    /(passed|failed|errors?)(, | ).*in [0-9.]+s/ {
        passed += before($0, "passed"); failed += before($0, "failed") + before($0, "error"); next
    }
    # node --test: "# pass 12", or with another first character when it writes to a terminal
    /^[^ A-Za-z0-9]+ pass [0-9]+$/ { passed += $3; next }
    /^[^ A-Za-z0-9]+ (fail|cancelled) [0-9]+$/ { failed += $3; next }
    # minitest: "12 runs, 30 assertions, 1 failures, 0 errors, 2 skips"
    /^[0-9]+ (runs|tests), [0-9]+ assertions, / {
        bad = before($0, "failures") + before($0, "errors")
        passed += $1 - bad - before($0, "skips"); failed += bad; next
    }
    # go test -v: "    --- PASS: TestA/b (0.00s)", where a test that has tests stands before them and is not counted.
    /^ *--- (PASS|FAIL|SKIP): / {
        depth = index($0, "-")
        if (depth <= go_depth) go_count()
        go_depth = depth; go_status = $2; next
    }
    # Maven: "[INFO] Tests run: 12, Failures: 1, Errors: 0, Skipped: 0", where the line of a class goes on.
    /^\[[A-Z]+\] Tests run: [0-9]+, Failures: [0-9]+, Errors: [0-9]+, Skipped: [0-9]+$/ {
        bad = after($0, "Failures: ") + after($0, "Errors: ")
        passed += after($0, "run: ") - bad - after($0, "Skipped: "); failed += bad; next
    }
    # "[word: ]12 passed, 0 failed". A line for the total stands for the lines that it adds up.
    /^([A-Za-z0-9_-]+: )?[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$/ {
        if (/^total: /) {
            total = 1; total_passed = before($0, "passed"); total_failed = before($0, "failed")
        } else {
            plain_passed += before($0, "passed"); plain_failed += before($0, "failed")
        }
    }
    END {
        go_count()
        print passed + (total ? total_passed : plain_passed), \
              failed + (total ? total_failed : plain_failed)
    }')

# A run that broke without a failed test (it did not compile, it was stopped) counts as one failure.
if ((status != 0 && failed == 0)); then
    failed=1
fi
echo "$passed $failed $(since "$began")" >>"$tally/$name"
exit "$status"
