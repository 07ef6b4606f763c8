#!/bin/sh
# Lint, types, the arrow, sizes, generated docs and the fast tests: under a minute.
set -eu
bin=.venv/bin
$bin/ruff check --quiet src tests tools bench
$bin/ruff format --quiet --check src tests tools bench
$bin/mypy --no-error-summary src
$bin/lint-imports --no-logo >/dev/null || $bin/lint-imports --no-logo
$bin/python tools/sizes.py
$bin/pytest -n 2 --dist worksteal -m "not slow and not agents" tests
