# shellcheck shell=bash
# What run and test both need: the toolchain, packages of the system, a quiet build. Sourced, not run.

fatal() {
    printf '%s: %s\n' "$(basename "$0")" "$1" >&2
    exit 1
}

# Runs a command with its output in a log, of which the end is shown when it fails.
quietly() {
    local log=$1
    shift
    mkdir -p "$(dirname "$log")"
    if ! "$@" >"$log" 2>&1 </dev/null; then
        tail -n 40 "$log" >&2
        return 1
    fi
}

require_swift() {
    local version
    command -v swift >/dev/null ||
        fatal "Swift 6.2 or later is needed and is not installed: get it from https://swift.org/install and run this again."
    version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p' | head -n 1)
    [[ ${version%%.*} -gt 6 || (${version%%.*} -eq 6 && ${version#*.} -ge 2) ]] ||
        fatal "Swift 6.2 or later is needed, this is ${version:-unknown}: get it from https://swift.org/install and run this again."
}

# Installs the Debian packages among the arguments that are missing; none missing, nothing done.
require_packages() {
    local package missing=()
    for package in "$@"; do
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
    done
    [[ ${#missing[@]} -gt 0 ]] || return 0
    local as_root=()
    if [[ $EUID -ne 0 ]]; then
        command -v sudo >/dev/null ||
            fatal "these packages are missing; install them as root: apt-get install ${missing[*]}"
        as_root=(sudo)
        [[ -t 0 ]] || as_root+=(--non-interactive)
        "${as_root[@]}" true ||
            fatal "sudo is refused and these packages are missing; install them as root: apt-get install ${missing[*]}"
    fi
    echo "Installing ${missing[*]} …"
    local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}")
    # The lists of a fresh machine are empty or old: only then are they fetched.
    quietly .build/packages.log "${install[@]}" 2>/dev/null ||
        { quietly .build/packages.log "${as_root[@]}" apt-get update -qq && quietly .build/packages.log "${install[@]}"; } ||
        fatal "the packages could not be installed: see .build/packages.log"
}

# The same with Homebrew.
require_formulas() {
    local formula
    command -v brew >/dev/null || fatal "Homebrew is needed for $*: get it from https://brew.sh and run this again."
    for formula in "$@"; do
        brew list --versions "$formula" >/dev/null || quietly .build/packages.log brew install --quiet "$formula" ||
            fatal "$formula could not be installed: see .build/packages.log"
    done
}

# What the command is built with. Further packages may be named for Debian.
require_libraries() {
    if [[ $(uname) == Darwin ]]; then
        require_formulas libsodium curl pkgconf
        PKG_CONFIG_PATH="$(brew --prefix curl)/lib/pkgconfig:${PKG_CONFIG_PATH:-}"
        export PKG_CONFIG_PATH
    elif command -v apt-get >/dev/null; then
        require_packages libsodium-dev libcurl4-openssl-dev libsqlite3-dev pkg-config "$@"
    fi # elsewhere the build itself says what it lacks
}

# Tools that have the same name everywhere.
require_tools() {
    if [[ $(uname) == Darwin ]]; then
        require_formulas "$@"
    elif command -v apt-get >/dev/null; then
        require_packages "$@"
    fi # elsewhere the lack of one is said when it is called
}

# A Python of its own that drives Debian's Chromium: playwright, from PyPI, in .build/playwright.
require_playwright() {
    local place=.build/playwright
    require_packages python3-venv chromium
    [[ ! -x $place/bin/python ]] || ! "$place/bin/python" -c 'import playwright' 2>/dev/null || return 0
    echo "Installing playwright …"
    if ! quietly .build/playwright.log /usr/bin/python3 -m venv --clear "$place" ||
        ! quietly .build/playwright.log "$place/bin/pip" install --quiet --disable-pip-version-check playwright; then
        fatal "playwright could not be installed: see .build/playwright.log"
    fi
}

# Schemathesis, which asks the API what its description allows, and a reader of metrics: from PyPI, in .build/schemathesis.
require_schemathesis() {
    local place=.build/schemathesis
    require_packages python3-venv
    [[ ! -x $place/bin/schemathesis ]] || ! "$place/bin/python" -c 'import prometheus_client' 2>/dev/null || return 0
    echo "Installing schemathesis …"
    if ! quietly .build/schemathesis.log /usr/bin/python3 -m venv --clear "$place" ||
        ! quietly .build/schemathesis.log "$place/bin/pip" install --quiet --disable-pip-version-check \
            'schemathesis>=4.32,<5' prometheus-client; then
        fatal "schemathesis could not be installed: see .build/schemathesis.log"
    fi
}

build_release() {
    [[ -x .build/release/mediavault ]] || echo "Building. The first build takes several minutes; its log is .build/release.log."
    quietly .build/release.log swift build -c release --product mediavault ||
        fatal "the build has failed: see .build/release.log"
}
