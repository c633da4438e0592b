# shellcheck shell=bash
# Shared by rotate-keys and respond-to-leak: the command, a log, and the state of the keys. Sourced, not run.

name=$(basename "$0")
log=
# The command that continues after a failure.
go_on=$name
# The exit code of the first key operation that was incomplete, although the script continued.
outcome=0

# Prints a line with the time to standard output and to the log. An unwritable log stops nothing.
say() {
    local line
    line="$(date -u +%Y-%m-%dT%H:%M:%SZ) $name: $1"
    printf '%s\n' "$line"
    if [[ $log ]] && ! printf '%s\n' "$line" 2>/dev/null >>"$log"; then
        printf '%s: cannot write to %s; it lacks the messages from here on\n' "$name" "$log" >&2
        log=
    fi
}

# Checks that the log can be written, before anything is done.
open_log() {
    [[ -z $log ]] || : 2>/dev/null >>"$log" || { printf '%s: cannot write to %s\n' "$name" "$log" >&2; exit 1; }
}

# Ends the script with an exit code and a reason.
give_up() {
    say "$2" >&2
    exit "$1"
}

# Prints the usage: the comment at the head of the script.
manual() {
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p;}' "$0"
}

usage() {
    manual >&2
    exit 2
}

# Prints the value of an option, which must be a number from 0 to 99 999.
number() {
    [[ ${2:-} =~ ^[0-9]{1,5}$ ]] || { printf '%s: %s needs a number from 0 to 99999\n' "$name" "$1" >&2; exit 2; }
    printf '%s' "$((10#$2))"
}

# Finds the command: MEDIAVAULT_BINARY, else the installed one, else the one built in this checkout.
find_command() {
    local built
    built="$(dirname "${BASH_SOURCE[0]}")/../.build/release/mediavault"
    mediavault=${MEDIAVAULT_BINARY:-$(command -v mediavault || printf '%s' "$built")}
    [[ -x $mediavault ]] || give_up 2 "cannot find the command mediavault; set MEDIAVAULT_BINARY to its path"
    command -v jq >/dev/null || give_up 2 "jq is needed to read the output of the command; install it"
}

# Runs one key operation. If it fails, the script ends with its exit code; completed work is kept.
act() {
    local what=$1 status=0
    shift
    "$mediavault" "$@" || status=$?
    ended "$what" "$status"
}

# Runs a key operation that skips what does not open, and then ends with exit code 4: the script continues.
act_on_the_rest() {
    local what=$1 status=0
    shift
    "$mediavault" "$@" || status=$?
    if [[ $status -eq 4 ]]; then
        go_on_after 4 "$what: done, except for what does not open: see above"
    else
        ended "$what" "$status"
    fi
}

# Reports how a key operation ended; if it failed, the script ends.
ended() {
    [[ $2 -eq 0 ]] || give_up "$2" "$1 failed with exit code $2: see above; fix that, then run $go_on to continue"
    say "$1: done"
}

# Reports why something was not done; the script does the rest, and then ends with this exit code.
go_on_after() {
    say "$2" >&2
    if [[ $outcome -eq 0 ]]; then outcome=$1; fi
}

# Ends the script with the exit code of the first thing that was not done, if any.
finish() {
    [[ $outcome -eq 0 ]] || give_up "$outcome" "not all was done: see above; fix that, then run $go_on to continue"
}

# Prints a part of the state of the keys, selected by a jq expression.
keys() {
    local state
    state=$("$mediavault" keys list --json) || give_up $? "cannot read the state of the keys: see above"
    jq -r "$1" <<<"$state"
}

# Destroys all but the newest $1 generations. Generations that are still needed stay; the others go anyway.
retire_all_but() {
    local generations generation kept=$1 status
    generations=$(keys "[.generations[] | select(.state != \"retired\") | .number] | sort | .[:-$kept] | .[]")
    for generation in $generations; do
        status=0
        "$mediavault" keys retire "$generation" || status=$?
        if [[ $status -eq 0 ]]; then
            say "retiring generation $generation: done"
        else
            go_on_after "$status" "retiring generation $generation failed with exit code $status: see above"
        fi
    done
}

# Prints what each generation still wraps.
tell_generations() {
    local lines line
    lines=$(keys '.generations[] | "generation \(.number): \(.state), \(.resources) titles, \(.bytes) bytes"')
    while IFS= read -r line; do say "$line"; done <<<"$lines"
}
