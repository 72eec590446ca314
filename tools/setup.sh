#!/bin/sh
# Sets up .venv for one of: run, dev, bench. Called by make, from the project's directory.
#
# Everything is pinned and hashed in requirements/. What the system lacks is installed with apt-get
# when we are root, and named in a hint otherwise. It changes nothing outside the project's
# directory but those packages, and leaves no service running that they bring.
set -eu

kind=$1
venv=.venv

say() { printf '%s\n' "$*" >&2; }

fail() {
    say "error: $1"
    say "hint: $2"
    exit 1
}

can_apt() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; }

apt_updated=
apt_install() {
    say "installing with apt-get: $*"
    if [ -z "$apt_updated" ]; then
        apt-get update -qq >&2
        apt_updated=yes
    fi
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# A name in PATH may be a version manager's stub that runs nothing, so each one is tried. ensurepip
# is a package of its own in Debian.
usable_python() {
    "$1" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' \
        >/dev/null 2>&1
}

find_python() {
    for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11; do
        if usable_python "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    return 1
}

ensure_python() {
    python=$(find_python) && return
    if can_apt; then
        apt_install python3 python3-venv || true
        python=$(find_python) && return
        # Older distributions carry a newer Python beside their own.
        for version in 3.13 3.12 3.11; do
            if apt_install "python$version" "python$version-venv" 2>/dev/null; then
                python=$(find_python) && return
            fi
        done
    fi
    fail "no Python 3.11 to 3.13 with venv was found" \
        "install one (Debian, Ubuntu: apt-get install python3 python3-venv), or name it: make PYTHON=/path/to/python3"
}

# $1: what is checked, $2...: packages that bring it
ensure_program() {
    program=$1
    shift
    command -v "$program" >/dev/null 2>&1 && return
    if can_apt && apt_install "$@" && command -v "$program" >/dev/null 2>&1; then
        return
    fi
    fail "the program $program was not found" "install it (Debian, Ubuntu: apt-get install $*)"
}

# $1: service, $2...: packages that bring it. Its package starts it, now and at every boot; tests
# start servers of their own. Whoever has a policy for that already keeps it.
apt_install_idle() {
    service=$1
    shift
    policy=/usr/sbin/policy-rc.d
    if [ -e "$policy" ]; then
        policy=
    else
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
        trap 'rm -f "$policy"' EXIT
        trap 'exit 130' HUP INT TERM
    fi
    installed=yes
    apt_install "$@" || installed=
    [ -z "$policy" ] || rm -f "$policy"
    trap - EXIT HUP INT TERM
    [ -n "$installed" ] || return 1
    if command -v systemctl >/dev/null 2>&1; then
        systemctl disable --now "$service" >/dev/null 2>&1 || true
    fi
}

ensure_redis() {
    ensure_program redis-benchmark redis-tools
    # A server that is here already is the owner's: nothing of it is touched.
    command -v redis-server >/dev/null 2>&1 && return
    if can_apt && apt_install_idle redis-server redis-server &&
        command -v redis-server >/dev/null 2>&1; then
        return
    fi
    fail "the program redis-server was not found" \
        "install it (Debian, Ubuntu: apt-get install redis-server; its service is not needed)"
}

ensure_compiler() {
    compiler=${CC:-cc}
    # Without the C library's headers a compiler is there and still cannot build.
    if ! printf '#include <stdio.h>\nint main(void){return 0;}\n' |
        $compiler -x c -o /dev/null - >/dev/null 2>&1; then
        if can_apt && apt_install gcc libc6-dev; then
            return
        fi
        fail "no working C compiler was found" \
            "install one (Debian, Ubuntu: apt-get install gcc libc6-dev), or name it: make CC=clang"
    fi
}

ensure_compiler
ensure_program setpriv util-linux
# Tests and benchmarks measure storage and another engine; a demo does not.
if [ "$kind" != run ]; then
    ensure_program fio fio
    ensure_redis
fi

# A virtual environment whose Python was replaced, or that was moved with the project, is there and
# does not work: so it is tried, and remembers where it was made.
made_in=$(cat "$venv/.made-in" 2>/dev/null || pwd -P)
if [ "$made_in" != "$(pwd -P)" ] || ! "$venv/bin/python" -c 'import pip' >/dev/null 2>&1; then
    ensure_python
    say "making $venv with $python"
    rm -rf "$venv"
    "$python" -m venv "$venv"
    pwd -P >"$venv/.made-in"
fi

say "installing requirements/$kind.txt"
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
"$venv/bin/python" -m pip install --quiet --require-hashes -r "requirements/$kind.txt"
"$venv/bin/python" -m pip install --quiet --no-deps --no-build-isolation -e .
# What is set up for more serves the demo too.
touch "$venv/.ready-run" "$venv/.ready-$kind"
