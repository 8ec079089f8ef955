#!/usr/bin/env bash
# Tests tally.sh and tally-summary.sh: each kind of closing line, passing, failing and missing.
set -uo pipefail
cd "$(dirname "$0")" || exit
unset PADDLEGATE_ATTEMPTS

# The scripts write below the folder above them, so copies of them work on a folder of their own.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/scripts"
cp tally.sh tally-summary.sh "$dir/scripts"
cd "$dir" || exit

passed=0 failed=0
# same NAME EXPECTED ACTUAL
same() {
    if [[ $2 == "$3" ]]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED %s: expected %q, got %q\n' "$1" "$2" "$3"
    fi
}
# counts NAME "PASSED FAILED" STATUS OUTPUT: what a command with this output and status counts as
counts() {
    rm -rf target
    printf '%b\n' "$4" >output
    scripts/tally.sh case sh -c "cat output; exit $3" >shown
    local status=$?
    same "$1" "$2 1, status $3" "$(cat target/tally/case), status $status"
    same "$1: output" "$(cat output)" "$(cat shown)"
}

cargo='running 12 tests\n\ntest result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out'
counts cargo '15 0' 0 "$cargo\n\ntest result: ok. 3 passed; 0 failed; 0 ignored; 0 measured"
counts cargo-failed '13 2' 101 "$cargo\ntest result: FAILED. 1 passed; 2 failed; 0 ignored"
counts cargo-broke '12 1' 101 "$cargo\nerror: could not compile"
counts pytest '117 0' 0 '====== 117 passed, 2 skipped, 1 warning in 1.23s ======'
counts pytest-quiet '117 0' 0 '117 passed in 1.23s'
counts pytest-failed '117 5' 1 '=== \033[31m3 failed\033[0m, 117 passed, 2 errors in 81.23s (0:01:21) ==='
counts pytest-all-failed '0 2' 1 '=== 2 failed in 0.10s ==='
counts pytest-none '0 1' 5 '=== no tests ran in 0.10s ==='
counts node '7 0' 0 '# tests 8\n# pass 7\n# fail 0\n# cancelled 0\n# skipped 1'
counts node-terminal '7 3' 1 'ℹ tests 10\nℹ pass 7\nℹ fail 2\nℹ cancelled 1'
counts minitest '9 2' 1 '12 runs, 30 assertions, 1 failures, 1 errors, 1 skips'
counts plain '6 0' 0 'vectors: 4 passed, 0 failed\n2 passed, 0 failed, 1 skipped'
counts plain-total '6 1' 1 'a: 4 passed, 0 failed\nb: 2 passed, 1 failed\ntotal: 6 passed, 1 failed'
counts chatter '1 0' 0 '# this pass 3\nthese 3 passed before\n1 passed in 0.01s'
counts silent '0 0' 0 'hello'
counts not-found '0 1' 127 'command not found'

# attempts NAME "PASSED FAILED ATTEMPTS" ALLOWED NEEDED: a command that passes when it runs for the
# NEEDED-th time
attempts() {
    rm -rf target runs
    PADDLEGATE_ATTEMPTS=$3 scripts/tally.sh case sh -c "echo >>runs
        if test \$(wc -l <runs) -ge $4; then echo '1 passed, 0 failed'
        else echo '0 passed, 1 failed'; exit 1; fi" >shown
    same "$1" "$2" "$(cat target/tally/case)"
}
attempts attempts-first '1 0 1' 2 1
attempts attempts-second '1 0 2' 2 2
attempts attempts-third '0 1 2' 2 3
attempts attempts-one '0 1 1' '' 2

rm -rf target
mkdir -p target/tally
echo '3 0 1' >target/tally/one
printf '2 0 1\n4 0 1\n' >target/tally/twice
echo '1 1 1' >target/tally/bad
echo '1 0 2' >target/tally/again
summary() { scripts/tally-summary.sh "$@"; echo "status $?"; }
same sum $'one: 3 passed, 0 failed\ntwice: 6 passed, 0 failed\ntotal: 9 passed, 0 failed\nstatus 0' \
    "$(summary one twice)"
same bad $'bad: 1 passed, 1 failed\ntotal: 1 passed, 1 failed\nstatus 1' "$(summary bad)"
same again $'again: 1 passed, 0 failed (attempts: 2)\ntotal: 1 passed, 0 failed\nstatus 0' \
    "$(summary again)"
same none $'one: 3 passed, 0 failed\nnone: no test was run\ntotal: 3 passed, 0 failed\nstatus 1' \
    "$(summary one none)"

echo "$passed passed, $failed failed"
((failed == 0))
