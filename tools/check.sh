#!/bin/sh
# Lint, types, the arrow, sizes, generated docs and the fast tests: under a minute. Argument: a profile of hypothesis.
set -eu
bin=.venv/bin profile="${1:-check}"
said=$(mktemp -d)
begun=""
trap 'kill $begun 2>/dev/null || true; rm -rf "$said"' EXIT
$bin/mypy --no-error-summary src >"$said/1" 2>&1 &  # one core for ten seconds where nothing is cached yet
begun=$!
# A process for each part of the tests: xdist's workers would each read all of them, and one more hear of each result.
for part in 1 2 3 4; do
    $bin/pytest --part "$part/4" --hypothesis-profile "$profile" -m "not slow and not agents" tests \
        >"$said/$((part + 1))" 2>&1 &
    begun="$begun $!"
done
$bin/ruff check --quiet src tests tools bench
$bin/ruff format --quiet --check src tests tools bench
$bin/lint-imports --no-logo >/dev/null || $bin/lint-imports --no-logo
$bin/python tools/sizes.py
$bin/python tools/house.py
failed=0 number=0
for one in $begun; do
    number=$((number + 1))
    if wait "$one"; then grep -E "^SKIPPED|passed" "$said/$number" || true; else cat "$said/$number"; failed=1; fi
done
begun=""
exit $failed
