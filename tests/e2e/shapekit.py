"""What the tests of project shapes share: a project with a decoy in the user's work tree, and an agent.

In the committed source `a` is wrong and `b` is right; in the user's own uncommitted files it is the other
way round. A check that looks at the user's checkout in place of the loop's tree would say so at the baseline
(a green, b red) and at the end (b red).
"""

from __future__ import annotations

import shlex

from crashkit import World, userstate
from kit import LIMIT

PY_BASE = "def a():\n    return 0\n\n\ndef b():\n    return 2\n"
PY_DECOY = "def a():\n    return 1\n\n\ndef b():\n    raise OSError('the decoy was loaded')\n"
PY_TEST = """import unittest

{imports}


class ValueTest(unittest.TestCase):
    def test_a(self):
        self.assertEqual(value.a(), 1)

    def test_b(self):
        self.assertEqual(value.b(), 2)
"""
JS_BASE = "exports.a = () => 0;\nexports.b = () => 2;\n"
JS_DECOY = "exports.a = () => 1;\nexports.b = () => { throw new Error('the decoy was loaded'); };\n"

AGENT = """#!/usr/bin/env python3
# Mends one file: the first wrong value becomes the right one. Refuses to work on a decoy.
import os, sys
path, old, new = sys.argv[1:4]
text = open(path, newline="", encoding="utf-8").read()
assert "decoy" not in text, "the agent sees the user's own files"
assert old in text, text
open(path, "w", newline="", encoding="utf-8").write(text.replace(old, new, 1))
for extra in sys.argv[4:]:
    exec(extra)
print("mended")
"""


class Shape(World):
    """A place whose repository is whatever the test makes of it."""

    once = False

    def project(self, folder, files, decoys, *, git_config=()):
        """A repository with these files committed and the decoys laid over them in the work tree."""
        self.repo = folder
        write_all(folder, files)
        userstate.git(folder, "init", "--quiet", "-b", "main")
        for key, value in (("user.name", "somebody"), ("user.email", "a@example.invalid"), *git_config):
            userstate.git(folder, "config", key, value)
        userstate.git(folder, "add", "--all")
        userstate.git(folder, "commit", "--quiet", "-m", "base")
        self.decoy(decoys)

    def decoy(self, decoys):
        write_all(self.repo, decoys)
        self.before = userstate.user_state(self.repo)

    def mends(self, path, old="return 0", new="return 1", *extra):
        script = self.top / "tools" / "mends.py"
        script.parent.mkdir(exist_ok=True)
        script.write_text(AGENT)
        script.chmod(0o755)
        return shlex.join((str(script), path, old, new, *extra))

    def judged(self, agent, check, *flags, cwd=None, calls=1, limit=LIMIT, env=None):
        """The whole loop: red and green at the base as committed, all green at the end; the loop."""
        words = self.loop_words(agent, "--loop-id", "l1-00000001", *flags, check=check)
        done = self.ralph(*words, cwd=cwd, limit=limit, env=env)
        loop = done.loop
        base = loop.proof.baseline["check"]
        assert (base.counts.failed, base.counts.passed) == (1, 1), (base, done.report())
        assert any("test_a" in finding.key for finding in base.findings), base
        assert (loop.outcome, done.code, loop.spend.calls) == ("verified", 0, calls), done.report()
        final = loop.proof.finals["check"]
        assert (final.counts.failed, final.counts.passed) == (0, 2)
        self.no_process_left(5)
        self.same_user()
        return loop


def write_all(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", newline="") as file:
            file.write(text)


def py_test(imports="import value"):
    return PY_TEST.format(imports=imports)
