# shellcheck shell=bash
# What rotate-keys and respond-to-leak both need: the command, a log of what is done, how the keys stand. Sourced, not run.

name=$(basename "$0")
log=
# What is run to go on after a failure.
go_on=$name
# The exit code of the first act that did not do all of it, though the script went on.
outcome=0

# A line with the time, to standard output and to the log. A log that cannot be written stops nothing.
say() {
    local line
    line="$(date -u +%Y-%m-%dT%H:%M:%SZ) $name: $1"
    printf '%s\n' "$line"
    if [[ $log ]] && ! printf '%s\n' "$line" 2>/dev/null >>"$log"; then
        printf '%s: %s cannot be written; what follows is not in it\n' "$name" "$log" >&2
        log=
    fi
}

# Sees to it that the log can be written, before anything is done.
open_log() {
    [[ -z $log ]] || : 2>/dev/null >>"$log" || { printf '%s: %s cannot be written\n' "$name" "$log" >&2; exit 1; }
}

# Ends with an exit code, and says why.
give_up() {
    say "$2" >&2
    exit "$1"
}

# What the script does and takes: what stands at its head.
manual() {
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p;}' "$0"
}

usage() {
    manual >&2
    exit 2
}

# The value of an option that must be a number from 0 to 100 000.
number() {
    [[ ${2:-} =~ ^[0-9]{1,5}$ ]] || { printf '%s: %s takes a number\n' "$name" "$1" >&2; exit 2; }
    printf '%s' "$((10#$2))"
}

# The command: the one named, the one that is installed, or the one built in this checkout.
find_command() {
    local built
    built="$(dirname "${BASH_SOURCE[0]}")/../.build/release/mediavault"
    mediavault=${MEDIAVAULT_BINARY:-$(command -v mediavault || printf '%s' "$built")}
    [[ -x $mediavault ]] || give_up 2 "there is no command mediavault; name it with MEDIAVAULT_BINARY"
    command -v jq >/dev/null || give_up 2 "jq is needed to read what the command says; install it"
}

# Runs one act. Where it fails, so does the script, with the act's exit code: what was done stays done.
act() {
    local what=$1 status=0
    shift
    "$mediavault" "$@" || status=$?
    ended "$what" "$status"
}

# The same for an act that does all but what does not open, and tells that by exit code 4: the rest is not left undone.
act_on_the_rest() {
    local what=$1 status=0
    shift
    "$mediavault" "$@" || status=$?
    if [[ $status -eq 4 ]]; then
        go_on_after 4 "$what: done, but for what does not open: see above"
    else
        ended "$what" "$status"
    fi
}

# Says how an act ended; where it failed the script does.
ended() {
    [[ $2 -eq 0 ]] || give_up "$2" "$1 failed with exit code $2: see above; once that is mended run $go_on to go on"
    say "$1: done"
}

# Says why something was not done, and has the script end with this exit code when it has done the rest.
go_on_after() {
    say "$2" >&2
    if [[ $outcome -eq 0 ]]; then outcome=$1; fi
}

# Ends the script: with the exit code of what was not done, where there is any.
finish() {
    [[ $outcome -eq 0 ]] || give_up "$outcome" "not all of it was done: see above; once that is mended run $go_on to go on"
}

# A figure of how the keys stand, by a jq expression.
keys() {
    local state
    state=$("$mediavault" keys list --json) || give_up $? "how the keys stand cannot be told: see above"
    jq -r "$1" <<<"$state"
}

# Destroys each generation but the newest so many. One that something needs stays, and the others go all the same.
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

# What each generation still wraps.
tell_generations() {
    local lines line
    lines=$(keys '.generations[] | "generation \(.number): \(.state), \(.resources) titles, \(.bytes) bytes"')
    while IFS= read -r line; do say "$line"; done <<<"$lines"
}
