# shellcheck shell=bash
# Shared by run, test and bench: the toolchain, system packages, a quiet build. Sourced, not run.

fatal() {
    printf '%s: %s\n' "$(basename "$0")" "$1" >&2
    exit 1
}

# Runs a command with its output in a log, and prints the end of the log if the command fails.
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
        fatal "Swift 6.2 or later is required: get it from https://swift.org/install and run this again."
    version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p' | head -n 1)
    [[ ${version%%.*} -gt 6 || (${version%%.*} -eq 6 && ${version#*.} -ge 2) ]] ||
        fatal "Swift 6.2 or later is required, found ${version:-unknown}: get it from https://swift.org/install."
}

# Installs the Debian packages among the arguments that are missing.
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
            fatal "sudo failed, and these packages are missing; install them as root: apt-get install ${missing[*]}"
    fi
    echo "Installing ${missing[*]} …"
    local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}")
    # A new machine has no package lists, or old ones: fetch them only then.
    quietly .build/packages.log "${install[@]}" 2>/dev/null ||
        { quietly .build/packages.log "${as_root[@]}" apt-get update -qq && quietly .build/packages.log "${install[@]}"; } ||
        fatal "the packages could not be installed: see .build/packages.log"
}

# Installs the Homebrew formulas among the arguments that are missing.
require_formulas() {
    local formula
    command -v brew >/dev/null || fatal "Homebrew is required for $*: get it from https://brew.sh and run this again."
    for formula in "$@"; do
        brew list --versions "$formula" >/dev/null || quietly .build/packages.log brew install --quiet "$formula" ||
            fatal "$formula could not be installed: see .build/packages.log"
    done
}

# Installs the libraries of the command, and on Debian further packages given as arguments.
require_libraries() {
    if [[ $(uname) == Darwin ]]; then
        require_formulas libsodium curl pkgconf
        PKG_CONFIG_PATH="$(brew --prefix curl)/lib/pkgconfig:${PKG_CONFIG_PATH:-}"
        export PKG_CONFIG_PATH
    elif command -v apt-get >/dev/null; then
        require_packages libsodium-dev libcurl4-openssl-dev libsqlite3-dev libxml2-dev zlib1g-dev pkg-config "$@"
    fi # on other systems the build reports what is missing
}

# Installs tools that have the same package name everywhere.
require_tools() {
    if [[ $(uname) == Darwin ]]; then
        require_formulas "$@"
    elif command -v apt-get >/dev/null; then
        require_packages "$@"
    fi # on other systems the call of a missing tool fails
}

# Installs playwright, which drives Debian's Chromium, and axe, which examines pages, from PyPI into a Python environment in .build/playwright.
require_playwright() {
    local place=.build/playwright
    require_packages python3-venv chromium
    [[ ! -x $place/bin/python ]] || ! "$place/bin/python" -c 'import playwright, axe_playwright_python' 2>/dev/null || return 0
    echo "Installing playwright …"
    if ! quietly .build/playwright.log /usr/bin/python3 -m venv --clear "$place" ||
        ! quietly .build/playwright.log "$place/bin/pip" install --quiet --disable-pip-version-check \
            --requirement Scripts/requirements/playwright.txt; then
        fatal "playwright could not be installed: see .build/playwright.log"
    fi
}

# Installs Schemathesis, which tests the API against its description, and a parser of metrics, in .build/schemathesis.
require_schemathesis() {
    local place=.build/schemathesis
    require_packages python3-venv
    [[ ! -x $place/bin/schemathesis ]] || ! "$place/bin/python" -c 'import prometheus_client' 2>/dev/null || return 0
    echo "Installing schemathesis …"
    if ! quietly .build/schemathesis.log /usr/bin/python3 -m venv --clear "$place" ||
        ! quietly .build/schemathesis.log "$place/bin/pip" install --quiet --disable-pip-version-check \
            --requirement Scripts/requirements/schemathesis.txt; then
        fatal "schemathesis could not be installed: see .build/schemathesis.log"
    fi
}

# Prints the commit of the checkout, with -dirty if files differ from it; nothing outside a checkout.
commit() { git describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null || true; }

# Builds the command, of the packages' versions that were tested. On Linux it contains Swift's libraries, and so runs where
# Swift is not installed, too.
build_release() {
    local options=()
    require_tools python3
    [[ $(uname) == Darwin ]] || options=(--static-swift-stdlib)
    [[ -x .build/release/mediavault ]] ||
        echo "Building. The first build takes several minutes; its log is .build/release.log."
    quietly .build/versions.log Scripts/check-versions --use ||
        fatal "the packages do not have the versions that were tested: see .build/versions.log"
    MEDIAVAULT_COMMIT=$(commit) quietly .build/release.log \
        swift build -c release --product mediavault ${options[@]+"${options[@]}"} ||
        fatal "the build failed: see .build/release.log"
}
