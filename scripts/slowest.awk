# Prints the tests of a log that took a second or longer, as its runner tells: seconds, a tab, and the name of the test. cargo test
# tells no times. Used by tally.sh.

function row(seconds, name) { if (seconds >= 1) printf "%.1f\t%s\n", seconds, name }

# pytest --durations: "1.23s call     tests/a.py::test_b"
/^[0-9.]+s (call|setup|teardown) / { row($1 + 0, $3 " (" $2 ")"); next }
# node --test: "ok 12 - a title", and below it "duration_ms: 1234.5"
match($0, /^ *ok [0-9]+ - /) { title = substr($0, RLENGTH + 1); next }
title != "" && /^ +duration_ms: / { row($2 / 1000, title); title = ""; next }
# go test -v: "--- PASS: TestA/b (1.23s)"
/^ *--- PASS: / { row(substr($NF, 2) + 0, $3); next }
# Maven: "Tests run: 7, ..., Time elapsed: 1.23 s -- in paddlegate.AcquireTest"
match($0, /Time elapsed: [0-9.]+ s/) { row(substr($0, RSTART + 14) + 0, $NF); next }
# Our own scripts: "a-name: passed in 1234 ms"
/: passed in [0-9]+ ms$/ { name = $0; sub(/: passed in .*/, "", name); row($(NF - 1) / 1000, name) }
