#!/bin/sh
# Makes the virtual environment: infra/setup.sh VENV. Uses uv where it can be had, else pip; both read requirements.txt.
set -eu
venv=$1

if [ ! -x "$venv/bin/python" ]; then
    for python in python3 python3.14 python3.13 python3.12 python3.11 python; do
        if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then break; fi
        python=
    done
    if [ -z "$python" ]; then
        echo "infoscope needs Python 3.11 or newer, and none is on the PATH." >&2
        exit 2
    fi
    echo "setting up $venv with $("$python" --version): torch, Ray and MLflow among 6 GB, a few minutes the first time"
    "$python" -m venv "$venv" || {
        rm -rf "$venv"
        command -v uv >/dev/null || { echo "python -m venv failed: install your system's python3-venv package, or uv." >&2; exit 2; }
        uv venv --quiet --seed --python "$python" "$venv"
    }
fi

# installers print a line for each package or nothing: a line after 20, 60, 140 ... seconds instead
show_progress() {
    seconds=0
    pause=20
    while sleep "$pause" >/dev/null 2>&1; do
        seconds=$((seconds + pause))
        pause=$((2 * pause))
        echo "still installing after $seconds s"
    done
}
show_progress &
watcher=$!
trap 'kill "$watcher" 2>/dev/null' EXIT
trap 'exit 130' INT TERM

uv=$(command -v uv || true)
if [ -z "$uv" ] && "$venv/bin/python" -m pip install --quiet -c constraints.txt uv 2>/dev/null; then
    uv=$venv/bin/uv
fi
# compiled once, as pip does: else every process does it that may not write beside the packages, for 5 s and more
if [ -n "$uv" ] && "$uv" pip install --quiet --compile-bytecode --python "$venv/bin/python" -r requirements.txt; then
    exit 0
fi
[ -z "$uv" ] || echo "uv could not install the requirements; trying pip" >&2
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r requirements.txt || {
    echo "the packages of requirements.txt could not be installed, as said above; without a network, give a folder of" \
        "wheels by UV_FIND_LINKS or PIP_FIND_LINKS, then repeat the command" >&2
    exit 2
}
