#!/usr/bin/env python3
"""Makes the plan of the words project if its model is "strong"; as tester, writes a test for the item."""

import os
import runpy
import sys

from _lib import write

VALUES = {"upper": ("case_1", "'AB CD'"), "lower": ("case_2", "'ab cd'")}

if os.environ["RALPH_PURPOSE"] == "plan":
    assert os.environ["RALPH_MODEL"] == "strong"
    runpy.run_path(os.path.join(os.path.dirname(__file__), "builder.py"))
else:
    name, asked = os.environ["RALPH_ITEM"], sys.stdin.read()
    criterion, value = VALUES[name]
    assert f"{name}: Add {name}()" in asked
    assert f"def {name}(" not in open("words.py").read()
    head = f"import unittest\n\nimport words\n\n\nclass {name.title()}Test(unittest.TestCase):\n"
    body = (
        f"    def test_{criterion}_{name}(self):\n        self.assertEqual(words.{name}('ab cd'), {value})\n"
    )
    write(f"test_{name}.py", head + body)
    write("words.py", "thrown away\n")
