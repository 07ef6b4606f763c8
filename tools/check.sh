#!/bin/sh
# Lint, types, the arrow, sizes, generated docs and the fast tests: under a minute.
set -eu
bin=.venv/bin
said=$(mktemp)
$bin/mypy --no-error-summary src >"$said" 2>&1 &  # one core for ten seconds where nothing is cached yet
types=$!
trap 'kill $types 2>/dev/null || true; rm -f "$said"' EXIT
$bin/ruff check --quiet src tests tools bench
$bin/ruff format --quiet --check src tests tools bench
$bin/lint-imports --no-logo >/dev/null || $bin/lint-imports --no-logo
$bin/python tools/sizes.py
$bin/python tools/house.py
$bin/pytest -n 2 --dist worksteal -m "not slow and not agents" tests
wait $types || { cat "$said"; exit 1; }
