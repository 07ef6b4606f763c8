#!/bin/sh
# Put `ralph`, and nothing else of its environment, where the user's shell finds it.
set -eu
python="$1" venv="$2"
. "$(dirname "$0")/certs.sh"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: Python 3.11 or newer is needed, for example: make install PY=python3.12" >&2; exit 1; }
bin="${UV_TOOL_BIN_DIR:-${XDG_BIN_HOME:-$HOME/.local/bin}}"
. "$(dirname "$0")/uv.sh"
echo "install: ralph and the packages that it needs (seconds with a warm cache, else half a minute)" >&2
if UV_COMPILE_BYTECODE=1 UV_TOOL_BIN_DIR="$bin" "$uv" tool install --quiet --force --reinstall-package ralphloop --python "$python" .; then
    how="in an environment of its own"
else  # no way to the package index, for example: the environment of this folder, by a link to its one command
    [ -x "$venv/bin/ralph" ] || "$(dirname "$0")/setup.sh" "$python" "$venv"
    mkdir -p "$bin"
    ln -sfn "$PWD/$venv/bin/ralph" "$bin/ralph"
    how="as a link to this folder"
fi
man="${XDG_DATA_HOME:-$HOME/.local/share}/man/man1"
mkdir -p "$man" && cp data/share/man/man1/ralph.1 "$man/"  # man looks there when bin is on PATH
echo "ralph is installed $how: $bin/ralph"
case ":$PATH:" in
*":$bin:"*) ;;
*) echo "$bin is not on your PATH yet: export PATH=\"$bin:\$PATH\"" ;;
esac
