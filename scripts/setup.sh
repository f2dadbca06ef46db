#!/bin/sh
# Makes .venv: uv inside it, the locked dependencies, costguard itself as an editable install.
# Nothing outside .venv changes. Does nothing when the lock, the project file and Python are as they were.
set -eu
cd "$(dirname "$0")/.."
exec 9<Makefile
if command -v flock >/dev/null 2>&1; then flock 9; fi

PYTHON=${PYTHON:-python3}
if ! "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "costguard needs Python 3.11 or newer; set PYTHON=/path/to/python3.11 if it is not '$PYTHON'." >&2
    exit 1
fi
wanted="$("$PYTHON" -V) $(pwd) $(cat pyproject.toml uv.lock scripts/setup.sh | sha256sum)"
if [ "$(cat .venv/costguard-setup 2>/dev/null)" = "$wanted" ] && .venv/bin/python -c 'import costguard' 2>/dev/null; then
    exit 0
fi

if ! .venv/bin/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    if ! "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null; then
        echo "Python's venv module is missing. Install it with:" >&2
        echo "    sudo apt-get install -y python3-venv" >&2
        exit 1
    fi
    echo "Making .venv"
    "$PYTHON" -m venv --clear .venv
fi
if ! .venv/bin/uv --version >/dev/null 2>&1; then
    .venv/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9,<1'
fi

# The lock names files on pypi.org. Whoever has set a mirror gets the same pinned and hashed files from there.
mirror=${UV_DEFAULT_INDEX:-${UV_INDEX_URL:-${PIP_INDEX_URL:-$(.venv/bin/python -m pip config get global.index-url 2>/dev/null || true)}}}
export VIRTUAL_ENV="$PWD/.venv" UV_PYTHON="$PWD/.venv/bin/python" UV_NO_PROGRESS=1
if [ -n "$mirror" ]; then
    echo "Installing the locked dependencies from the package index that you configured"
    export UV_DEFAULT_INDEX="$mirror"
    .venv/bin/uv export --quiet --frozen --no-emit-project --output-file .venv/locked.txt >/dev/null
    .venv/bin/uv pip sync --quiet --require-hashes .venv/locked.txt
    .venv/bin/uv pip install --quiet --no-deps --editable .
else
    echo "Installing the locked dependencies"
    .venv/bin/uv sync --quiet --frozen
fi
printf '%s\n' "$wanted" > .venv/costguard-setup
