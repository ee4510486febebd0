# Shared by the scripts in this folder; sourced, never run. Expects `set -euo pipefail` and $top.

say() { printf '%s\n' "$*"; }
fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# Package names of the given list files, without comments.
packages_of() { sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$@"; }

# Those of the given package names that dpkg does not know as installed.
packages_missing() {
    local name
    for name in "$@"; do
        dpkg-query -W -f '${db:Status-Status}\n' "$name" 2>/dev/null | grep -qx installed ||
            printf '%s\n' "$name"
    done
}

# apt-get with the rights it needs. Proxies and mirrors come from apt's own configuration and from
# the usual variables, which sudo would drop.
apt_get() {
    local -a run=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o Dpkg::Use-Pty=0
        -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
    if [ "$(id -u)" != 0 ]; then
        local keep=http_proxy,https_proxy,no_proxy,HTTP_PROXY,HTTPS_PROXY,NO_PROXY
        run=(sudo --preserve-env="$keep" "${run[@]}")
    fi
    "${run[@]}" "$@"
}

# Installs what is missing of the given packages. Does nothing, without network or rights, when
# everything is there.
install_packages() {
    local -a missing
    local log
    command -v dpkg-query >/dev/null ||
        fail "this machine has no dpkg. Muster builds on Debian 12; elsewhere install the like of" \
            "these by hand: $*"
    mapfile -t missing < <(packages_missing "$@")
    [ "${#missing[@]}" -gt 0 ] || return 0
    say "installing ${#missing[@]} packages: ${missing[*]}"
    if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
        fail "${#missing[@]} packages are missing and you are neither root nor able to use sudo." \
            "Ask an administrator for: apt-get install ${missing[*]}"
    fi
    log=$(mktemp)
    # The lists may be fresh already: ask for an update only where the first try fails.
    if ! apt_get install -y --no-install-recommends "${missing[@]}" >"$log" 2>&1; then
        if ! { apt_get update && apt_get install -y --no-install-recommends "${missing[@]}"; } \
            >>"$log" 2>&1; then
            tail -n 25 "$log" >&2
            rm -f "$log"
            fail "apt-get could not install ${missing[*]} (its last lines are above)." \
                "Check the network, the mirror in /etc/apt and http_proxy"
        fi
    fi
    rm -f "$log"
}

# ccache keeps its files below HOME; where that is empty or read-only they go into the build folder.
settle_ccache() {
    [ -z "${CCACHE_DIR:-}" ] || return 0
    if [ -z "${HOME:-}" ] || [ ! -w "${HOME:-/nonexistent}" ]; then
        export CCACHE_DIR="$top/build/ccache"
    fi
}

# A preset that other options or another compiler configured before is configured anew.
configure() { # PRESET [cmake options]
    local preset=$1
    shift
    settle_ccache
    (cd "$top" && cmake --preset "$preset" "$@")
}

jobs_count() { nproc 2>/dev/null || echo 2; }

# Seconds since the epoch with milliseconds, and a difference for people.
now_ms() { date +%s%3N; }
since() { # START_MS
    local ms=$(($(now_ms) - $1))
    printf '%d.%d s' $((ms / 1000)) $((ms % 1000 / 100))
}

imports_torch() { command -v "$1" >/dev/null && "$1" -c 'import torch' >/dev/null 2>&1; }

# Sets `python` to a Python that imports torch: MUSTER_PYTHON, else python3, else Debian's own with
# python3-torch, installed where it is missing.
choose_python() {
    if [ -n "${MUSTER_PYTHON:-}" ]; then
        imports_torch "$MUSTER_PYTHON" ||
            fail "MUSTER_PYTHON is $MUSTER_PYTHON, which cannot import torch: $("$MUSTER_PYTHON" -c \
                'import torch' 2>&1 | tail -n 1). Unset it, or install PyTorch there"
        python=$MUSTER_PYTHON
    elif imports_torch python3; then
        python=$(command -v python3)
    else
        imports_torch /usr/bin/python3 || install_packages python3-torch
        python=/usr/bin/python3
        imports_torch "$python" ||
            fail "$python still cannot import torch: $("$python" -c 'import torch' 2>&1 | tail -n 1)"
    fi
}
