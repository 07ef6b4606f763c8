# Sourced, with $python set: where uv is. What is not on PATH is fetched into .venv-uv, here and nowhere else.
uv="$(command -v uv || true)"
if [ -z "$uv" ]; then
    [ -x .venv-uv/bin/uv ] || {
        echo "setup 1/4: uv, which installs the rest, into .venv-uv" >&2
        "$python" -m venv .venv-uv && .venv-uv/bin/python -m pip install --quiet --disable-pip-version-check uv
    }
    uv="$PWD/.venv-uv/bin/uv"
fi
