#!/bin/sh
# Mutation testing of the core; prints the kill rate and every survivor. Arguments: modules, e.g. "settle".
set -eu
cd "$(dirname "$0")/.."
exec .venv/bin/python tools/mutants.py "$@"
