#!/usr/bin/env bash
# Runs suites again and again on a machine that is busy and stalls: two busy loops take both cores, and at random moments
# all processes of the suite, its servers included, are stopped for a second. A last round has neither and runs as under
# `nohup` in the background, with SIGINT ignored. Prints a line for each suite and round, and what failed at the end.
#
#   scripts/steady.sh [-n ROUNDS] [-s SEED] SUITE...    # 3 rounds by default; suites as in `make test-SUITE`
#
# A round of a suite is ended after PADDLEGATE_STEADY_MINUTES, 20 by default. Build everything before.
set -uo pipefail
{ # read to its end before it begins, so that it may be changed meanwhile
cd "$(dirname "$0")/.." || exit

rounds=3 seed=$RANDOM
while getopts n:s: option; do
    case $option in
        n) rounds=$OPTARG ;;
        s) seed=$OPTARG ;;
        *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
(($# > 0)) || { sed -n 's/^# \{0,1\}//; 2,9p' "$0" >&2; exit 2; }
RANDOM=$seed
seconds=$((${PADDLEGATE_STEADY_MINUTES:-20} * 60))
logs=target/steady/$(date +%H%M%S)-$$
mkdir -p "$logs"

# Nothing is built while it is stopped again and again.
built=()
for target in target/stamps/{setup,native,node,wasm} .venv/.paddlegate build{,-rust,-python,-node,-ruby,-c,-go,-wasm,-cli,-simulator}; do
    built+=(--assume-old="$target")
done

busy=() session=''
cleanup() {
    ((${#busy[@]} == 0)) || kill "${busy[@]}" 2>/dev/null
    busy=()
    [[ -z $session ]] || end_session
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# running STATES: the processes of the session whose state is (or with ^ is not) one of these letters
running() { ps -o pid=,stat= -s "$session" | awk -v "states=^[$1]" '$2 ~ states { print $1 }'; }

end_session() {
    local pids
    for _ in 1 2 3; do
        pids=$(running ^Z)
        # shellcheck disable=SC2086
        [[ -z $pids ]] || kill -KILL $pids 2>/dev/null
    done
    session=''
}

# Stops what runs, but not for longer what a test itself has stopped: so each is looked at just before.
stall() {
    local pid status stopped=()
    for _ in 1 2 3; do
        for pid in $(running ^TZ); do
            { status=$(<"/proc/$pid/stat"); } 2>/dev/null || continue
            [[ ${status##*) } == [TZ]* ]] || { kill -STOP "$pid" 2>/dev/null && stopped+=("$pid"); }
        done
    done
    sleep 1
    ((${#stopped[@]} == 0)) || kill -CONT "${stopped[@]}" 2>/dev/null
}

# round SUITE NUMBER SIGNALS: one run, whose line is added to the summary
round() {
    local suite=$1 number=$2 signals=$3 began=$SECONDS run_seed=$RANDOM stalls=0 passed failed status log next
    log=$logs/$suite-$number.output
    rm -f "$logs/$suite" "$logs/$suite.failures"
    # A background job of a script ignores SIGINT, which a terminal's does not.
    PADDLEGATE_SEED=$run_seed PADDLEGATE_TALLY=$logs env --"$signals"-signal=INT --"$signals"-signal=HUP \
        setsid --fork --wait make --no-print-directory "${built[@]}" "test-$suite" >"$log" 2>&1 </dev/null &
    local job=$!
    # `ps` fails as long as there is no such process.
    while session=$(ps -o pid= --ppid "$job" | tr -d ' ') || true; [[ -z $session ]] && kill -0 "$job" 2>/dev/null; do
        sleep 0.1
    done
    next=$((SECONDS + 1 + RANDOM % 4))
    while kill -0 "$job" 2>/dev/null; do
        if ((SECONDS - began > seconds)); then
            echo "steady: ended after $seconds s" >>"$log"
            end_session
        elif [[ -n $session ]] && ((number > 0 && SECONDS >= next)); then
            sleep "0.$((RANDOM % 1000))"
            stall
            stalls=$((stalls + 1))
            next=$((SECONDS + 2 + RANDOM % 4))
        fi
        sleep 0.1
    done
    wait "$job"
    status=$?
    [[ -z $session ]] || end_session
    read -r passed failed _ < <(cat "$logs/$suite" 2>/dev/null || echo 0 1)
    ((status == 0 || failed > 0)) || failed=1
    printf '%-10s %-6s seed %-6s passed %5d  failed %3d  %4d s, stopped %d times\n' "$suite" "${number/#0/nohup}" \
        "$run_seed" "$passed" "$failed" $((SECONDS - began)) "$stalls" |
        tee -a "$logs/summary"
    if ((failed > 0)); then
        bad=$((bad + 1))
        { echo "--- $suite, round $number: $log"; cat "$logs/$suite.failures" 2>/dev/null || tail -n 50 "$log"; } \
            >>"$logs/failures"
    fi
}

bad=0
echo "steady: seed $seed, $rounds rounds, logs in $logs"
for ((number = 1; number <= rounds; number++)); do
    for suite in "$@"; do
        while :; do :; done & busy+=($!)
        while :; do :; done & busy+=($!)
        round "$suite" "$number" default
        kill "${busy[@]}"
        wait "${busy[@]}" 2>/dev/null
        busy=()
    done
done
for suite in "$@"; do
    round "$suite" 0 ignore
done

[[ ! -f $logs/failures ]] || cat "$logs/failures"
echo "steady: $bad of $(wc -l <"$logs/summary") runs failed"
((bad == 0))
exit
}
