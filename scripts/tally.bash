# Sourced by tally.sh and step.sh.

# since BEGAN: milliseconds since then, a value of EPOCHREALTIME
since() { echo $(((${EPOCHREALTIME/./} - ${1/./}) / 1000)); }

# failures LOG: what the log says about its failures, else its last lines
failures() {
    local most=300 found
    found=$(awk -f scripts/failures.awk "$1")
    [[ -n $found ]] || found=$(tail -n 100 "$1")
    head -n "$most" <<<"$found"
    (($(wc -l <<<"$found") <= most)) || echo "... the rest is in $1"
}
