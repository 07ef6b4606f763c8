#!/bin/sh
# Make the virtual environment, with bytecode: start-up is a promise, and some machines write none by themselves.
set -eu
python="$1" venv="$2"
. "$(dirname "$0")/certs.sh"
step() { echo "setup $1: $2" >&2; }
"$python" - <<'PY' || { echo "error: Python 3.11 or newer is needed, for example: make demo PY=python3.12" >&2; exit 1; }
import sys
raise SystemExit(sys.version_info < (3, 11))
PY
. "$(dirname "$0")/uv.sh"
step 2/4 "an environment of its own in $venv; nothing outside this folder is changed"
[ -x "$venv/bin/python" ] || "$uv" venv --quiet --python "$python" "$venv"
step 3/4 "$(grep -c == requirements.lock) packages (seconds with a warm cache, else a minute)"
"$uv" pip install --quiet --python "$venv/bin/python" --compile-bytecode --require-hashes -r requirements.lock
step 4/4 "ralph itself"
"$uv" pip install --quiet --python "$venv/bin/python" --no-deps -e .
"$venv/bin/python" -m compileall -q src
