#!/usr/bin/env bash
# Tests tally.sh, step.sh and tally-summary.sh: each kind of closing line, passing, failing and missing, and each kind
# of failure.
set -uo pipefail
cd "$(dirname "$0")" || exit
unset PADDLEGATE_TALLY

# The scripts write below the folder above them, so copies of them work on a folder of their own.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/scripts"
cp tally.sh tally.bash step.sh failures.awk slowest.awk tally-summary.sh "$dir/scripts"
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
    same "$1" "$2, status $3" "$(cut -d ' ' -f 1-2 target/tally/case), status $status"
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
go='--- PASS: TestA (0.00s)\n    --- PASS: TestA/b (0.00s)\n    --- PASS: TestA/c (0.00s)\n        --- PASS: TestA/c/d (0.00s)'
counts go '3 0' 0 "=== RUN   TestA\n$go\n--- PASS: TestE (0.01s)\nPASS\nok  \tpaddlegate\t0.01s"
counts go-failed '3 1' 1 "$go\n--- FAIL: TestE (0.00s)\n    --- FAIL: TestE/f (0.00s)\n    --- PASS: TestE/g (0.00s)\n    --- SKIP: TestE/h (0.00s)\nFAIL"
counts go-only-above '1 1' 1 "--- FAIL: TestE (0.00s)\n    --- PASS: TestE/g (0.00s)\nFAIL"
counts go-broke '0 1' 1 'FAIL\tpaddlegate [build failed]\nFAIL'
maven='[INFO] Tests run: 12, Failures: 1, Errors: 1, Skipped: 1, Time elapsed: 0.1 s -- in paddlegate.ATest'
counts maven '12 0' 0 '[INFO] Results:\n[INFO] Tests run: 12, Failures: 0, Errors: 0, Skipped: 0'
counts maven-failed '9 2' 1 "$maven\n[ERROR] Tests run: 12, Failures: 1, Errors: 1, Skipped: 1"
counts maven-broke '0 1' 1 '[ERROR] a.kt: (3, 1) unresolved reference'
counts plain '6 0' 0 'vectors: 4 passed, 0 failed\n2 passed, 0 failed, 1 skipped'
counts plain-total '6 1' 1 'a: 4 passed, 0 failed\nb: 2 passed, 1 failed\ntotal: 6 passed, 1 failed'
counts chatter '1 0' 0 '# this pass 3\nthese 3 passed before\n1 passed in 0.01s'
counts silent '0 0' 0 'hello'
counts not-found '0 1' 127 'command not found'

# failure NAME STATUS OUTPUT EXPECTED: what a command with this output is said to have failed with
failure() {
    rm -rf target
    printf '%b\n' "$3" >output
    scripts/tally.sh case sh -c "cat output; exit $2" >shown
    same "failure-$1" "--- case: failed with status $2"$'\n'"$(printf '%b' "$4")" "$(cat target/tally/case.failures)"
}
cargo='failures:\n\n---- a stdout ----\nPADDLEGATE_SEED=9\nleft: 1\n\nfailures:\n    a\n\ntest result: FAILED. 0 passed; 1 failed'
failure cargo 101 "running 1 test\ntest a ... FAILED\n\n$cargo\n\n     Running tests/b.rs" "PADDLEGATE_SEED=9\n$cargo"
failure cargo-twice 101 "$cargo\ntest b ... ok\n$cargo" "PADDLEGATE_SEED=9\n$cargo\n$cargo"
error='error[E0425]: cannot find value\n --> a.rs:1:1'
failure compiler 101 "   Compiling a\n\033[1m$error\n\nwarning: b" "$error"
signal='error: test failed, to rerun pass `-p a`\nCaused by: signal 11'
failure signal 101 "running 1 test\n$signal" "$signal"
pytest='=== FAILURES ===\n___ test_a ___\nE  assert 1 == 2\n=== short test summary info ===\nFAILED a.py::test_a\n=== 1 failed, 2 passed in 0.10s ==='
failure pytest 1 "PADDLEGATE_SEED=7\na.py::test_a FAILED\n$pytest" "PADDLEGATE_SEED=7\n$pytest"
errors='=== ERRORS ===\nno fixture\n=== 1 error in 0.10s ==='
failure pytest-errors 1 "a.py E\n$errors" "$errors"
spec='✖ failing tests:\n\ntest at a.mjs:1:1\n✖ a (1ms)\n  1 !== 2'
failure node 1 "✔ b (1ms)\n✖ a (1ms)\nℹ pass 1\nℹ fail 1\n\n$spec" "$spec"
tap='    not ok 1 - a\n      ---\n      error: 1\n      ...'
failure tap 1 "# Subtest: a\n$tap\n    ok 2 - b\n      ---\n      ...\nnot ok 3 - c # SKIP\n# fail 1" "$tap"
maven='[ERROR] Failures: \n[ERROR]   ATest.b:3 expected: <1> but was: <2>'
failure maven 1 "[INFO] \n$maven\n[INFO] \n[ERROR] Tests run: 1, Failures: 1, Errors: 0, Skipped: 0" "$maven"
failure maven-broke 1 '[INFO] a\n[ERROR] a.kt: (3, 1) unresolved reference' '[ERROR] a.kt: (3, 1) unresolved reference'
go='=== RUN   TestA/b\n    a_test.go:3: expected 1\n        and more'
race='WARNING: DATA RACE\nRead at 0x1 by goroutine 7:\n=================='
failure go 1 "=== RUN   TestA\n$go\n=== RUN   TestA/c\n--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\nFAIL" "$go"
failure go-race 1 "=== RUN   TestA\n==================\n$race\n--- PASS: TestB (0.00s)" "$race"
failure go-panic 2 "=== RUN   TestA\npanic: no [recovered]\n\ngoroutine 1:\nFAIL\tpaddlegate\t0.01s\nFAIL" "panic: no [recovered]\n\ngoroutine 1:\nFAIL\tpaddlegate\t0.01s"
minitest='  1) Failure:\nA#test_a [a.rb:1]:\nExpected: 1\n\n1 runs, 1 assertions, 1 failures, 0 errors, 0 skips'
failure minitest 1 "Run options: --seed 12\n\n# Running:\n\nF\n\n$minitest" "Run options: --seed 12\n$minitest"
failure ours 1 'PADDLEGATE_SEED=3\na: passed\nFAILED b: expected 1\n1 passed, 1 failed' 'PADDLEGATE_SEED=3\nFAILED b: expected 1'
ours='--- a failed:\n  1) Failure:\n  1 runs, 1 assertions, 1 failures\n--- b failed:\nc\n3 passed, 2 failed'
failure ours-last 1 "a: failed in 1 s\n$ours" "$ours"
failure else 1 "one\n0 passed, 1 failed" "one\n0 passed, 1 failed"
failure last-lines 1 "$(seq -s '\n' 150)" "$(seq -s '\n' 51 150)"
failure most-lines 1 "failures:\n$(seq -s '\n' 400)" "failures:\n$(seq -s '\n' 299)\n... the rest is in target/tally/case.log"
rm -rf target
scripts/tally.sh case true >shown
same failure-none '' "$(cat target/tally/case.failures 2>/dev/null)"

