#!/bin/sh
# What a newcomer types, as a plain user with an empty home. Arguments: a clone of Ralph, a folder to work in.
# Prints the seconds of each command on fd 3, or stdout; stops at the first that fails.
set -eu
clone="$1" place="$2"
typed=0
type_() {
    typed=$((typed + 1))
    began=$(date +%s)
    "$@" || { echo "failed ($?): $*" >&2; exit 1; }
    echo "$(($(date +%s) - began)) s  $*" >&3
}
exec 3>&1
git config --global user.name "New Comer"
git config --global user.email new@example.org
cd "$clone"
type_ make install
PATH="$HOME/.local/bin:$PATH"
type_ ralph demo --pace 0
man -w ralph >/dev/null 2>&1 || [ -s "$HOME/.local/share/man/man1/ralph.1" ]

mkdir -p "$place/py" && cd "$place/py" && git init -q -b main
printf 'def add(a, b):\n    return a - b\n' >calc.py
printf 'import unittest\n\nfrom calc import add\n\n\nclass Add(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n' >test_calc.py
git add -A && git commit -qm first
type_ ralph init --yes
type_ ralph loop "make the tests pass" --check "python3 -m unittest -q" --agent demo --display plain
type_ ralph merge
python3 -m unittest -q

mkdir -p "$place/node" && cd "$place/node" && git init -q -b main
printf '{"name": "n", "private": true, "scripts": {"test": "node --test"}}\n' >package.json
printf 'exports.add = (a, b) => a - b;\n' >calc.js
printf 'const test = require("node:test");\nconst assert = require("node:assert");\nconst { add } = require("./calc.js");\n\ntest("add", () => {\n  assert.strictEqual(add(1, 2), 3);\n});\n' >calc.test.js
git add -A && git commit -qm first
type_ ralph init --yes
echo "$typed commands" >&3
