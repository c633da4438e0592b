# shellcheck shell=bash
# Shared by rotate-keys and respond-to-leak: finds the command, runs it, and logs its output. Sourced, not run.

name=$(basename "$0")

# Prints the usage: the comment at the head of the script.
manual() {
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p;}' "$0"
}

# Prints each line of standard input with the time, and appends it to a log; lines that begin with ! go to standard
# error. An unwritable log stops nothing.
stamp() {
    local log=$1 line descriptor
    trap '' INT TERM # to print what an interrupted command says
    while IFS= read -r line || [[ $line ]]; do
        descriptor=1
        if [[ $line == !* ]]; then line=${line#!} descriptor=2; fi
        line="$(date -u +%Y-%m-%dT%H:%M:%SZ) $name: $line"
        printf '%s\n' "$line" >&"$descriptor"
        if [[ $log ]] && ! printf '%s\n' "$line" 2>/dev/null >>"$log"; then
            printf '%s: cannot write to %s; it lacks the messages from here on\n' "$name" "$log" >&2
            log=
        fi
    done
}

# Marks each line of standard input as one for standard error.
marked() {
    local line
    trap '' INT TERM
    while IFS= read -r line || [[ $line ]]; do printf '!%s\n' "$line"; done
}

# Runs a subcommand of mediavault with its output in a log, if there is one, and ends with its exit code.
run_logged() {
    local log=$1 built mediavault
    shift
    built="$(dirname "${BASH_SOURCE[0]}")/../.build/release/mediavault"
    mediavault=${MEDIAVAULT_BINARY:-$(command -v mediavault || printf '%s' "$built")}
    [[ -x $mediavault ]] || { printf '%s: cannot find mediavault; set MEDIAVAULT_BINARY to its path\n' "$name" >&2; exit 2; }
    [[ -z $log ]] || : 2>/dev/null >>"$log" || { printf '%s: cannot write to %s\n' "$name" "$log" >&2; exit 1; }
    { "$mediavault" "$@" 2>&1 >&4 4>&- | marked >&4; } 4>&1 | stamp "$log"
    exit
}
