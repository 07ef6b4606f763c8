#!/bin/sh
# Mutation testing of the core; prints the kill rate and every survivor. Arguments: modules, e.g. "settle".
# Works on a copy: an edit of the tree during these minutes would break tests and count as killed mutants.
set -eu
cd "$(dirname "$0")/.."
python="$PWD/.venv/bin/python"
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT INT TERM
mkdir -p "$copy/tests"
cp -R src tools design pyproject.toml "$copy/"
cp -R tests/core "$copy/tests/"
PYTHONPATH="$copy/src" "$python" "$copy/tools/mutants.py" "$@"