rm -rf target
mkdir -p target/tally
echo '3 0 61900' >target/tally/one
printf '2 0 1000\n4 0 250\n' >target/tally/twice
echo '1 1 0' >target/tally/bad
echo 'what failed' >target/tally/bad.failures
summary() { scripts/tally-summary.sh "$@"; echo "status $?"; }
row() { printf '%-14s %9s s%s' "$1" "$2" "${3:+   $3}"; }
same sum "$(row one 61.9 'passed 3, failed 0')
$(row twice 1.2 'passed 6, failed 0')
total: 9 passed, 0 failed
status 0" "$(summary one twice)"
same bad "$(row bad 0.0 'passed 1, failed 1')
$(row one 61.9 'passed 3, failed 0')
what failed
total: 4 passed, 1 failed
status 1" "$(summary bad one)"
same none "$(row one 61.9 'passed 3, failed 0')
$(row none 0.0 'no test was run')
total: 3 passed, 0 failed
status 1" "$(summary one none)"

rm -rf target
scripts/step.sh build sh -c 'echo out; sleep 0.1' >shown
same step "status 0, shown out" "status $?, shown $(cat shown)"
scripts/step.sh lint sh -c 'echo why >&2; exit 3' >shown
same step-failed "status 3, shown why" "status $?, shown $(cat shown)"
same steps $'build\nlint' "$(cut -d ' ' -f 1 target/steps)"
same step-milliseconds yes "$(read -r _ took <target/steps; ((took >= 100 && took < 10000)) && echo yes)"
mkdir -p target/tally
echo '3 0 0' >target/tally/one
printf 'setup 100\nbuild 200\nsetup 50\n' >target/steps
echo $(($(date +%s%3N) - 3600000)) >target/began
same steps-in-summary "$(row setup 0.1)
$(row build 0.2)
$(row one 0.0 'passed 3, failed 0')
$(row 'whole run' 3600.x)
--- lint: failed with status 3
why
total: 3 passed, 0 failed" "$(scripts/tally-summary.sh one | sed 's/ 36[0-9][0-9]\.[0-9]/ 3600.x/')"

# --- The slowest tests ---------------------------------------------------------------------------

# slowest NAME EXPECTED OUTPUT: what stands below the table
slowest() {
    rm -rf target
    printf '%b\n' "$3" >output
    scripts/tally.sh case cat output >shown
    same "$1" "$2" "$(scripts/tally-summary.sh case | sed -n '/^slowest tests/,/^total/{/^[0-9]/p}')"
}
slowest slowest-pytest $'12.5\tcase: a.py::test_b (call)' '12.50s call     a.py::test_b\n0.90s setup    a.py::test_b\n2 passed in 13.45s'
slowest slowest-node $'2.0\tcase: a title' 'ok 1 - a title\n  ---\n  duration_ms: 2000.123\n# pass 1'
slowest slowest-go $'3.2\tcase: TestA/b' '    --- PASS: TestA/b (3.21s)\n--- PASS: TestC (0.99s)\n1 passed, 0 failed'
slowest slowest-ours $'20.0\tcase: a-name\n1.5\tcase: b' 'b: passed in 1500 ms\na-name: passed in 20000 ms\n2 passed, 0 failed'

echo "$passed passed, $failed failed"
((failed == 0))
