#!/bin/sh
# Make the virtual environment, with bytecode: start-up is a promise, and some machines write none by themselves.
set -eu
python="$1" venv="$2"
"$python" - <<'PY' || { echo "error: Python 3.11 or newer is needed" >&2; exit 1; }
import sys
raise SystemExit(sys.version_info < (3, 11))
PY
uv="$(command -v uv || true)"
if [ -z "$uv" ]; then
    [ -x .venv-uv/bin/uv ] || { "$python" -m venv .venv-uv && .venv-uv/bin/python -m pip install --quiet uv; }
    uv=.venv-uv/bin/uv
fi
[ -x "$venv/bin/python" ] || "$uv" venv --quiet --python "$python" "$venv"
"$uv" pip install --quiet --python "$venv/bin/python" --compile-bytecode --require-hashes -r requirements.lock
"$uv" pip install --quiet --python "$venv/bin/python" --no-deps -e .
"$venv/bin/python" -m compileall -q src
