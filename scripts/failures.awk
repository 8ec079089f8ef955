# Prints what a log of tests says about its failures: the blocks in which each runner explains them, below every line that
# names a seed. Prints nothing where it finds no such block. Used by tally.sh.

function add(line) { lines[++count] = line }

{
    gsub(/\033\[[0-9;]*[A-Za-z]/, "")
    sub(/\r$/, "")
}

# What repeats the run: "PADDLEGATE_SEED=7", "Run options: --seed 7".
/[Ss][Ee][Ee][Dd][ =:]+[0-9]/ && !($0 in seen) && seeds < 50 {
    seen[$0]
    seed[++seeds] = $0
}

# go test -v: what a test says stands behind its "=== RUN", as do the lines that follow with more blanks.
/^=== (RUN|CONT|NAME) / { go_test = $0; block = block == "go" ? "" : block; next }
block == "go" && !/^        / { block = "" }

block == "maven" && !/^\[ERROR\]/ { block = "" }

block == "" {
    # cargo test: from "failures:" to the result. Errors of the compiler end with an empty line.
    if (/^failures:$/) block = "cargo"
    else if (/^error(\[E[0-9]+\])?: /) block = "compiler"
    # pytest: from "=== FAILURES ===" to its closing line.
    else if (/^=+ (FAILURES|ERRORS) =+$/) block = "pytest"
    # node --test: its last part, or in TAP the diagnosis below each "not ok".
    else if (/^[^ A-Za-z0-9]+ failing tests:$/) block = "node"
    else if (/^ *not ok [0-9]+/ && !/# (SKIP|TODO)/) block = "tap"
    # minitest: from "  1) Failure:" to the closing line.
    else if (/^ +[0-9]+\) (Failure|Error):$/) block = "minitest"
    else if (/^    [A-Za-z0-9_]+_test\.go:[0-9]+: / && go_test != "") {
        if (go_test != go_said) add(go_test)
        go_said = go_test
        block = "go"
    }
    else if (/^WARNING: DATA RACE$/) block = "race"
    else if (/^panic: /) block = "panic"
    # Maven: from "[ERROR] Failures:" to the next line of another level; an error of a compiler is a line.
    else if (/^\[ERROR\] (Failures|Errors): *$/) block = "maven"
    else if (/^\[ERROR\] .*\.(kt|java):.*[0-9]+, ?[0-9]+/) add($0)
    # Our own scripts: a line, or all that they say at their end.
    else if (/^FAILED /) add($0)
    else if (/^--- .+ failed:$/) block = "ours"
}

block != "" { add($0) }

(block == "cargo" && /^test result: /) ||
(block == "compiler" && /^$/) ||
(block == "pytest" && /^=+ .* in [0-9.]+s.* =+$/) ||
(block == "tap" && /^ *\.\.\.$/) ||
(block == "race" && /^=+$/) ||
(block == "panic" && /^FAIL\t/) ||
(block == "minitest" && /^[0-9]+ (runs|tests), /) { block = "" }

END {
    if (!count) exit
    for (i = 1; i <= seeds; i++) print seed[i]
    for (i = 1; i <= count; i++) print lines[i]
}
