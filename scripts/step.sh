#!/usr/bin/env bash
# Runs a command that is not a test (setup, lint, a build), shows its output as it comes, and appends its name and the
# milliseconds that it took to target/steps. The status is the command's own. What a failed one said goes to
# target/steps.failures. tally-summary.sh prints both at the end of the whole run.
#
#   scripts/step.sh NAME COMMAND [ARGUMENT...]
set -uo pipefail
cd "$(dirname "$0")/.." || exit
source scripts/tally.bash

name=$1
shift
mkdir -p target
log=$(mktemp target/step.XXXXXX)
trap 'rm -f "$log"' EXIT
began=$EPOCHREALTIME

"$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
((status == 0)) || { echo "--- $name: failed with status $status"; failures "$log"; } >>target/steps.failures
echo "$name $(since "$began")" >>target/steps
exit "$status"
