# shellcheck shell=bash
# Shared by rotate-keys and respond-to-leak: finds the command, runs it, and logs its output. Sourced, not run.

name=$(basename "$0")

# Prints the usage: the comment at the head of the script.
manual() {
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p;}' "$0"
}

# Prints each line of standard input with the time, and appends it to a log; messages of the command go to standard
# error. An unwritable log stops nothing.
stamp() {
    local log=$1 line descriptor
    trap '' INT TERM # to print what an interrupted command says
    while IFS= read -r line || [[ $line ]]; do
        descriptor=1
        [[ $line != 'mediavault: '* ]] || descriptor=2
        line="$(date -u +%Y-%m-%dT%H:%M:%SZ) $name: $line"
        printf '%s\n' "$line" >&"$descriptor"
        if [[ $log ]] && ! printf '%s\n' "$line" 2>/dev/null >>"$log"; then
            printf '%s: cannot write to %s; it lacks the messages from here on\n' "$name" "$log" >&2
            log=
        fi
    done
}

# Runs a subcommand of mediavault with its output in a log, if there is one, and ends with its exit code.
#
#   run_logged OPTION LOG ARGUMENT…
#
# OPTION names the log on the script's command line.
run_logged() {
    local option=$1 log=$2 built mediavault command stamper status interrupted=''
    shift 2
    built="$(dirname "${BASH_SOURCE[0]}")/../.build/release/mediavault"
    mediavault=${MEDIAVAULT_BINARY:-$(command -v mediavault || printf '%s' "$built")}
    [[ ! ${MEDIAVAULT_BINARY:-} || ( -f $mediavault && -x $mediavault ) ]] || {
        printf '%s: MEDIAVAULT_BINARY is %s, which is no program; set it to the path of mediavault\n' "$name" "$mediavault" >&2
        exit 2
    }
    [[ -x $mediavault ]] || { printf '%s: cannot find mediavault; set MEDIAVAULT_BINARY to its path\n' "$name" >&2; exit 2; }
    [[ -z $log ]] || : 2>/dev/null >>"$log" || { printf '%s: cannot write to %s\n' "$name" "$log" >&2; exit 1; }
    # What the command tells the user to run again.
    MEDIAVAULT_SCRIPT=$(printf '%q' "$0"; [[ -z $log ]] || printf ' %s %q' "$option" "$log")
    export MEDIAVAULT_SCRIPT
    # One pipe for results and messages keeps their order.
    exec 3> >(stamp "$log")
    stamper=${!:-} # empty before Bash 4.4: the last lines may then follow the end of the script
    # In the background, so that SIGTERM to this script alone reaches the command. Ctrl-C reaches it from the terminal;
    # without the trap a background command would ignore that.
    { trap - INT QUIT; exec "$mediavault" "$@"; } <&0 >&3 2>&1 3>&- &
    command=$!
    exec 3>&-
    trap 'interrupted=1' INT
    trap 'interrupted=1; kill -TERM "$command" 2>/dev/null || :' TERM
    while :; do
        status=0
        wait "$command" || status=$?
        [[ $interrupted ]] || break
        interrupted='' # it was the signal that ended the wait
    done
    [[ -z $stamper ]] || wait "$stamper"
    exit "$status"
}
