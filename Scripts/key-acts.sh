# shellcheck shell=bash
# What rotate-keys and respond-to-leak both need: the command, a log of what is done, how the keys stand. Sourced, not run.

name=$(basename "$0")
log=
# What is run to go on after a failure.
go_on=$name

# A line with the time, to standard output and to the log.
say() {
    local line
    line="$(date -u +%Y-%m-%dT%H:%M:%SZ) $name: $1"
    printf '%s\n' "$line"
    if [[ $log ]]; then printf '%s\n' "$line" >>"$log"; fi
}

# Ends with an exit code, and says why.
give_up() {
    say "$2" >&2
    exit "$1"
}

usage() {
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p;}' "$0" >&2
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
    [[ $status -eq 0 ]] || give_up "$status" "$what failed with exit code $status: see above; run $go_on to go on"
    say "$what: done"
}

# A figure of how the keys stand, by a jq expression.
keys() {
    local state
    state=$("$mediavault" keys list --json) || give_up $? "how the keys stand cannot be told: see above"
    jq -r "$1" <<<"$state"
}

# Destroys each generation but the newest so many, as long as nothing needs them.
retire_all_but() {
    local generation kept=$1
    for generation in $(keys "[.generations[] | select(.state != \"retired\") | .number] | sort | .[:-$kept] | .[]"); do
        act "retiring generation $generation" keys retire "$generation"
    done
}

# What each generation still wraps.
tell_generations() {
    local line
    while IFS= read -r line; do say "$line"; done < <(keys \
        '.generations[] | "generation \(.number): \(.state), \(.resources) titles, \(.bytes) bytes"')
}
